//! A database from the perspective of one worker: topology, connections to shards, counters.

use crate::arena::Id;
use crate::command::Command;
use crate::control::Database;
use crate::learned::LearnedCommands;
use crate::stats::{Connections, Stats};
use crate::stream::Stream;
use crate::tls;
use crate::topology::{TargetNumber, Topology};
use crate::worker::reports::Reports;
use crate::worker::types::session::Credentials;
use crate::worker::upstream::canary::Canary;
use crate::worker::upstream::identity::Identity;
use crate::worker::upstream::outage::OpenOutage;
use crate::worker::upstream::parked_requests::ParkedRequests;
use resp::{Args, Limits};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Time in microseconds after which a target that refused a connection is tried again.
pub const RETRY: u64 = 50_000;

/// Number of connections to each shard if a module may block one of them. With more connections,
/// fewer requests wait for a blocked one, but fewer are sent in one write.
const WAITING_LANES: u32 = 8;
/// Name of Shardboard's module, which reads values from flash.
const WAITING_MODULE: &[u8] = b"tier";

/// Time of the last reply of a target; 0: never.
#[derive(Debug, Clone, Copy, Default)]
pub struct Successes {
    pub any: u64,
    /// Only replies to requests of clients.
    pub write: u64,
}

/// Number of moved slots that are remembered.
const MOST_MOVED: usize = 64;
const ANY_SLOT: u16 = u16::MAX;

/// The keys of a request are in different slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrossSlot;

/// Whether all keys are in this slot. For a request with a wrong number of arguments, the engine
/// returns another error.
fn is_in_slot(command: &Command, args: &Args<'_>, slot: u16) -> bool {
    command.keys_of(args).iter().all(|key| resp::slot::of_key(key) == slot) || !command.accepts(args.len())
}

