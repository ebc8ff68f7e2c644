//! Servers and a proxy for one test, on loopback addresses of its own, ended with it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

static TESTS: AtomicU16 = AtomicU16::new(0);

pub const ENDPOINT: u16 = 12000;
pub const SHARDS: [u16; 3] = [21000, 21001, 21002];
pub const REPLICAS: [u16; 3] = [22000, 22001, 22002];

/// Nothing takes that long, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Lab {
    pub ip: String,
    pub directory: PathBuf,
    servers: Vec<(u16, Child)>,
}

impl Lab {
    pub fn new() -> Self {
        let pid = std::process::id();
        let number = TESTS.fetch_add(1, Ordering::Relaxed);
        let ip = format!("127.8.{}.{}", 1 + pid % 250, 1 + number % 250);
        let directory = std::env::temp_dir().join(format!("shardboard-proxy-{pid}-{number}"));
        std::fs::create_dir_all(&directory).unwrap();
        Self { ip, directory, servers: Vec::new() }
    }

    pub fn server(&mut self, port: u16, options: &[&str]) {
        let home = self.directory.join(port.to_string());
        std::fs::create_dir_all(&home).unwrap();
        let log = std::fs::File::create(home.join("log")).unwrap();
        let server = Command::new("valkey-server")
            .args([
                "--bind",
                &self.ip,
                "--port",
                &port.to_string(),
                "--dir",
                home.to_str().unwrap(),
                "--save",
                "",
            ])
            .args(["--unixsocket", &self.unix_socket(port), "--protected-mode", "no"])
            .args(["--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"])
            .args(options)
            .stdout(log)
            .spawn()
            .expect("valkey-server is installed");
        self.servers.push((port, server));
        wait("the server", || self.try_direct(port).is_some_and(|mut c| c.ask("PING") == "+PONG\r\n"));
    }

    /// Three primaries in cluster mode, optionally with a replica each, that know each other from the start.
    pub fn cluster(&mut self, replicas: bool) -> Vec<Value> {
        let mut shards: Vec<Value> = Vec::new();
        for (n, port) in SHARDS.into_iter().enumerate() {
            let slots = (n * 16384 / 3, (n + 1) * 16384 / 3 - 1);
            shards.push(self.shard(port, "primary", json!([[slots.0, slots.1]])));
        }
        if replicas {
            for port in REPLICAS {
                shards.push(self.shard(port, "replica", json!([])));
            }
        }
        for shard in &shards {
            let port = shard["port"].as_u64().unwrap() as u16;
            let home = self.directory.join(port.to_string());
            std::fs::create_dir_all(&home).unwrap();
            std::fs::write(home.join("nodes.conf"), nodes_conf(&shards, shard)).unwrap();
            let bus = (port + 5000).to_string();
            let ip = self.ip.clone();
            let mut options =
                vec!["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-announce-ip", &ip];
            options.extend(["--cluster-require-full-coverage", "no", "--cluster-node-timeout", "5000"]);
            self.server(port, &options);
        }
        for shard in &shards {
            let port = shard["port"].as_u64().unwrap() as u16;
            wait("the cluster", || self.direct(port).ask("CLUSTER INFO").contains("cluster_state:ok"));
            if shard["role"] == "replica" {
                let up = "master_link_status:up";
                wait("the replica", || self.direct(port).ask("INFO replication").contains(up));
            }
        }
        shards
    }

    pub fn shard(&self, port: u16, role: &str, slots: Value) -> Value {
        json!({"id": format!("{port:040x}"), "role": role, "address": self.ip, "port": port, "slots": slots})
    }

    pub fn unix_socket(&self, port: u16) -> String {
        self.directory.join(port.to_string()).join("socket").to_str().unwrap().into()
    }

    pub fn database(&self, shards: &[Value]) -> Value {
        json!({"uid": 1, "address": self.ip, "port": ENDPOINT, "mode": "hidden", "version": 1, "shards": shards})
    }

    /// The database once the replica of the last shard is its primary.
    pub fn promoted(&self, shards: &[Value]) -> Value {
        let mut promoted = self.patient(shards);
        promoted["version"] = json!(2);
        promoted["shards"][2]["role"] = json!("replica");
        promoted["shards"][5]["role"] = json!("primary");
        promoted["shards"][5]["slots"] = promoted["shards"][2]["slots"].take();
        promoted["shards"][2]["slots"] = json!([]);
        promoted
    }

    /// A database that waits for a primary for as long as a test may take.
    pub fn patient(&self, shards: &[Value]) -> Value {
        let mut database = self.database(shards);
        database["failover_wait_ms"] = json!(60_000);
        database
    }

    pub fn proxy(&self, database: &Value) -> Proxy {
        let mut proxy = Proxy::start(&self.directory.join("control"));
        proxy.apply(database);
        proxy
    }

