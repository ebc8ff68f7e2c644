//! Which server owns which slot, as the servers report it.

use resp::slot::SLOTS;
use std::net::{IpAddr, SocketAddr};

pub const NO_OWNER: u16 = u16::MAX;

/// Slot owners at one time. Targets are identified by their index, which is valid only within this
/// value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    pub targets: Vec<SocketAddr>,
    /// Index of the owner of each slot, or `NO_OWNER`.
    pub slots: Box<[u16]>,
}

impl Topology {
    /// Creates the topology of a single server.
    pub fn single(address: SocketAddr) -> Self {
        Self { targets: vec![address], slots: vec![0; usize::from(SLOTS)].into() }
    }

    /// Parses the reply to CLUSTER SLOTS. `asked` is used where a server does not know its own
    /// address.
    pub fn from_cluster_slots(frame: &[u8], asked: IpAddr) -> Option<Self> {
        let mut topology = Self { targets: Vec::new(), slots: vec![NO_OWNER; usize::from(SLOTS)].into() };
        for range in resp::items(frame)? {
            let parts = resp::items(range)?;
            let (first, last) = (resp::integer(parts.first()?)?, resp::integer(parts.get(1)?)?);
            let primary = resp::items(parts.get(2)?)?;
            let name = primary.first().and_then(|name| resp::text(name)).unwrap_or_default();
            let port = u16::try_from(resp::integer(primary.get(1)?)?).ok()?;
            let Some(address) = resolve(name, port, asked) else { continue };
            let number = topology.intern(address);
            if 0 <= first && first <= last && last < i64::from(SLOTS) {
                topology.slots[first as usize..=last as usize].fill(number);
            }
        }
        Some(topology)
    }

    pub fn intern(&mut self, address: SocketAddr) -> u16 {
        if let Some(number) = self.targets.iter().position(|target| *target == address) {
            return number as u16;
        }
        self.targets.push(address);
        self.targets.len() as u16 - 1
    }

    /// Returns the number of servers that own slots.
    pub fn primaries(&self) -> u64 {
        (0..self.targets.len() as u16).filter(|target| self.owns(*target)).count() as u64
    }

    pub fn is_complete(&self) -> bool {
        !self.slots.contains(&NO_OWNER)
    }

    pub fn owns(&self, target: u16) -> bool {
        self.slots.contains(&target)
    }
}

/// Returns the address that a server reports for itself or another server.
pub fn resolve(name: &[u8], port: u16, asked: IpAddr) -> Option<SocketAddr> {
    let name = std::str::from_utf8(name).ok()?;
    if name.is_empty() || name == "?" {
        return Some(SocketAddr::new(asked, port));
    }
    match name.parse::<IpAddr>() {
        Ok(ip) => Some(SocketAddr::new(ip, port)),
        Err(_) => std::net::ToSocketAddrs::to_socket_addrs(&(name, port)).ok()?.next(),
    }
}

/// Parses `-MOVED 3999 127.0.0.1:6381` or ASK into the slot and the address.
pub fn redirection(line: &[u8], asked: IpAddr) -> Option<(u16, SocketAddr)> {
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).skip(1);
    let slot = u16::try_from(resp::decimal(words.next()?)?).ok().filter(|slot| *slot < SLOTS)?;
    let address = words.next()?;
    let colon = address.iter().rposition(|byte| *byte == b':')?;
    let port = u16::try_from(resp::decimal(&address[colon + 1..])?).ok()?;
    Some((slot, resolve(&address[..colon], port, asked)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 9));

    #[test]
    fn redirections_are_parsed_into_slot_and_address() {
        let found = redirection(b"-MOVED 3999 127.0.0.1:6381\r\n", ASKED);
        assert_eq!(found, Some((3999, "127.0.0.1:6381".parse().unwrap())));
        let without = redirection(b"-ASK 7 :6381\r\n", ASKED);
        assert_eq!(without, Some((7, "127.0.0.9:6381".parse().unwrap())));
        let six = redirection(b"-MOVED 1 ::1:7000\r\n", ASKED);
        assert_eq!(six, Some((1, "[::1]:7000".parse().unwrap())));
        for wrong in [&b"-MOVED 3999"[..], b"-MOVED 16384 127.0.0.1:1", b"-MOVED x 127.0.0.1:1"] {
            assert_eq!(redirection(wrong, ASKED), None);
        }
    }

    #[test]
    fn slots_are_assigned_to_the_primaries() {
        let reply = b"*2\r\n*4\r\n:0\r\n:8191\r\n*2\r\n$9\r\n127.0.0.1\r\n:7000\r\n*2\r\n$9\r\n127.0.0.2\r\n:7001\r\n\
            *3\r\n:8192\r\n:16383\r\n*2\r\n$0\r\n\r\n:7002\r\n";
        let topology = Topology::from_cluster_slots(reply, ASKED).unwrap();
        assert_eq!(topology.targets, ["127.0.0.1:7000".parse().unwrap(), "127.0.0.9:7002".parse().unwrap()]);
        assert_eq!((topology.slots[8191], topology.slots[8192]), (0, 1));
        assert!(topology.is_complete());
        assert_eq!(Topology::from_cluster_slots(b"-ERR no cluster\r\n", ASKED), None);
    }
}
