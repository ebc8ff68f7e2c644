//! A database as one worker serves it: topology, connections to its shards, counters.

use crate::arena::Id;
use crate::control::Database;
use crate::learned::Learned;
use crate::stats::{Connections, Stats};
use crate::stream::Stream;
use crate::tls;
use crate::topology::{TargetNumber, Topology};
use crate::worker::canary::Canary;
use crate::worker::outage::Open;
use crate::worker::parked::Lot;
use resp::Limits;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Whom commands are executed as: connections with different ones are never shared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    /// User and password; without: the default user as the database has it.
    pub login: Option<(Vec<u8>, Vec<u8>)>,
    pub resp3: bool,
}

#[derive(Debug, Default)]
pub struct Identity {
    pub credentials: Credentials,
    /// Shared connections, by lane and number of the target.
    pub connections: Vec<Vec<Option<Id>>>,
    /// Connections that were one client's own and are nobody's now.
    pub pool: Vec<(TargetNumber, Id)>,
    /// The shards want a password that was not given.
    pub noauth: bool,
    /// The shards refuse ECHO to it.
    pub fences_with_hello: bool,
    /// Why the shards refused it last.
    pub rejected: Option<Vec<u8>>,
    pub clients: usize,
}

/// Connections to each shard, where a module may let one wait while it serves others. The more there are the fewer wait behind a
/// request that waits, and the fewer go together in one write.
const WAITING_LANES: u32 = 8;
/// Of Shardboard's own module, which reads values from flash.
const WAITING_MODULE: &[u8] = b"tier";

/// When a target answered last; 0: never.
#[derive(Debug, Clone, Copy, Default)]
pub struct Successes {
    pub any: u64,
    /// Of clients' requests alone.
    pub write: u64,
}

#[derive(Debug)]
pub struct Db {
    pub config: Arc<Database>,
    pub limits: Limits,
    pub topology: Topology,
    /// How shards of other nodes are spoken to, if not in clear; broken certificates let nobody speak to them.
    shard_tls: Option<Result<Arc<ClientConfig>, ()>>,
    /// Rises when requests under way may be overtaken by ones routed now.
    pub topology_version: u32,
    pub identities: Vec<Identity>,
    /// Until when a target that refused is left alone, by its number.
    pub down: Vec<u64>,
    pub parked: Lot,
    pub retry_at: u64,
    /// The last place of a slot that the agent was told of and had not named, and when.
    pub told: Option<(u16, SocketAddr, u64)>,
    pub stats: Stats,
    pub connections: Arc<Connections>,
    pub successes: Vec<Successes>,
    pub outages: Vec<Open>,
    pub canaries: Vec<Canary>,
    /// The version of the topology that they were chosen for.
    pub canaries_of: Option<u32>,
    pub canaries_rest_until: u64,
    /// Bytes that its clients occupy, and everything else for them; what of it the budget knows.
    pub clients_weigh: i64,
    pub others_weigh: i64,
    pub told_weight: i64,
    /// How many shared connections there are to each shard for the same identity. A client stays with one of them.
    lanes: u32,
    /// Name and version of the engine, once a shard has told.
    pub engine: (String, String),
    /// Commands of its engine that the table does not have.
    pub commands: Learned,
    /// Not wanted any more; its clients finish.
    pub leaving: bool,
    /// Nothing is left of it, and its place may be another's.
    pub is_free: bool,
}

impl Db {
    pub fn new(config: Arc<Database>, connections: Arc<Connections>) -> Self {
        let identities = [false, true]
            .map(|resp3| Identity { credentials: Credentials { login: None, resp3 }, ..Identity::default() });
        let mut db = Self {
            config: Arc::clone(&config),
            limits: Limits::default(),
            topology: Topology::default(),
            shard_tls: None,
            topology_version: 0,
            identities: identities.into(),
            down: Vec::new(),
            parked: Lot::default(),
            retry_at: 0,
            told: None,
            stats: Stats::default(),
            connections,
            successes: Vec::new(),
            outages: Vec::new(),
            canaries: Vec::new(),
            canaries_of: None,
            canaries_rest_until: 0,
            clients_weigh: 0,
            others_weigh: 0,
            told_weight: 0,
            lanes: 1,
            engine: ("valkey".into(), "8.0.0".into()),
            commands: Learned::default(),
            leaving: false,
            is_free: false,
        };
        db.configure(config);
        db
    }

