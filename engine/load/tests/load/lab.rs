//! Servers on a loopback address of the test, stopped when the test ends, and the load generator as
//! a process.

use lab::{Servers, wait};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::ops::{Deref, DerefMut};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};

pub struct Lab(Servers);

impl Deref for Lab {
    type Target = Servers;

    fn deref(&self) -> &Servers {
        &self.0
    }
}

impl DerefMut for Lab {
    fn deref_mut(&mut self) -> &mut Servers {
        &mut self.0
    }
}

impl Lab {
    pub fn new() -> Self {
        Self(Servers::new())
    }

    /// Starts primaries on these ports that share the slots and know each other from the start.
    pub fn cluster(&mut self, ports: &[u16]) {
        let nodes: Vec<String> = ports
            .iter()
            .enumerate()
            .map(|(n, port)| {
                let (first, last) = (n * 16384 / ports.len(), (n + 1) * 16384 / ports.len() - 1);
                let (ip, bus, epoch) = (&self.ip, port + 5000, n + 1);
                format!("{port:040x} {ip}:{port}@{bus},,tls-port=0,shard-id={port:040x} FLAGS - 0 0 {epoch} connected {first}-{last}")
            })
            .collect();
        for (n, port) in ports.iter().enumerate() {
            let line = |(m, node): (usize, &String)| {
                node.replace("FLAGS", if m == n { "myself,master" } else { "master" }) + "\n"
            };
            let text: String = nodes.iter().enumerate().map(line).collect();
            let epoch = ports.len();
            let nodes_conf = format!("{text}vars currentEpoch {epoch} lastVoteEpoch 0\n");
            self.member(*port, &nodes_conf, &[]);
        }
        for port in ports {
            wait("the cluster", || self.ask(*port, "CLUSTER INFO").contains("cluster_state:ok"));
        }
    }

    pub fn ask(&self, port: u16, line: &str) -> String {
        self.direct(port).command(line)
    }

    /// Starts the load generator against this port, with live lines on its standard output.
    pub fn load(&self, port: u16, options: &str) -> Load {
        self.load_with(port, options, &[])
    }

    pub fn load_with(&self, port: u16, options: &str, environment: &[(&str, &str)]) -> Load {
        let mut process = Command::new(env!("CARGO_BIN_EXE_shardboard-load"))
            .args(["-s", &self.ip, "-p", &port.to_string(), "--live-lines=-", "--hide-histogram"])
            .args(options.split(' ').filter(|word| !word.is_empty()))
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        let errors = BufReader::new(process.stderr.take().unwrap());
        Load { process, lines, errors, said: String::new() }
    }

    pub fn path(&self, name: &str) -> String {
        self.directory.join(name).to_str().unwrap().into()
    }
}

pub struct Load {
    process: Child,
    lines: BufReader<ChildStdout>,
    errors: BufReader<ChildStderr>,
    /// Text read from standard error so far.
    said: String,
}

impl Load {
    /// Returns the next line of this kind.
    pub fn expect(&mut self, kind: &str) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                let _ = self.errors.read_to_string(&mut self.said);
                panic!("the process ended before the line {kind}: {}", self.said);
            }
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["kind"] == kind {
                return message;
            }
        }
    }

    /// Reads standard error until it contains these words.
    pub fn wait_for_output(&mut self, words: &str) {
        while !self.said.contains(words) {
            let read = self.errors.read_line(&mut self.said).unwrap();
            assert!(read > 0, "the process ended before the message {words:?}: {}", self.said);
        }
    }

    pub fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Returns the last line, the text on standard error, and the exit status.
    pub fn end(mut self) -> (Value, String, ExitStatus) {
        let end = self.expect("end");
        let (said, status) = self.wait();
        (end, said, status)
    }

    pub fn wait(mut self) -> (String, ExitStatus) {
        self.errors.read_to_string(&mut self.said).unwrap();
        (std::mem::take(&mut self.said), self.process.wait().unwrap())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
