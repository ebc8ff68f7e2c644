//! Test support: Valkey servers on a loopback address that only one test uses, stopped when the
//! test ends, and a client that works with raw bytes.

mod client;

pub use client::Client;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

static TESTS: AtomicU16 = AtomicU16::new(0);

/// Outside the range from which the system assigns ephemeral ports.
const CLAIM: u16 = 64999;

/// Timeout for events that are expected. No event takes this long unless it never happens.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

pub fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + WAIT_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < until, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub struct Servers {
    pub ip: String,
    /// Directory for the files of the test. Each server has a subdirectory, named by its port.
    pub directory: PathBuf,
    running: Vec<(u16, Child)>,
    _claim: TcpListener,
}

/// Returns an address that no other test run on this machine uses, and the listener that reserves
/// it.
fn claim(pid: u32, number: u16) -> (String, TcpListener) {
    (pid..pid + 250)
        .map(|net| format!("127.8.{}.{}", 1 + net % 250, 1 + number % 250))
        .find_map(|ip| Some((ip.clone(), TcpListener::bind((ip, CLAIM)).ok()?)))
        .expect("an address is free")
}

impl Servers {
    #[expect(clippy::new_without_default, reason = "it claims an address and creates a directory")]
    pub fn new() -> Self {
        let pid = std::process::id();
        let number = TESTS.fetch_add(1, Ordering::Relaxed);
        let (ip, claim) = claim(pid, number);
        let directory = std::env::temp_dir().join(format!("shardboard-lab-{pid}-{number}"));
        std::fs::create_dir_all(&directory).unwrap();
        Self { ip, directory, running: Vec::new(), _claim: claim }
    }

    /// Returns the directory of the server on this port, and creates it if the server has not been
    /// started yet.
    pub fn server_directory(&self, port: u16) -> PathBuf {
        let home = self.directory.join(port.to_string());
        std::fs::create_dir_all(&home).unwrap();
        home
    }

    /// Starts a server without persistence and waits until it replies, even if only with an error.
    pub fn server(&mut self, port: u16, options: &[&str]) {
        let home = self.server_directory(port);
        let log = std::fs::File::create(home.join("log")).unwrap();
        let server = Command::new("valkey-server")
            .args(["--bind", &self.ip, "--port", &port.to_string(), "--dir", home.to_str().unwrap()])
            .args(["--save", "", "--protected-mode", "no"])
            .args(options)
            .stdout(log)
            .spawn()
            .expect("valkey-server is installed");
        self.running.push((port, server));
        wait("the server", || {
            let reply = self.try_direct(port).and_then(|mut client| client.try_command(&[b"PING"]));
            reply.is_some_and(|reply| reply.starts_with(['+', '-']))
        });
    }

    /// Starts a server in cluster mode. `nodes_conf` is the initial content of its nodes.conf.
    pub fn member(&mut self, port: u16, nodes_conf: &str, options: &[&str]) {
        std::fs::write(self.server_directory(port).join("nodes.conf"), nodes_conf).unwrap();
        let bus = (port + 5000).to_string();
        let ip = self.ip.clone();
        let mut all = vec!["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-announce-ip", &ip];
        all.extend(["--cluster-require-full-coverage", "no"]);
        all.extend(options);
        self.server(port, &all);
    }

    pub fn address(&self, port: u16) -> SocketAddr {
        format!("{}:{port}", self.ip).parse().unwrap()
    }

    fn try_direct(&self, port: u16) -> Option<Client> {
        Client::connect(self.address(port)).ok()
    }

    pub fn direct(&self, port: u16) -> Client {
        self.try_direct(port).expect("the server listens")
    }

    /// Suspends the process until `resume`. Data that is sent to it waits in its sockets.
    pub fn freeze(&self, port: u16) {
        self.signal(port, rustix::process::Signal::STOP);
    }

    pub fn resume(&self, port: u16) {
        self.signal(port, rustix::process::Signal::CONT);
    }

    fn signal(&self, port: u16, signal: rustix::process::Signal) {
        let (_, server) = self.running.iter().find(|(known, _)| *known == port).expect("it was started");
        let pid = rustix::process::Pid::from_child(server);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub fn kill(&mut self, port: u16) {
        let at = self.running.iter().position(|(known, _)| *known == port).expect("it was started");
        let (_, mut server) = self.running.remove(at);
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for (_, server) in &mut self.running {
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