    /// `true` when slots have new owners.
    pub fn configure(&mut self, config: Arc<Database>) -> bool {
        let request = config.max_request_bytes as usize;
        self.limits = Limits { request, bulk: request.min(512 << 20), ..Limits::default() };
        let newer = self.topology.adopt(&config);
        if self.shard_tls.is_none() || self.config.shard_tls != config.shard_tls {
            self.shard_tls = config.shard_tls.as_ref().map(|tls| tls::shard_config(tls).map_err(drop));
        }
        self.config = config;
        if newer {
            self.topology_version = self.topology_version.wrapping_add(1);
            self.down.clear();
        }
        newer
    }

    /// What is said to a shard over `fd`. `None`: nothing may be.
    pub fn wire(&self, fd: OwnedFd, is_local: bool) -> Option<Stream> {
        match &self.shard_tls {
            Some(config) if !is_local => {
                let config = Arc::clone(config.as_ref().ok()?);
                let name = ServerName::try_from(tls::SHARD).ok()?;
                Some(Stream::tls(fd, ClientConnection::new(config, name).ok()?))
            }
            _ => Some(Stream::plain(fd)),
        }
    }

    /// The identity with these credentials, which may be new.
    pub fn intern(&mut self, credentials: Credentials) -> usize {
        if let Some(known) = self.identities.iter().position(|identity| identity.credentials == credentials) {
            return known;
        }
        let fresh = Identity { credentials, ..Identity::default() };
        match self.identities.iter().skip(2).position(|identity| identity.is_unused()) {
            Some(free) => {
                self.identities[free + 2] = fresh;
                free + 2
            }
            None => {
                self.identities.push(fresh);
                self.identities.len() - 1
            }
        }
    }

    /// Gives back what it holds.
    pub fn free(&mut self) {
        self.topology = Topology::empty();
        self.identities = Vec::new();
        self.is_free = true;
    }

    /// Passwords of those who have left are not kept.
    pub fn forget_identities(&mut self) {
        for identity in self.identities.iter_mut().skip(2).filter(|identity| identity.is_unused()) {
            *identity = Identity::default();
        }
    }

    #[inline]
    pub fn slot_of(&self, key: &[u8]) -> u16 {
        if self.config.sharded { resp::slot::of_key(key) } else { 0 }
    }

    pub fn is_down(&self, target: TargetNumber, now: u64) -> bool {
        self.down.get(usize::from(target)).is_some_and(|&until| until > now)
    }

    pub fn set_down(&mut self, target: TargetNumber, until: u64) {
        let at = usize::from(target);
        if self.down.len() <= at {
            self.down.resize(at + 1, 0);
        }
        self.down[at] = until;
    }

    /// A target has answered requests, writes of clients among them or not.
    #[inline]
    pub fn note_success(&mut self, target: TargetNumber, now: u64, of_write: bool) {
        let at = usize::from(target);
        if self.successes.len() <= at {
            self.successes.resize(at + 1, Successes::default());
        }
        self.successes[at].any = now;
        if of_write {
            self.successes[at].write = now;
        }
    }

    /// When the target answered a client's write last; 0: never.
    pub fn last_write(&self, target: TargetNumber) -> u64 {
        self.successes.get(usize::from(target)).map_or(0, |success| success.write)
    }

    pub fn has_outage(&self, slot: u16) -> bool {
        self.outages.iter().any(|open| open.has(slot))
    }

    /// Which of the shared connections to a shard is this client's.
    #[inline]
    pub fn lane(&self, client: Id) -> usize {
        // One is what nearly all have, and dividing takes time.
        if self.lanes == 1 { 0 } else { (client.index % self.lanes) as usize }
    }

