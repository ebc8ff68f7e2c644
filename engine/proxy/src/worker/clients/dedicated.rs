//! Dedicated connections: for transactions, blocking commands, subscriptions, MONITOR and tracking.
//! They are opened on demand and used by one client only. A connection without state of its client
//! remains available to the next client with the same identity for some time. Otherwise it is
//! closed with the client.

use crate::arena::Id;
use crate::reply_safety::Risk;
use crate::topology::TargetNumber;

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
    /// The CLIENT TRACKING request, which is repeated on each new connection.
    pub tracking: Option<Vec<u8>>,
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
            || self.tracking.is_some()
    }

    pub fn is_queueing(&self) -> bool {
        self.transaction.is_some()
    }

    /// Returns the memory of its transaction, in bytes.
    pub fn memory(&self) -> usize {
        self.transaction.as_ref().map_or(0, Transaction::memory)
    }

    pub fn all_connections(&self) -> Vec<Id> {
        self.connections.iter().map(|(_, backend)| *backend).collect()
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
    /// Number of pending replies to the PINGs of the proxy.
    pub pings: usize,
}
