//! Servers and a proxy for one test, on a loopback address of the test, stopped when it ends.

use lab::Servers;
pub use lab::{Client, wait};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::ops::{Deref, DerefMut};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const ENDPOINT: u16 = 12000;
pub const SHARDS: [u16; 3] = [21000, 21001, 21002];
pub const REPLICAS: [u16; 3] = [22000, 22001, 22002];

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

    pub fn server(&mut self, port: u16, options: &[&str]) {
        let socket = self.unix_socket(port);
        self.0.server(port, &[&own(&socket), options].concat());
    }

    /// Starts three primaries in cluster mode, optionally with a replica each, that know each other
    /// from the start.
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
            let socket = self.unix_socket(port);
            let options = [&own(&socket)[..], &["--cluster-node-timeout", "5000"]].concat();
            self.0.member(port, &nodes_conf(&shards, shard), &options);
        }
        for shard in &shards {
            let port = shard["port"].as_u64().unwrap() as u16;
            wait("the cluster", || self.direct(port).command("CLUSTER INFO").contains("cluster_state:ok"));
            if shard["role"] == "replica" {
                let up = "master_link_status:up";
                wait("the replica", || self.direct(port).command("INFO replication").contains(up));
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

    /// Starts a shard without cluster mode and returns its database.
    pub fn single(&mut self) -> Value {
        self.server(21000, &[]);
        let mut database = self.database(&[self.shard(21000, "primary", json!([]))]);
        database["sharded"] = json!(false);
        database
    }

    /// Returns the database after the promotion of the replica of the last shard.
    pub fn promoted(&self, shards: &[Value]) -> Value {
        let mut promoted = self.patient(shards);
        promoted["version"] = json!(2);
        promoted["shards"][2]["role"] = json!("replica");
        promoted["shards"][5]["role"] = json!("primary");
        promoted["shards"][5]["slots"] = promoted["shards"][2]["slots"].take();
        promoted["shards"][2]["slots"] = json!([]);
        promoted
    }

    /// Returns a database that waits for a primary for longer than a test takes.
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

    /// Starts a cluster and a proxy with a hidden database for it.
    pub fn hidden(&mut self) -> Proxy {
        let shards = self.cluster(false);
        self.proxy(&self.database(&shards))
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address(ENDPOINT)).expect("the endpoint listens")
    }

    /// Assigns a slot without keys to another primary.
    pub fn move_slot(&self, slot: u16, from: u16, to: u16) {
        for port in [to, from] {
            let command = format!("CLUSTER SETSLOT {slot} NODE {to:040x}");
            assert_eq!(self.direct(port).command(&command), "+OK\r\n");
        }
    }

    /// Returns the number of occurrences of `word` in the replies of the primaries to a command.
    pub fn mentions(&self, command: &str, word: &str) -> usize {
        SHARDS.iter().map(|port| self.direct(*port).command(command).matches(word).count()).sum()
    }
}

/// Additional options of the proxy's shards.
fn own(socket: &str) -> [&str; 6] {
    ["--unixsocket", socket, "--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes"]
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

pub struct Proxy {
    pub process: Process,
    control: BufReader<UnixStream>,
}

impl Proxy {
    pub fn start(path: &Path) -> Self {
        Self::start_beside(path, 0)
    }

    /// Starts a process and connects to it when it has replaced the process `old` at the path.
    pub fn start_beside(path: &Path, old: u32) -> Self {
        let process = Process::start(path);
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

    /// Reconnects like an agent after a restart. `hello` is not read yet.
    pub fn reconnect(&mut self, path: &Path) {
        self.control = BufReader::new(UnixStream::connect(path).unwrap());
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
            assert!(self.control.read_line(&mut line).unwrap() > 0, "the proxy ended before it sent {kind}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["type"] == kind {
                return message;
            }
        }
    }

    /// Whether the proxy sends `last` before it sends `kind`.
    pub fn heard_nothing_of(&mut self, kind: &str, last: &str) -> bool {
        loop {
            let mut line = String::new();
            assert!(self.control.read_line(&mut line).unwrap() > 0, "the proxy ended before it sent {last}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["type"] == kind || message["type"] == last {
                return message["type"] == last;
            }
        }
    }

    /// Returns the first metrics for which the condition holds. They arrive every second.
    pub fn metrics(&mut self, condition: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..60 {
            let metrics = self.expect("metrics");
            if condition(&metrics["databases"][0]) {
                return metrics;
            }
        }
        panic!("no metrics matched the condition");
    }
}

/// Killed at the end of the test.
pub struct Process(Child);

impl Process {
    pub fn start(control: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shardboard-proxy"));
        Self(command.arg("--control").arg(control).stdin(Stdio::null()).spawn().unwrap())
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
