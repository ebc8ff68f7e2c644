//! The protocol between the agent and the proxy of a node: one JSON object per line, over the Unix
//! socket that the proxy listens on (`--control PATH`). Any number of agents may be connected. An
//! agent that reconnects misses no data, because counters and histograms are cumulative since the
//! start of the process, and the newest outages are sent again.
//!
//! agent -> proxy ([`AgentRequest`]):
//!
//! | `type` | meaning |
//! |---|---|
//! | `apply` | The complete desired state. May be repeated. Answered by `applied` |
//! | `threads` | The number of worker threads. Answered by `applied` |
//! | `commands` | Send the counters of each command in the last minute. Answered by `commands` |
//! | `drain` | Stop accepting, complete pending requests, exit. Answered by `draining` |
//!
//! proxy -> agent ([`Report`]):
//!
//! | `type` | when |
//! |---|---|
//! | `hello` | First line of every connection |
//! | `applied` | After `apply` and `threads`, with the failures of each database |
//! | `metrics` | Every second |
//! | `commands` | After `commands` |
//! | `topology` | A shard reported another owner of a slot than the applied one |
//! | `outage` | A shard stops answering, or it or its replica answers; the newest after `hello` |
//! | `draining` | The process completes its connections and exits |
//! | `error` | A line is invalid |
//!
//! A database's `version` orders its topology: a shard list is adopted only if its version is
//! greater than the one applied before. Repeating an old state therefore does not undo what the
//! proxy has learned from MOVED replies since.
//!
//! A second process started with the same `--control PATH` takes over: see `takeover.rs`.

use crate::metrics::{Commands, Metrics};
use crate::outage::Outage;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Increased when the meaning of a message changes. Unknown fields are ignored; missing fields have
/// defaults.
pub const PROTOCOL: u32 = 1;

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentRequest {
    Apply(State),
    Threads {
        threads: usize,
    },
    /// Idle clients are closed after this time, or immediately if it is 0. If there are several
    /// requests, the earliest end counts.
    Drain {
        #[serde(default)]
        seconds: u64,
    },
    /// Send the counters of each command of these databases in the last minute. `None`: of all
    /// databases.
    Commands {
        #[serde(default)]
        uids: Option<Vec<u64>>,
    },
    /// Sent by a successor process: pass on the listening sockets and the state. See `takeover.rs`.
    Takeover,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    #[serde(default)]
    pub threads: Option<usize>,
    /// Bytes that all clients together may use. `None`: a quarter of the machine's memory.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    #[serde(default)]
    pub databases: Vec<Database>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Database {
    pub uid: u64,
    /// The IP address to listen on.
    pub address: String,
    pub port: u16,
    pub mode: Mode,
    /// Whether the shards are in cluster mode. A database with one primary does not require it.
    #[serde(default = "yes")]
    pub sharded: bool,
    #[serde(default)]
    pub version: u64,
    /// Changes when the password of the default user is changed or removed.
    #[serde(default)]
    pub access: u64,
    #[serde(default)]
    pub tls: Option<Tls>,
    #[serde(default = "default_max_connections")]
    pub max_connections: u32,
    #[serde(default = "default_max_request")]
    pub max_request_bytes: u32,
    /// Maximum unread replies of a client. A client that exceeds it is disconnected.
    #[serde(default = "default_output_limit")]
    pub output_limit_bytes: usize,
    #[serde(default = "default_failover_wait")]
    pub failover_wait_ms: u64,
    /// Time without a reply to pending requests after which a connection to a shard is closed; 0:
    /// never.
    #[serde(default = "default_request_timeout")]
    pub request_timeout_ms: u64,
    /// Time after which a client that has not logged in is disconnected, if a login is required; 0:
    /// never.
    #[serde(default = "default_login_timeout")]
    pub login_timeout_ms: u64,
    /// Time after which a client that sends nothing and waits for no reply is disconnected; 0:
    /// never.
    #[serde(default)]
    pub idle_timeout_ms: u64,
    pub shards: Vec<Shard>,
    /// `None`: connections to shards on other nodes are unencrypted.
    #[serde(default)]
    pub shard_tls: Option<ShardTls>,
    /// `None`: the proxy sends no canary writes.
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
    /// The proxy acts as the cluster node that owns the slots of the shards assigned to it.
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

/// Certificates with which shards and proxies of one database authenticate each other, as PEM
/// texts.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardTls {
    /// One or more CA certificates. While they are replaced, all are accepted.
    pub authorities: String,
    pub certificate: String,
    pub key: String,
}

impl std::fmt::Debug for ShardTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardTls").finish_non_exhaustive()
    }
}

/// User and interval of the canary writes to primaries that receive no client writes: see
/// `worker/upstream/canaries.rs`.
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
    /// Only for a shard on this node.
    #[serde(default)]
    pub unix_socket: Option<String>,
    /// Inclusive ranges. Empty for a replica.
    #[serde(default)]
    pub slots: Vec<(u16, u16)>,
    /// The `id` of the endpoint that serves the slots of this shard. Used only by `oss_cluster`.
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
    /// 40 hexadecimal digits, used as the ID of a cluster node.
    pub id: String,
    pub address: String,
    pub port: u16,
    /// Whether this is the endpoint of the proxy that receives the message.
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
        /// Requests that later releases have added, and new fields that must not be ignored. An
        /// older proxy answers unknown requests with `error`, which the agent would treat as the
        /// reply to its `apply`.
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
        /// Counted period in seconds: up to 60, less if the process is younger.
        seconds: f64,
        databases: Vec<Commands>,
    },
    Draining {
        connections: u32,
    },
    Error {
        message: String,
    },
    /// To a successor: a listening socket is attached to this line.
    Socket {
        at: SocketAddr,
    },
    /// To a successor: all sockets have been sent, and this is the desired state.
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