    /// A cluster and a hidden database in front of it.
    pub fn hidden(&mut self) -> Proxy {
        let shards = self.cluster(false);
        self.proxy(&self.database(&shards))
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address(ENDPOINT)).expect("the endpoint listens")
    }

    pub fn address(&self, port: u16) -> SocketAddr {
        format!("{}:{port}", self.ip).parse().unwrap()
    }

    /// How often the primaries of the cluster say this in reply to a command.
    pub fn mentions(&self, command: &str, word: &str) -> usize {
        SHARDS.iter().map(|port| self.direct(*port).ask(command).matches(word).count()).sum()
    }

    fn try_direct(&self, port: u16) -> Option<Client> {
        Client::connect(self.address(port)).ok()
    }

    pub fn direct(&self, port: u16) -> Client {
        self.try_direct(port).expect("the server listens")
    }

    /// The process answers nothing until it is thawed; what is sent to it waits in its sockets.
    pub fn freeze(&self, port: u16) {
        self.signal(port, rustix::process::Signal::STOP);
    }

    pub fn thaw(&self, port: u16) {
        self.signal(port, rustix::process::Signal::CONT);
    }

    fn signal(&self, port: u16, signal: rustix::process::Signal) {
        let (_, server) = self.servers.iter().find(|(p, _)| *p == port).expect("it was started");
        let pid = rustix::process::Pid::from_child(server);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub fn kill(&mut self, port: u16) {
        let at = self.servers.iter().position(|(p, _)| *p == port).expect("it was started");
        let (_, mut server) = self.servers.remove(at);
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for (_, server) in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn nodes_conf(shards: &[Value], myself: &Value) -> String {
    let mut lines = String::new();
    for (n, shard) in shards.iter().enumerate() {
        let primary = &shards[n % 3];
        let port = shard["port"].as_u64().unwrap();
        let role = match shard["role"] == "primary" {
            true => "master -".to_string(),
            false => format!("slave {}", primary["id"].as_str().unwrap()),
        };
        let me = if shard == myself { "myself," } else { "" };
        let group: String = primary["id"].as_str().unwrap().chars().rev().collect();
        lines += &format!(
            "{} {}:{port}@{},,tls-port=0,shard-id={group} {me}{role} 0 0 {} connected",
            shard["id"].as_str().unwrap(),
            shard["address"].as_str().unwrap(),
            port + 5000,
            n % 3 + 1,
        );
        for range in shard["slots"].as_array().unwrap() {
            lines += &format!(" {}-{}", range[0], range[1]);
        }
        lines.push('\n');
    }
    lines + "vars currentEpoch 3 lastVoteEpoch 0\n"
}

pub fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < until, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub struct Proxy {
    pub process: Child,
    control: BufReader<UnixStream>,
}

impl Proxy {
    pub fn start(path: &Path) -> Self {
        Self::start_beside(path, 0)
    }

    /// Connects to the new process once the path is no longer that of the process `old`.
    pub fn start_beside(path: &Path, old: u32) -> Self {
        let process = Command::new(env!("CARGO_BIN_EXE_shardboard-proxy"))
            .arg("--control")
            .arg(path)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut control = None;
        wait("the proxy", || {
            let Ok(stream) = UnixStream::connect(path) else { return false };
            let mut reader = BufReader::new(stream);
            let mut hello = String::new();
            reader.read_line(&mut hello).unwrap();
            let hello: Value = serde_json::from_str(&hello).unwrap();
            control = Some(reader);
            hello["pid"] != old
        });
        Self { process, control: control.unwrap() }
    }

    pub fn order(&mut self, order: &Value) {
        writeln!(self.control.get_mut(), "{order}").unwrap();
    }

    pub fn apply(&mut self, database: &Value) {
        self.order(&json!({"type": "apply", "databases": [database]}));
        let applied = self.expect("applied");
        assert_eq!(applied["failures"], json!([]));
    }

    pub fn expect(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.control.read_line(&mut line).unwrap() > 0, "the proxy ended before it said {kind}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["type"] == kind {
                return message;
            }
        }
    }

    /// Metrics for which the condition holds; they come every second.
    pub fn metrics(&mut self, condition: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..60 {
            let metrics = self.expect("metrics");
            if condition(&metrics["databases"][0]) {
                return metrics;
            }
        }
        panic!("the metrics never became as expected");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub struct Client {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: Vec::new() })
    }

    /// Words separated by spaces, as an array of bulk strings.
    pub fn send(&mut self, line: &str) {
        let args: Vec<_> = line.split(' ').map(str::as_bytes).collect();
        self.send_args(&args);
    }

    pub fn send_args(&mut self, args: &[&[u8]]) {
        let mut request = Vec::new();
        resp::encode::command(&mut request, args.iter().copied());
        self.send_raw(&request);
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn reply(&mut self) -> String {
        self.try_reply().expect("a reply")
    }

    /// `None`: the connection was closed.
    pub fn try_reply(&mut self) -> Option<String> {
        loop {
            if let Some(len) = resp::ReplyScanner::default().scan(&self.input).unwrap() {
                let frame: Vec<u8> = self.input.drain(..len).collect();
                return Some(String::from_utf8_lossy(&frame).into_owned());
            }
            let mut bytes = [0; 65536];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(n) => self.input.extend_from_slice(&bytes[..n]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no reply: {error}; so far {:?}", String::from_utf8_lossy(&self.input)),
            }
        }
    }

    /// `None`: the other side does not understand.
    pub fn try_speak(&mut self, line: &str) -> Option<String> {
        self.send(line);
        let mut bytes = [0; 256];
        let n = self.stream.read(&mut bytes).unwrap_or(0);
        bytes[..n].starts_with(b"+").then(|| String::from_utf8_lossy(&bytes[..n]).into_owned())
    }

    pub fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.reply()
    }

    /// Whether nothing comes for a moment.
    pub fn is_quiet(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
        let quiet = self.input.is_empty() && self.stream.peek(&mut [0]).is_err();
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        quiet
    }
}