#[derive(Debug)]
pub struct Db {
    pub config: Arc<Database>,
    pub limits: Limits,
    pub topology: Topology,
    /// TLS configuration for shards on other nodes, if connections to them are encrypted. `Err`:
    /// the certificates are invalid, and no connection is allowed.
    shard_tls: Option<Result<Arc<ClientConfig>, ()>>,
    /// Increased when new requests could overtake pending ones.
    pub topology_version: u32,
    /// The newest slots with another owner, and the version of the topology since then.
    pub moved: VecDeque<(u32, u16)>,
    pub identities: Vec<Identity>,
    /// Time until which no connection to a target is attempted, by target number.
    pub down: Vec<u64>,
    pub parked: ParkedRequests,
    pub retry_at: u64,
    /// The last reported slot owner that the agent had not named: slot, address and time.
    pub last_reported_owner: Option<(u16, SocketAddr, u64)>,
    pub stats: Stats,
    pub connections: Arc<Connections>,
    pub successes: Vec<Successes>,
    pub outages: Vec<OpenOutage>,
    pub canaries: Vec<Canary>,
    /// Version of the topology for which they were chosen.
    pub canaries_of: Option<u32>,
    pub canaries_paused_until: u64,
    /// Time until which the user for canary writes may not report the owners of slots.
    pub owners_refused_until: u64,
    /// Bytes used by its clients, bytes used for other purposes, and the sum that the budget knows.
    pub client_memory: i64,
    pub other_memory: i64,
    pub reported_memory: i64,
    /// Number of shared connections to each shard per identity. A client always uses the same one.
    lanes: u32,
    /// Name and version of the engine, as reported by a shard.
    pub engine: (String, String),
    /// Commands of its engine that the table does not have.
    pub commands: LearnedCommands,
    /// Whether it has been removed. Its clients complete their pending requests.
    pub leaving: bool,
    /// Whether it has no clients and connections left, so that its index can be reused.
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
            moved: VecDeque::new(),
            identities: identities.into(),
            down: Vec::new(),
            parked: ParkedRequests::default(),
            retry_at: 0,
            last_reported_owner: None,
            stats: Stats::default(),
            connections,
            successes: Vec::new(),
            outages: Vec::new(),
            canaries: Vec::new(),
            canaries_of: None,
            canaries_paused_until: 0,
            owners_refused_until: 0,
            client_memory: 0,
            other_memory: 0,
            reported_memory: 0,
            lanes: 1,
            engine: ("valkey".into(), "8.0.0".into()),
            commands: LearnedCommands::default(),
            leaving: false,
            is_free: false,
        };
        db.configure(config);
        db
    }

    /// Applies the configuration. Returns `true` if slots have new owners.
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
            self.note_moved(None);
            self.down.clear();
        }
        newer
    }

    /// Returns the stream for a shard over `fd`, or `None` if no connection is allowed.
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

    /// Returns the identity with these credentials, which is created if necessary.
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

    /// Frees its memory.
    pub fn free(&mut self) {
        self.topology = Topology::empty();
        self.identities = Vec::new();
        self.is_free = true;
    }

    /// Removes the passwords of clients that have disconnected.
    pub fn remove_unused_identities(&mut self) {
        for identity in self.identities.iter_mut().skip(2).filter(|identity| identity.is_unused()) {
            *identity = Identity::default();
        }
    }

    #[inline]
    pub fn slot_of(&self, key: &[u8]) -> u16 {
        if self.config.sharded { resp::slot::of_key(key) } else { 0 }
    }

    /// Returns the slot of the keys of a request, or `None` if it has no keys. The engine does not
    /// check the slots of all commands.
    #[inline]
    pub fn slot_of_keys(&self, command: &Command, args: &Args<'_>) -> Result<Option<u16>, CrossSlot> {
        let Some(key) = command.first_key(args) else { return Ok(None) };
        let slot = self.slot_of(key);
        if command.may_have_several_keys() && self.config.sharded && !is_in_slot(command, args, slot) {
            return Err(CrossSlot);
        }
        Ok(Some(slot))
    }

    /// Records that a slot has another owner in the current version of the topology. `None`: any slot.
    pub fn note_moved(&mut self, slot: Option<u16>) {
        match slot {
            Some(slot) => self.moved.push_back((self.topology_version, slot)),
            None => self.moved.extend([(self.topology_version, ANY_SLOT); MOST_MOVED]),
        }
        self.moved.drain(..self.moved.len().saturating_sub(MOST_MOVED));
    }

    /// Whether the slot may have another owner than in this version of the topology.
    pub fn has_moved_since(&self, version: u32, slot: u16) -> bool {
        let is_later = |at: u32| (at.wrapping_sub(version) as i32) > 0;
        let is_forgotten =
            self.moved.len() == MOST_MOVED && self.moved.front().is_some_and(|one| is_later(one.0));
        is_forgotten || self.moved.iter().any(|&(at, moved)| moved == slot && is_later(at))
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

    /// Records that a target has answered requests. `of_write`: writes of clients were among them.
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

    /// Returns the time at which the target last answered a client's write; 0: never.
    pub fn last_write(&self, target: TargetNumber) -> u64 {
        self.successes.get(usize::from(target)).map_or(0, |success| success.write)
    }

    pub fn has_outage(&self, slot: u16) -> bool {
        self.outages.iter().any(|open| open.has(slot))
    }

    /// Returns the index of the shared connection that this client uses.
    #[inline]
    pub fn lane(&self, client: Id) -> usize {
        // Nearly all databases have one, and a division takes time.
        if self.lanes == 1 { 0 } else { (client.index % self.lanes) as usize }
    }

    /// Parses the reply to HELLO, in which names and values alternate.
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

    /// Uses several lanes if requests may wait for flash.
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
            // Pending requests may use another connection than new ones.
            self.topology_version = self.topology_version.wrapping_add(1);
        }
    }

    /// Reports changes of the memory that its clients and connections use.
    pub fn report_memory(&mut self, reports: &Reports) {
        let memory = self.client_memory + self.other_memory;
        reports.report_memory(&self.connections.memory, memory - self.reported_memory);
        self.reported_memory = memory;
    }

    pub fn failover_wait(&self) -> u64 {
        self.config.failover_wait_ms * 1_000
    }

    pub fn request_timeout(&self) -> Option<u64> {
        Some(self.config.request_timeout_ms * 1_000).filter(|&timeout| timeout > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(modules: &str) -> Vec<u8> {
        format!("*4\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nmodules\r\n{modules}").into_bytes()
    }

    #[test]
    fn clients_share_one_connection_or_eight_with_the_flash_module() {
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
        // Pending requests are answered first, only once.
        assert_eq!((lanes(&db), db.topology_version), (8, before.wrapping_add(1)));
    }
}
