//! What the agent and the proxy of a node say to each other: one JSON object per line, over the Unix socket that
//! the proxy listens on (`--control PATH`). Any number of agents may be connected; one that comes back misses
//! nothing, because counters and histograms are cumulative since the start of the process, and the newest outages are
//! told again.
//!
//! agent -> proxy ([`Order`]):
//!
//! | `type` | meaning |
//! |---|---|
//! | `apply` | the complete desired state; may be repeated at will. Answered by `applied` |
//! | `threads` | the number of worker threads, now. Answered by `applied` |
//! | `commands` | say what was counted of each command in the last minute. Answered by `commands` |
//! | `drain` | stop accepting, finish what is under way, exit. Answered by `draining` |
//!
//! proxy -> agent ([`Report`]):
//!
//! | `type` | when |
//! |---|---|
//! | `hello` | first line of every connection |
//! | `applied` | after `apply` and `threads`, with what could not be done per database |
//! | `metrics` | every second |
//! | `commands` | after `commands` |
//! | `topology` | a shard said that a slot has another owner than was applied |
//! | `outage` | a shard answers requests no more (`first_success_ms` is null then), and again when it does, or its promoted replica; the newest ones after `hello` |
//! | `draining` | the process finishes its connections and exits |
//! | `error` | a line could not be understood |
//!
//! A database's `version` orders its topology: a shard list is adopted when its version is greater than the one
//! applied before, so that repeating an old state does not undo what a MOVED has taught since.
//!
//! A second process started with the same `--control PATH` takes over: see `takeover.rs`.

use crate::metrics::Metrics;
use crate::process::{Commands, Outage};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Raised when a message changes its meaning; unknown fields are ignored, missing ones have defaults.
pub const PROTOCOL: u32 = 1;

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Order {
    Apply(State),
    Threads {
        threads: usize,
    },
    /// Idle clients may stay that long; without, they are closed at once. Of several, the one that ends first counts.
    Drain {
        #[serde(default)]
        seconds: u64,
    },
    /// Tell what was counted of each command of these databases, without: of all, in the last minute.
    Commands {
        #[serde(default)]
        uids: Option<Vec<u64>>,
    },
    /// Said by a successor process: hand over the listening sockets and the state. See `takeover.rs`.
    Takeover,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    #[serde(default)]
    pub threads: Option<usize>,
    /// Bytes that all clients together may occupy; without: a quarter of the machine's memory.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    #[serde(default)]
    pub databases: Vec<Database>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Database {
    pub uid: u64,
    /// An IP address to listen on.
    pub address: String,
    pub port: u16,
    pub mode: Mode,
    /// Whether the shards are in cluster mode; a database of one primary need not be.
    #[serde(default = "yes")]
    pub sharded: bool,
    #[serde(default)]
    pub version: u64,
    /// Another number: the default user has another password, or none any more.
    #[serde(default)]
    pub access: u64,
    #[serde(default)]
    pub tls: Option<Tls>,
    #[serde(default = "default_max_connections")]
    pub max_connections: u32,
    #[serde(default = "default_max_request")]
    pub max_request_bytes: u32,
    /// Replies a client has not read; beyond it the connection is closed.
    #[serde(default = "default_output_limit")]
    pub output_limit_bytes: usize,
    #[serde(default = "default_failover_wait")]
    pub failover_wait_ms: u64,
    /// A connection on which a shard has said nothing for so long, although asked, is given up; 0: never.
    #[serde(default = "default_request_timeout")]
    pub request_timeout_ms: u64,
    /// Who has not logged in by then, where that is needed, is closed; 0: never.
    #[serde(default = "default_login_timeout")]
    pub login_timeout_ms: u64,
    /// Who has said nothing for so long and waits for nothing is closed; 0: never.
    #[serde(default)]
    pub idle_timeout_ms: u64,
    pub shards: Vec<Shard>,
    /// Without: shards of other nodes are spoken to in clear.
    #[serde(default)]
    pub shard_tls: Option<ShardTls>,
    /// Without: the proxy writes nothing by itself.
    #[serde(default)]
    pub canary: Option<Canary>,
    /// The endpoints of this database on all nodes.
    #[serde(default)]
    pub proxies: Vec<Endpoint>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One address hides all shards.
    Hidden,
    /// This proxy looks like the cluster node that owns the slots of the shards it is named for.
    OssCluster,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tls {
    /// PEM files.
    pub certificate: String,
    pub key: String,
    #[serde(default)]
    pub client_ca: Option<String>,
    #[serde(default)]
    pub require_client_certificate: bool,
}

/// What shards and proxies of one database prove to each other that they are of it. PEM texts.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardTls {
    /// One or more: while they are replaced, all count.
    pub authorities: String,
    pub certificate: String,
    pub key: String,
}

impl std::fmt::Debug for ShardTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardTls").finish_non_exhaustive()
    }
}

/// Who writes to primaries, and how often, where no client does: see `worker/canary.rs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Canary {
    pub user: String,
    pub password: String,
    pub interval_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// The node id of the process in its cluster; any unique text without cluster mode.
    pub id: String,
    pub role: Role,
    pub address: String,
    pub port: u16,
    /// Only for a shard of this node.
    #[serde(default)]
    pub unix_socket: Option<String>,
    /// Inclusive ranges; of a replica, none.
    #[serde(default)]
    pub slots: Vec<(u16, u16)>,
    /// The `id` of the endpoint that serves this shard's slots; needed by `oss_cluster` only.
    #[serde(default)]
    pub proxy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Primary,
    Replica,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// 40 hexadecimal digits, shown as the id of a cluster node.
    pub id: String,
    pub address: String,
    pub port: u16,
    /// Whether it is the one that reads this.
    #[serde(default)]
    pub local: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Report {
    Hello {
        protocol: u32,
        pid: u32,
        version: &'static str,
        /// Orders that later releases have added, and fields of theirs that must not be passed over. Who is asked something else says `error`, which an agent would take for the
        /// answer to what it applies.
        answers: &'static [&'static str],
    },
    Applied {
        threads: usize,
        databases: Vec<u64>,
        failures: Vec<DatabaseError>,
    },
    Metrics(Box<Metrics>),
    Topology {
        uid: u64,
        slot: u16,
        address: String,
        port: u16,
    },
    Outage(Outage),
    Commands {
        /// How long was counted, up to 60; less when the process is younger.
        seconds: f64,
        databases: Vec<Commands>,
    },
    Draining {
        connections: u32,
    },
    Error {
        message: String,
    },
    /// To a successor: this line carries a listening socket.
    Socket {
        at: SocketAddr,
    },
    /// To a successor: all sockets have been sent, and this was the desired state.
    Handover {
        state: State,
    },
}

#[derive(Debug, Serialize)]
pub struct DatabaseError {
    pub uid: u64,
    pub message: String,
}

fn yes() -> bool {
    true
}

fn default_max_connections() -> u32 {
    10_000
}

fn default_max_request() -> u32 {
    1 << 30
}

fn default_output_limit() -> usize {
    256 << 20
}

fn default_failover_wait() -> u64 {
    2_000
}

fn default_request_timeout() -> u64 {
    30_000
}

fn default_login_timeout() -> u64 {
    30_000
}
