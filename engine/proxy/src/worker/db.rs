//! A database as one worker serves it: topology, connections to its shards, counters.

use crate::arena::Id;
use crate::control::Database;
use crate::stats::{Connections, Stats};
use crate::topology::{TargetNumber, Topology};
use crate::worker::backend::Pending;
use resp::Limits;
use std::collections::VecDeque;
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
    /// Shared connections, by the number of the target.
    pub connections: Vec<Option<Id>>,
    /// The shards want a password that was not given.
    pub noauth: bool,
    /// Why the shards refused it last.
    pub rejected: Option<Vec<u8>>,
    pub clients: usize,
}

/// A request that waits for a primary.
#[derive(Debug)]
pub struct Parked {
    pub pending: Pending,
    pub bytes: Vec<u8>,
    /// MULTI, and what else goes in front of the first command of a transaction; its replies are nobody's.
    pub opening: Vec<Vec<u8>>,
    pub identity: usize,
    pub exclusive: bool,
    /// What its client hears if none appears.
    pub error: Vec<u8>,
}

#[derive(Debug)]
pub struct Db {
    pub config: Arc<Database>,
    pub limits: Limits,
    pub topology: Topology,
    /// Rises when requests under way may be overtaken by ones routed now.
    pub generation: u32,
    pub identities: Vec<Identity>,
    /// Until when a target that refused is left alone, by its number.
    pub down: Vec<u64>,
    pub parked: VecDeque<Parked>,
    pub retry_at: u64,
    pub stats: Stats,
    pub connections: Arc<Connections>,
    /// Name and version of the engine, once a shard has told.
    pub engine: (String, String),
    /// Not wanted any more; its clients finish.
    pub leaving: bool,
}

impl Db {
    pub fn new(config: Arc<Database>, connections: Arc<Connections>) -> Self {
        let identities = [false, true]
            .map(|resp3| Identity { credentials: Credentials { login: None, resp3 }, ..Identity::default() });
        let mut db = Self {
            config: Arc::clone(&config),
            limits: Limits::default(),
            topology: Topology::default(),
            generation: 0,
            identities: identities.into(),
            down: Vec::new(),
            parked: VecDeque::new(),
            retry_at: 0,
            stats: Stats::default(),
            connections,
            engine: ("valkey".into(), "8.0.0".into()),
            leaving: false,
        };
        db.configure(config);
        db
    }

    /// `true` when slots have new owners.
    pub fn configure(&mut self, config: Arc<Database>) -> bool {
        let request = config.max_request_bytes as usize;
        self.limits = Limits { request, bulk: request.min(512 << 20), ..Limits::default() };
        let newer = self.topology.adopt(&config);
        self.config = config;
        if newer {
            self.generation = self.generation.wrapping_add(1);
            self.down.clear();
        }
        newer
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

    /// From the reply to HELLO: names and values alternate.
    pub fn learn_engine(&mut self, hello: &[u8]) {
        let fields = resp::items(hello).unwrap_or_default();
        for pair in fields.chunks_exact(2) {
            let value = resp::text(pair[1]).map(|value| String::from_utf8_lossy(value).into_owned());
            match (resp::text(pair[0]), value) {
                (Some(b"server"), Some(value)) => self.engine.0 = value,
                (Some(b"version"), Some(value)) => self.engine.1 = value,
                _ => {}
            }
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
    fn is_unused(&self) -> bool {
        self.clients == 0 && self.connections.iter().all(Option::is_none)
    }
}
