//! Servers with Unix sockets, and the program as a process.

use lab::Servers;
use serde_json::{Value, json};
use std::io::Write;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub const PASSWORD: &str = "secret";

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

/// What the program wrote.
pub struct Outcome {
    pub is_success: bool,
    pub last: Value,
    pub output: Vec<u8>,
}

impl Outcome {
    /// The result of a successful run.
    pub fn end(self) -> Value {
        assert!(self.is_success && self.last["kind"] == "end", "{}", self.last);
        self.last
    }

    /// Code and message of a failed run.
    pub fn error(self) -> (String, String) {
        assert!(!self.is_success && self.last["kind"] == "error", "{}", self.last);
        let text = |name: &str| self.last[name].as_str().unwrap().to_owned();
        (text("code"), text("message"))
    }
}

impl Lab {
    pub fn new() -> Self {
        Self(Servers::new())
    }

    /// Starts a server that also listens on a Unix socket.
    pub fn shard(&mut self, port: u16, options: &[&str]) {
        let socket = self.socket(port);
        let mut all = vec!["--unixsocket", socket.to_str().unwrap(), "--repl-diskless-sync-delay", "0"];
        all.extend(["--enable-debug-command", "yes", "--requirepass", PASSWORD]);
        all.extend(options);
        self.server(port, &all);
    }

    pub fn socket(&self, port: u16) -> PathBuf {
        self.server_directory(port).join("socket")
    }

    pub fn client(&self, port: u16) -> lab::Client {
        let mut client = self.direct(port);
        client.command(&format!("AUTH {PASSWORD}"));
        client
    }

    pub fn ask(&self, port: u16, line: &str) -> String {
        self.client(port).command(line)
    }

    /// Sends commands and waits until all are executed.
    pub fn fill(&self, port: u16, commands: &[u8]) {
        let mut client = self.client(port);
        client.send_raw(commands);
        client.send("ECHO done");
        loop {
            let reply = client.reply();
            assert!(!reply.starts_with('-'), "{reply}");
            if reply == "$4\r\ndone\r\n" {
                return;
            }
        }
    }

    /// XOR of the digests of all databases on these ports.
    pub fn debug_digest(&self, ports: &[u16]) -> Vec<u8> {
        // Of every server that has keys, the number of the database is part of the digest.
        let mut sum = vec![0u8; 20];
        for &port in ports {
            let keys = self.ask(port, "DBSIZE");
            let digest = self.ask(port, "DEBUG DIGEST");
            let mut constant = "aa3098f3aae94baac14e3b8b8dcae989af93f6a2";
            if keys == ":0\r\n" {
                constant = "0000000000000000000000000000000000000000";
            }
            for text in [digest.trim_start_matches('+').trim_end(), constant] {
                for (n, byte) in sum.iter_mut().enumerate() {
                    *byte ^= u8::from_str_radix(&text[2 * n..2 * n + 2], 16).unwrap();
                }
            }
        }
        sum
    }

    /// Runs the program. Its lines are written to descriptor 3.
    pub fn mover(&self, arguments: &str, password: &str, input: &[u8]) -> Outcome {
        let script = format!(
            "exec {} {arguments} --live-lines=3 3>&2 2>/dev/null",
            env!("CARGO_BIN_EXE_shardboard-mover")
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&self.directory)
            .env("SHARDBOARD_MOVER_PASSWORD", password)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            // The program stops to read after an error.
            scope.spawn(move || stdin.write_all(input));
            child.wait_with_output().unwrap()
        });
        let lines = String::from_utf8(output.stderr).unwrap();
        let last = lines.lines().last().unwrap_or("null");
        Outcome {
            is_success: output.status.success(),
            last: serde_json::from_str(last).unwrap(),
            output: output.stdout,
        }
    }

    pub fn snapshot(&self, port: u16, slots: &str, compression: &str) -> Outcome {
        let socket = self.socket(port);
        let arguments = format!(
            "snapshot --socket={} --user=default --slots={slots} --compression={compression}",
            socket.display()
        );
        self.mover(&arguments, PASSWORD, b"")
    }

    /// Restores to shards that share the slots equally.
    pub fn restore(&self, ports: &[u16], file: &[u8], options: &str) -> Outcome {
        self.write_targets(ports);
        self.mover(&format!("restore --targets=targets.json --user=default {options}"), PASSWORD, file)
    }

    /// Restores a file and changes after it to shards that share the slots equally.
    pub fn restore_with_changes(&self, ports: &[u16], file: &[u8], changes: &[u8], options: &str) -> Outcome {
        self.restore(ports, file, "--before-changes").end();
        let replayed =
            self.mover(&format!("replay --targets=targets.json --user=default {options}"), PASSWORD, changes);
        self.mover("end-import --targets=targets.json --user=default", PASSWORD, b"").end();
        replayed
    }

    fn write_targets(&self, ports: &[u16]) {
        let targets: Vec<Value> = ports
            .iter()
            .enumerate()
            .map(|(n, &port)| {
                let (first, last) = (n * 16384 / ports.len(), (n + 1) * 16384 / ports.len() - 1);
                json!({"socket": self.socket(port), "slots": [[first, last]]})
            })
            .collect();
        std::fs::write(self.directory.join("targets.json"), Value::from(targets).to_string()).unwrap();
    }

    pub fn inspect(&self, file: &[u8]) -> Outcome {
        self.mover("inspect", "", file)
    }
}
