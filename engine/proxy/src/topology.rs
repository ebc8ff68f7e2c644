//! The owner of each slot: as applied by the agent, corrected by MOVED replies. Pure values, no
//! connections.

use crate::control::{Database, Mode, Role};
use resp::slot::SLOTS;
use std::net::{IpAddr, SocketAddr};

/// A server process that commands are sent to. Its number is constant for the lifetime of the
/// worker's database, so that connections can be indexed by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub address: SocketAddr,
    pub unix_socket: Option<String>,
    /// Index in `proxies` of the endpoint that serves this shard.
    pub proxy: Option<usize>,
    /// Whether it was a primary according to the latest information.
    pub primary: bool,
    /// Whether it is in the last shard list of the agent.
    listed: bool,
}

pub type TargetNumber = u16;
const NO_OWNER: TargetNumber = u16::MAX;

#[derive(Debug, Clone)]
pub struct Topology {
    pub version: Option<u64>,
    pub targets: Vec<Target>,
    slots: Box<[TargetNumber]>,
    /// One slot of each primary, in the order of their lowest slots. Commands for all shards are
    /// sent to these.
    representatives: Vec<u16>,
    local_proxy: Option<usize>,
    /// Addresses of the endpoints.
    proxies: Vec<String>,
    is_cluster: bool,
}

impl Default for Topology {
    fn default() -> Self {
        Self {
            version: None,
            targets: Vec::new(),
            slots: vec![NO_OWNER; usize::from(SLOTS)].into(),
            representatives: Vec::new(),
            local_proxy: None,
            proxies: Vec::new(),
            is_cluster: false,
        }
    }
}

impl Topology {
    /// Returns a topology for a removed database. It must not be queried for slots.
    pub fn empty() -> Self {
        Self { slots: Box::default(), ..Self::default() }
    }

    /// Adopts the state of the agent. Returns `false` if it is not newer than the known state.
    pub fn adopt(&mut self, database: &Database) -> bool {
        if self.version.is_some_and(|version| database.version <= version) {
            return false;
        }
        self.version = Some(database.version);
        self.is_cluster = database.mode == Mode::OssCluster;
        self.local_proxy = database.proxies.iter().position(|proxy| proxy.local);
        self.proxies = database.proxies.iter().map(|proxy| proxy.address.clone()).collect();
        self.slots.fill(NO_OWNER);
        for target in &mut self.targets {
            target.primary = false;
            target.listed = false;
        }
        for shard in &database.shards {
            let Ok(ip) = shard.address.parse::<IpAddr>() else { continue };
            let number = self.intern(SocketAddr::new(ip, shard.port));
            let target = &mut self.targets[usize::from(number)];
            target.unix_socket.clone_from(&shard.unix_socket);
            target.primary = shard.role == Role::Primary;
            target.listed = true;
            target.proxy = database.proxies.iter().position(|proxy| Some(&proxy.id) == shard.proxy.as_ref());
            if shard.role == Role::Primary {
                self.assign_slots(number, if database.sharded { &shard.slots } else { &[(0, SLOTS - 1)] });
            }
        }
        self.update_representatives();
        true
    }

    fn assign_slots(&mut self, number: TargetNumber, ranges: &[(u16, u16)]) {
        for &(first, last) in ranges {
            let last = usize::from(last.min(SLOTS - 1));
            if usize::from(first) <= last {
                self.slots[usize::from(first)..=last].fill(number);
            }
        }
    }

    /// Returns the number of the process at this address if the agent has named it for this
    /// database.
    pub fn listed(&self, address: SocketAddr) -> Option<TargetNumber> {
        let number = self.targets.iter().position(|target| target.address == address && target.listed)?;
        Some(number as TargetNumber)
    }

    /// Returns the process that the agent has named whose address matches.
    pub fn find_listed(&self, matches: impl Fn(SocketAddr) -> bool) -> Option<TargetNumber> {
        let number = self.targets.iter().position(|target| target.listed && matches(target.address))?;
        Some(number as TargetNumber)
    }

    fn intern(&mut self, address: SocketAddr) -> TargetNumber {
        if let Some(number) = self.targets.iter().position(|target| target.address == address) {
            return number as TargetNumber;
        }
        self.targets.push(Target { address, unix_socket: None, proxy: None, primary: false, listed: false });
        self.targets.len() as TargetNumber - 1
    }

    /// Records that `slot` belongs to `number` according to a shard. Returns `false` if that was
    /// known already.
    pub fn moved(&mut self, slot: u16, number: TargetNumber) -> bool {
        let owner = &mut self.slots[usize::from(slot % SLOTS)];
        if *owner == number {
            return false;
        }
        *owner = number;
        self.targets[usize::from(number)].primary = true;
        self.update_representatives();
        true
    }

    fn update_representatives(&mut self) {
        let mut seen = vec![false; self.targets.len()];
        self.representatives.clear();
        for (slot, &owner) in self.slots.iter().enumerate() {
            if owner != NO_OWNER && !std::mem::replace(&mut seen[usize::from(owner)], true) {
                self.representatives.push(slot as u16);
            }
        }
    }

    #[inline]
    pub fn owner(&self, slot: u16) -> Option<TargetNumber> {
        let number = self.slots[usize::from(slot)];
        (number != NO_OWNER).then_some(number)
    }

    /// Returns one slot of every primary that this endpoint represents: all primaries, or in
    /// cluster mode those assigned to it.
    pub fn representatives(&self) -> impl Iterator<Item = u16> {
        self.representatives.iter().copied().filter(|&slot| self.is_local_slot(slot))
    }

    /// Returns the slot for commands without a key. In cluster mode on a node without primaries,
    /// any slot.
    pub fn home(&self) -> u16 {
        self.representatives().next().or(self.representatives.first().copied()).unwrap_or(0)
    }

