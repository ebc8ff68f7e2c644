//! Blocking requests with a timeout: whether the target is usable, and which shards a cluster has.

use crate::options::{Options, Protocol, Size};
use crate::topology::Topology;
use resp::{ReplyScanner, encode};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

pub struct Probe {
    stream: Box<dyn ReadWrite>,
    input: Vec<u8>,
    ip: IpAddr,
}

/// Returns the requests that prepare each connection, and the number of their replies.
pub fn preparation_commands(options: &Options) -> (Vec<u8>, usize) {
    let mut out = Vec::new();
    let mut replies = 0;
    let mut say = |words: &[&str]| {
        encode::command(&mut out, words.iter().map(|word| word.as_bytes()));
        replies += 1;
    };
    let user = options.user.as_deref().unwrap_or("default");
    match (options.protocol, &options.password) {
        (Protocol::Redis, Some(password)) if options.user.is_none() => say(&["AUTH", password]),
        (Protocol::Redis, Some(password)) => say(&["AUTH", user, password]),
        (Protocol::Redis, None) => {}
        (protocol, password) => {
            let version = if protocol == Protocol::Resp3 { "3" } else { "2" };
            match password {
                Some(password) => say(&["HELLO", version, "AUTH", user, password]),
                None => say(&["HELLO", version]),
            }
        }
    }
    if options.client_no_touch {
        say(&["CLIENT", "NO-TOUCH", "ON"]);
    }
    if options.database != 0 {
        say(&["SELECT", &options.database.to_string()]);
    }
    (out, replies)
}

/// Returns the addresses of a host name that belong to the given family.
pub fn addresses(host: &str, port: u16, family: Option<u8>) -> Result<Vec<SocketAddr>, String> {
    let found = (host, port).to_socket_addrs().map_err(|error| format!("{host} has no address: {error}"))?;
    let matches_family = |address: &SocketAddr| match family {
        Some(4) => address.is_ipv4(),
        Some(6) => address.is_ipv6(),
        _ => true,
    };
    let found: Vec<SocketAddr> = found.filter(matches_family).collect();
    if found.is_empty() { Err(format!("{host} has no address of the requested family")) } else { Ok(found) }
}

impl Probe {
    pub fn connect(
        options: &Options,
        tls: Option<&(Arc<ClientConfig>, ServerName<'static>)>,
        address: SocketAddr,
        patience: Duration,
    ) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("{address}: {error}");
        let stream = TcpStream::connect_timeout(&address, patience).map_err(wrong)?;
        stream.set_nodelay(true).map_err(wrong)?;
        stream.set_read_timeout(Some(patience)).map_err(wrong)?;
        stream.set_write_timeout(Some(patience)).map_err(wrong)?;
        let stream: Box<dyn ReadWrite> = match tls {
            None => Box::new(stream),
            Some((config, name)) => {
                let session = ClientConnection::new(Arc::clone(config), name.clone())
                    .map_err(|error| format!("{address}: {error}"))?;
                Box::new(StreamOwned::new(session, stream))
            }
        };
        let mut probe = Self { stream, input: Vec::new(), ip: address.ip() };
        probe.greet(options, patience).map_err(|error| format!("{address}: {error}"))?;
        Ok(probe)
    }

