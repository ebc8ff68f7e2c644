//! The slots of all processes according to one of them, from its CLUSTER NODES reply.

use std::net::{IpAddr, SocketAddr};

#[derive(Debug, Default)]
pub struct SlotOwners {
    /// Address and inclusive ranges of each process.
    nodes: Vec<Node>,
    /// Slots whose keys the process is moving to others, with the ID of the other.
    migrating: Vec<(u16, String)>,
    /// Slots whose keys it receives.
    importing: Vec<u16>,
}

#[derive(Debug)]
struct Node {
    id: String,
    /// `None`: the process does not know its own IP address.
    address: Option<SocketAddr>,
    is_myself: bool,
    slots: Vec<(u16, u16)>,
}

impl SlotOwners {
    pub fn parse(text: &str) -> Self {
        let mut owners = Self::default();
        for line in text.strip_prefix("txt:").unwrap_or(text).lines() {
            let mut words = line.split(' ');
            let (Some(id), Some(address), Some(flags)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let is_myself = flags.split(',').any(|flag| flag == "myself");
            let mut slots = Vec::new();
            for word in words.skip(5) {
                match word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
                    Some(moving) if is_myself => owners.add_moving(moving),
                    Some(_) => {}
                    None => slots.extend(range(word)),
                }
            }
            owners.nodes.push(Node { id: id.into(), address: parse_address(address), is_myself, slots });
        }
        owners
    }

    fn add_moving(&mut self, text: &str) {
        if let Some((slot, to)) = text.split_once("->-") {
            self.migrating.extend(slot.parse().ok().map(|slot| (slot, to.to_string())));
        } else if let Some((slot, _)) = text.split_once("-<-") {
            self.importing.extend(slot.parse::<u16>().ok());
        }
    }

    /// Returns the address of the process that owns the slot.
    pub fn owner(&self, slot: u16) -> Option<SocketAddr> {
        self.owning(slot)?.address
    }

    fn owning(&self, slot: u16) -> Option<&Node> {
        self.nodes.iter().find(|node| node.slots.iter().any(|&(first, last)| (first..=last).contains(&slot)))
    }

    /// Whether the process owns the slot.
    pub fn owns(&self, slot: u16) -> bool {
        self.owning(slot).is_some_and(|node| node.is_myself)
    }

    /// Whether the process moves keys of the slot to another.
    pub fn is_migrating(&self, slot: u16) -> bool {
        self.migrating.iter().any(|(moving, _)| *moving == slot)
    }

    /// Returns the address of the process that receives the keys of the slot.
    pub fn importer(&self, slot: u16) -> Option<SocketAddr> {
        let (_, id) = self.migrating.iter().find(|(moving, _)| *moving == slot)?;
        self.nodes.iter().find(|node| node.id == *id)?.address
    }

    pub fn is_importing(&self, slot: u16) -> bool {
        self.importing.contains(&slot)
    }
}

/// Parses `first-last` or a single slot.
fn range(word: &str) -> Option<(u16, u16)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Parses `ip:port@bus,hostname,…`.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split(['@', ',']).next()?.rsplit_once(':')?;
    Some(SocketAddr::new(ip.parse::<IpAddr>().ok()?, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_and_moving_slots_are_found() {
        let text = "txt:a 10.0.0.1:1@2,,tls-port=0,shard-id=x myself,master - 0 0 1 connected 0-5 7 [3->-b] [9-<-b]\n\
                    b 10.0.0.2:1@2 master - 0 0 2 connected 6 8-16383\n\
                    c :1@2 slave b 0 0 2 connected\n";
        let owners = SlotOwners::parse(text);
        let address = |text: &str| Some(text.parse().unwrap());
        assert!([0, 3, 5, 7].into_iter().all(|slot| owners.owns(slot)));
        assert!([6, 8, 16_383].into_iter().all(|slot| !owners.owns(slot)));
        assert_eq!((owners.owner(7), owners.owner(8)), (address("10.0.0.1:1"), address("10.0.0.2:1")));
        assert!(owners.is_migrating(3) && !owners.is_migrating(9) && owners.is_importing(9));
        assert_eq!((owners.importer(3), owners.importer(9)), (address("10.0.0.2:1"), None));
        assert_eq!(SlotOwners::parse("").owner(1), None);
    }
}