    /// Whether a client may use this slot here. Always true for clients that do not use the cluster
    /// protocol.
    #[inline]
    pub fn is_local_slot(&self, slot: u16) -> bool {
        !self.is_cluster || self.proxy_of(slot).is_none_or(|proxy| Some(proxy) == self.local_proxy)
    }

    /// Returns this slot or the next one that a client may use here.
    pub fn next_local_slot(&self, slot: u16) -> Option<u16> {
        (slot..SLOTS).find(|&slot| self.is_local_slot(slot))
    }

    /// Returns the index in `proxies` of the endpoint that serves the slot. It is this endpoint if
    /// the agent has named none for the owner, because shards report a promoted replica before the
    /// agent does.
    pub fn proxy_of(&self, slot: u16) -> Option<usize> {
        self.targets[usize::from(self.owner(slot)?)].proxy.or(self.local_proxy)
    }

    /// Returns the primaries that this endpoint watches, with one slot of each. Two endpoints watch
    /// each primary, if possible on other nodes than the primary, because an endpoint on a failed
    /// node cannot report the failure.
    pub fn watched(&self) -> Vec<(u16, TargetNumber)> {
        let primaries = self.representatives.iter().enumerate();
        let own = primaries.filter_map(|(at, &slot)| Some((at, slot, self.owner(slot)?)));
        own.filter(|&(at, _, target)| self.is_watcher(at, target))
            .map(|(_, slot, target)| (slot, target))
            .collect()
    }

    /// Whether this endpoint watches the primary of the slot.
    pub fn watches(&self, slot: u16) -> bool {
        let same = |other: &u16| self.owner(*other) == self.owner(slot);
        let at = self.representatives.iter().position(same);
        at.zip(self.owner(slot)).is_some_and(|(at, target)| self.is_watcher(at, target))
    }

    /// Whether this endpoint watches the primary with the index `at` among all primaries.
    fn is_watcher(&self, at: usize, target: TargetNumber) -> bool {
        let Some(local) = self.local_proxy else { return true };
        let node = self.targets[usize::from(target)].address.ip();
        let is_elsewhere = |number: &usize| self.proxies[*number].parse() != Ok(node);
        let mut able: Vec<_> = (0..self.proxies.len()).filter(is_elsewhere).collect();
        if able.is_empty() {
            able = (0..self.proxies.len()).collect();
        }
        [at, at + 1].iter().any(|at| able[at % able.len()] == local)
    }

    /// Returns the inclusive ranges of slots that the process owns.
    pub fn ranges_of(&self, number: TargetNumber) -> Vec<(u16, u16)> {
        let own = self.ranges(|slot| self.owner(slot).filter(|&owner| owner == number));
        own.into_iter().map(|(first, last, _)| (first, last)).collect()
    }

    /// Returns the inclusive ranges of slots with the same value of `key`. Slots with `None` are
    /// omitted.
    pub fn ranges<T: PartialEq + Copy>(&self, key: impl Fn(u16) -> Option<T>) -> Vec<(u16, u16, T)> {
        let mut ranges: Vec<(u16, u16, T)> = Vec::new();
        for slot in 0..SLOTS {
            match (key(slot), ranges.last_mut()) {
                (Some(value), Some(range)) if range.2 == value && range.1 + 1 == slot => range.1 = slot,
                (Some(value), _) => ranges.push((slot, slot, value)),
                (None, _) => {}
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the topology of the endpoint on node `local`, for a database with primaries and
    /// endpoints on these nodes.
    fn seen_by(local: u8, primaries: &[u8], endpoints: &[u8]) -> Topology {
        let size = SLOTS / primaries.len() as u16;
        let shards: Vec<_> = (0u16..)
            .zip(primaries)
            .map(|(at, node)| {
                json!({"id": at.to_string(), "role": "primary", "address": format!("10.0.0.{node}"),
                       "port": 20_000 + at, "slots": [[at * size, at * size + size - 1]]})
            })
            .collect();
        let proxies: Vec<_> = endpoints
            .iter()
            .map(|node| {
                json!({"id": node.to_string(), "address": format!("10.0.0.{node}"), "port": 12000,
                       "local": *node == local})
            })
            .collect();
        let database = json!({"uid": 1, "address": format!("10.0.0.{local}"), "port": 12000, "mode": "hidden",
                              "version": 1, "shards": shards, "proxies": proxies});
        let mut topology = Topology::default();
        assert!(topology.adopt(&serde_json::from_value(database).unwrap()));
        topology
    }

    #[test]
    fn two_endpoints_on_other_nodes_watch_each_primary() {
        let nodes = [1, 2, 3, 4];
        let primaries = [1, 1, 2, 3, 4, 4];
        let mut watchers = vec![Vec::new(); primaries.len()];
        for local in nodes {
            let topology = seen_by(local, &primaries, &nodes);
            for (slot, target) in topology.watched() {
                assert!(topology.watches(slot) && topology.watches(slot + 1));
                watchers[usize::from(target)].push(local);
            }
        }
        for (target, watching) in watchers.iter().enumerate() {
            assert_eq!(watching.len(), 2, "{watchers:?}");
            assert!(!watching.contains(&primaries[target]), "{watchers:?}");
        }
    }

    #[test]
    fn a_single_endpoint_watches_all_primaries() {
        assert_eq!(seen_by(1, &[1, 2, 3], &[1]).watched().len(), 3);
        assert_eq!(seen_by(1, &[1, 1], &[1]).watched().len(), 2);
        // Without a list of endpoints, it knows only itself.
        assert_eq!(seen_by(1, &[1, 2], &[]).watched().len(), 2);
    }
}