    pub fn unix(options: &Options, path: &str, patience: Duration) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("{path}: {error}");
        let stream = UnixStream::connect(path).map_err(wrong)?;
        stream.set_read_timeout(Some(patience)).map_err(wrong)?;
        stream.set_write_timeout(Some(patience)).map_err(wrong)?;
        let ip = IpAddr::from([127, 0, 0, 1]);
        let mut probe = Self { stream: Box::new(stream), input: Vec::new(), ip };
        probe.greet(options, patience).map_err(|error| format!("{path}: {error}"))?;
        Ok(probe)
    }

    fn greet(&mut self, options: &Options, patience: Duration) -> Result<(), String> {
        let (bytes, replies) = preparation_commands(options);
        self.stream.write_all(&bytes).map_err(|error| error.to_string())?;
        for _ in 0..replies {
            let reply = self.reply(patience)?;
            if reply.first() == Some(&b'-') {
                return Err(error_text(&reply));
            }
        }
        Ok(())
    }

    pub fn command(&mut self, words: &[&str], patience: Duration) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        encode::command(&mut out, words.iter().map(|word| word.as_bytes()));
        self.stream.write_all(&out).map_err(|error| error.to_string())?;
        self.reply(patience)
    }

    fn reply(&mut self, patience: Duration) -> Result<Vec<u8>, String> {
        let deadline = Instant::now() + patience;
        let mut scanner = ReplyScanner::default();
        loop {
            if let Some(end) = scanner.scan(&self.input).map_err(|error| error.to_string())? {
                return Ok(self.input.drain(..end).collect());
            }
            if Instant::now() >= deadline {
                return Err("timed out waiting for a reply".into());
            }
            let mut bytes = [0u8; 16 * 1024];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err("the connection was closed".into()),
                Ok(count) => self.input.extend_from_slice(&bytes[..count]),
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) =>
                {
                    return Err("timed out waiting for a reply".into());
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    pub fn topology(&mut self, patience: Duration) -> Result<Topology, String> {
        let reply = self.command(&["CLUSTER", "SLOTS"], patience)?;
        match Topology::from_cluster_slots(&reply, self.ip) {
            Some(topology) => Ok(topology),
            None if reply.first() == Some(&b'-') => Err(error_text(&reply)),
            None => Err("the reply to CLUSTER SLOTS is invalid".into()),
        }
    }
}

/// Returns a warning if the keys of a sequential walk through the key range need more memory than
/// the servers allow.
pub fn memory_warning(options: &Options, information: &str, primaries: u64) -> Option<String> {
    let field = |name: &str| {
        let line = information.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|value| value.trim().parse::<u64>().ok())
    };
    let allowed = field("maxmemory").filter(|bytes| *bytes > 0)? * primaries;
    let keys = options.key_maximum - options.key_minimum + 1;
    let size = match &options.size {
        Size::Fixed(size) => *size as u64,
        Size::Range(low, high) => (low + high) as u64 / 2,
        Size::List(list) => {
            let weights: u64 = list.iter().map(|(_, weight)| weight).sum();
            list.iter().map(|(size, weight)| *size as u64 * weight).sum::<u64>() / weights.max(1)
        }
    };
    let needed = keys.saturating_mul(size + options.key_prefix.len() as u64 + OVERHEAD);
    let writes = options.commands.is_empty() && options.ratio.0 > 0;
    (writes && needed > allowed).then(|| {
        format!(
            "all {keys} keys need about {} MB, but the servers allow {} MB: expect OOM errors or evictions",
            needed >> 20,
            allowed >> 20
        )
    })
}

/// Memory that a server needs for a key in addition to its name and its value.
const OVERHEAD: u64 = 64;

/// Returns the text of an error reply.
pub fn error_text(reply: &[u8]) -> String {
    let text = String::from_utf8_lossy(reply.get(1..).unwrap_or_default());
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_exceed_the_memory_limit_cause_a_warning() {
        let options = Options { size: Size::Fixed(1_000), key_maximum: 1_000_000, ..Options::default() };
        let text = "# Memory\r\nused_memory:1\r\nmaxmemory:100000000\r\n";
        let warning = memory_warning(&options, text, 3).expect("a gigabyte does not fit into 300 MB");
        assert!(warning.contains("1000001 keys"), "{warning}");
        assert_eq!(memory_warning(&options, text, 30), None);
        assert_eq!(memory_warning(&options, "maxmemory:0\r\n", 1), None);
        let reads = Options { ratio: (0, 1), ..options };
        assert_eq!(memory_warning(&reads, text, 1), None);
    }
}