    /// From the reply to HELLO: names and values alternate.
    pub fn learn_engine(&mut self, hello: &[u8]) {
        let fields = resp::items(hello).unwrap_or_default();
        for pair in fields.chunks_exact(2) {
            if resp::text(pair[0]) == Some(b"modules") {
                self.choose_lanes(pair[1]);
            }
            let value = resp::text(pair[1]).map(|value| String::from_utf8_lossy(value).into_owned());
            match (resp::text(pair[0]), value) {
                (Some(b"server"), Some(value)) => self.engine.0 = value,
                (Some(b"version"), Some(value)) => self.engine.1 = value,
                _ => {}
            }
        }
    }

    /// More where a client may wait for flash.
    fn choose_lanes(&mut self, modules: &[u8]) {
        let is_waiting = |module: &&[u8]| {
            let fields = resp::items(module).unwrap_or_default();
            fields.chunks_exact(2).any(|pair| {
                resp::text(pair[0]) == Some(b"name") && resp::text(pair[1]) == Some(WAITING_MODULE)
            })
        };
        let has_waiting = resp::items(modules).unwrap_or_default().iter().any(is_waiting);
        let lanes = if has_waiting { WAITING_LANES } else { 1 };
        if self.lanes != lanes {
            self.lanes = lanes;
            // What is under way may be on another connection than what comes now.
            self.topology_version = self.topology_version.wrapping_add(1);
        }
    }

    pub fn failover_wait(&self) -> u64 {
        self.config.failover_wait_ms * 1_000
    }

    pub fn request_timeout(&self) -> Option<u64> {
        Some(self.config.request_timeout_ms * 1_000).filter(|&timeout| timeout > 0)
    }
}

impl Identity {
    pub fn is_unused(&self) -> bool {
        self.clients == 0 && self.pool.is_empty() && self.connections.iter().flatten().all(Option::is_none)
    }

    #[inline]
    pub fn connection(&self, lane: usize, target: TargetNumber) -> Option<Id> {
        *self.connections.get(lane)?.get(usize::from(target))?
    }

    /// Notes the shared connection of that lane to that target, or that there is none any more.
    pub fn set_connection(&mut self, lane: usize, target: TargetNumber, connection: Option<Id>) {
        if self.connections.len() <= lane {
            self.connections.resize(lane + 1, Vec::new());
        }
        let of_lane = &mut self.connections[lane];
        if of_lane.len() <= usize::from(target) {
            of_lane.resize(usize::from(target) + 1, None);
        }
        of_lane[usize::from(target)] = connection;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(modules: &str) -> Vec<u8> {
        format!("*4\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nmodules\r\n{modules}").into_bytes()
    }

    #[test]
    fn clients_share_one_connection_or_eight_where_they_may_wait() {
        let config =
            serde_json::json!({"uid": 1, "address": "127.0.0.1", "port": 1, "mode": "hidden", "shards": []});
        let mut db = Db::new(Arc::new(serde_json::from_value(config).unwrap()), Arc::default());
        let lanes = |db: &Db| {
            let lanes = (0..100).map(|index| db.lane(Id { index, generation: 0 }));
            lanes.collect::<std::collections::BTreeSet<_>>().len()
        };
        let before = db.topology_version;
        for other in ["*0\r\n", "*1\r\n*4\r\n$4\r\nname\r\n$6\r\nsearch\r\n$3\r\nver\r\n:1\r\n"] {
            db.learn_engine(&hello(other));
            assert_eq!((lanes(&db), db.topology_version), (1, before));
        }
        let tier = hello("*1\r\n%2\r\n$4\r\nname\r\n$4\r\ntier\r\n$3\r\nver\r\n:1\r\n");
        db.learn_engine(&tier);
        db.learn_engine(&tier);
        // What is under way is answered first, once.
        assert_eq!((lanes(&db), db.topology_version), (8, before.wrapping_add(1)));
    }
}
