//! Dedicated connections: for transactions, blocking commands, subscriptions, MONITOR and tracking.
//! They are opened on demand and used by one client only. A connection without state of its client
//! remains available to the next client with the same identity for some time. Otherwise it is
//! closed with the client.

use crate::arena::Id;
use crate::reply_safety::Risk;
use crate::topology::TargetNumber;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

#[derive(Debug, Default)]
pub struct DedicatedConnections {
    pub connections: Vec<(TargetNumber, Id)>,
    pub transaction: Option<Transaction>,
    /// The slot of the watched keys.
    pub watching: Option<u16>,
    pub subscriptions: Vec<Subscription>,
    pub monitors: bool,
    /// Whether MONITOR has been answered.
    pub monitor_answered: bool,
    /// Tracking, which is repeated on each new connection.
    pub tracking: Tracking,
    /// CLIENT CACHING, which applies to the next command on any connection.
    pub caching: Option<Vec<u8>>,
    /// The highest risk of all requests on its connections, which may have received surplus
    /// replies.
    pub risk: Risk,
    /// Whether the last request used a dedicated connection. A request on a shared one must not
    /// overtake it.
    pub last_was_dedicated: bool,
}

impl DedicatedConnections {
    pub fn connection(&self, target: TargetNumber) -> Option<Id> {
        self.connections.iter().find(|(to, _)| *to == target).map(|(_, backend)| *backend)
    }

    /// Whether the connections hold state of the client.
    pub fn is_bound(&self) -> bool {
        self.transaction.is_some()
            || self.watching.is_some()
            || !self.subscriptions.is_empty()
            || self.monitors
            || self.tracking.is_on()
    }

    /// Returns the flag of the client in CLIENT LIST.
    pub fn flag(&self) -> char {
        match () {
            () if self.monitors => 'O',
            () if !self.subscriptions.is_empty() => 'P',
            () if self.transaction.is_some() => 'x',
            () => 'N',
        }
    }

    pub fn is_queueing(&self) -> bool {
        self.transaction.is_some()
    }

    /// Returns the memory of its transaction and of its tracked prefixes, in bytes.
    pub fn memory(&self) -> usize {
        self.transaction.as_ref().map_or(0, Transaction::memory)
            + self.tracking.memory()
            + self.subscriptions.iter().map(Subscription::memory).sum::<usize>()
            + self.caching.as_ref().map_or(0, Vec::capacity)
    }

    /// Whether a shard has not confirmed a subscription or MONITOR yet.
    pub fn is_subscribing(&self) -> bool {
        self.subscriptions.iter().any(|one| !one.pending.is_empty())
            || self.monitors && !self.monitor_answered
    }

    /// Returns its connections, including those with subscriptions.
    pub fn all_backends(&self) -> Vec<Id> {
        let subscriptions = self.subscriptions.iter().map(|one| one.backend);
        self.all_connections().into_iter().chain(subscriptions).collect()
    }

    pub fn all_connections(&self) -> Vec<Id> {
        self.connections.iter().map(|(_, backend)| *backend).collect()
    }
}

/// CLIENT TRACKING, as the shards have accepted it.
#[derive(Debug, Default)]
pub struct Tracking {
    /// The requests that enabled it. Each may add prefixes.
    pub requests: Vec<Vec<u8>>,
    pub mode: TrackingMode,
}

/// Which keys are tracked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrackingMode {
    #[default]
    All,
    /// Those that are read after CLIENT CACHING YES.
    OptIn,
    /// All but those that are read after CLIENT CACHING NO.
    OptOut,
}

impl Tracking {
    pub fn is_on(&self) -> bool {
        !self.requests.is_empty()
    }

    pub fn enable(&mut self, request: Vec<u8>, mode: TrackingMode) {
        self.mode = mode;
        if !self.requests.contains(&request) {
            self.requests.push(request);
        }
    }

    fn memory(&self) -> usize {
        self.requests.iter().map(|request| request.capacity() + size_of::<Vec<u8>>()).sum()
    }
}

#[derive(Debug, Default)]
pub struct Transaction {
    /// A slot of the shard that executes it. `None`: no command has had a key yet.
    pub slot: Option<u16>,
    pub held: TransactionLocation,
    pub deferred: Vec<Vec<u8>>,
    pub deferred_bytes: usize,
    /// Whether a command was refused, so that EXEC must not execute the others.
    pub broken: bool,
    /// Whether MULTI was sent. A lost WATCH creates a broken transaction before that.
    pub started: bool,
}

/// Location of the transaction's state. It never moves to another connection, even if its slot
/// moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransactionLocation {
    #[default]
    Nowhere,
    At(Id),
    Lost,
}

impl Transaction {
    pub fn memory(&self) -> usize {
        self.deferred_bytes
    }

    /// Marks the transaction as broken, because its connection was lost with the watched keys and
    /// queued commands.
    pub fn mark_lost(&mut self) {
        self.held = TransactionLocation::Lost;
        self.broken = true;
    }
}

#[derive(Debug)]
pub struct Subscription {
    pub target: TargetNumber,
    pub backend: Id,
    /// Number of channels and patterns, as counted by the shard.
    pub plain: i64,
    pub sharded: i64,
    /// Requests that the shard has not answered. Each is followed by a PING of the proxy.
    pub pending: VecDeque<SubscriptionRequest>,
    /// The text of these PINGs, which clients cannot guess.
    pub mark: [u8; 16],
}

#[derive(Debug)]
pub struct SubscriptionRequest {
    pub raw: Vec<u8>,
    /// Number of times that it was redirected.
    pub redirects: u8,
}

impl Subscription {
    pub fn new(target: TargetNumber, backend: Id) -> Self {
        let text = format!("{:016x}", RandomState::new().hash_one(backend));
        let mark = text.as_bytes().try_into().expect("it has 16 digits");
        Self { target, backend, plain: 0, sharded: 0, pending: VecDeque::new(), mark }
    }

    /// Whether a pending request unsubscribes from this sharded channel.
    pub fn is_leaving(&self, channel: &[u8]) -> bool {
        self.pending.iter().any(|request| {
            let args = resp::items(&request.raw).unwrap_or_default();
            let name = args.first().and_then(|name| resp::text(name)).unwrap_or_default();
            name.eq_ignore_ascii_case(b"sunsubscribe")
                && (args.len() == 1 || args.iter().any(|arg| resp::text(arg) == Some(channel)))
        })
    }

    fn memory(&self) -> usize {
        self.pending.iter().map(|request| request.raw.capacity() + size_of::<SubscriptionRequest>()).sum()
    }
}
