//! Messages between threads and a worker.
//!
//! A list of clients and a moving client are part of them, so they are defined here.

use crate::control::Database;
use crate::poll::Waker;
use crate::stats::{Connections, Stats};
use crate::stream::Stream;
use crate::worker::types::connection_count::ConnectionCount;
use crate::worker::types::list_filter::ListFilter;
use crate::worker::types::request::ReplyTarget;
use crate::worker::types::session::{Credentials, Muted, Profile};
use std::net::SocketAddr;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Counters of a worker since its last report, by database.
pub type Counts = Vec<(u64, Stats)>;

/// Messages of other threads to a worker.
pub enum Message {
    /// Serve this database, or change how it is served.
    Apply { database: Arc<Database>, connections: Arc<Connections> },
    /// Stop serving this database. Its clients are disconnected after their pending requests.
    Remove { uid: u64 },
    Accepted {
        uid: u64,
        stream: Box<Stream>,
        peer: Option<SocketAddr>,
        number: u64,
        connection_count: ConnectionCount,
    },
    /// Send the counters since the last report.
    Measure,
    /// Describe the clients of a database.
    List(Arc<Listing>),
    /// All workers have described theirs, for a client of this worker.
    Listed { reply_to: ReplyTarget, lines: Vec<(u64, String)> },
    /// Take over a client of another worker.
    Adopt(Box<MovingClient>),
    /// Pass a share of the clients to these new workers. The total number of workers is now `of`.
    Share { with: Vec<Handle>, of: usize },
    /// Pass all clients to these workers, then end.
    Retire { to: Vec<Handle> },
    /// Complete the requests of all clients, then end. Idle clients may stay for `patience`.
    Drain { patience: Duration },
    /// Panic, for tests of the behavior after a panic.
    #[cfg(test)]
    Fail,
}

#[derive(Debug, Clone)]
pub struct Handle {
    pub(in crate::worker) messages: Sender<Message>,
    pub(in crate::worker) waker: Waker,
    /// Number of clients that are assigned to the worker, including those it has not accepted yet.
    pub clients: Arc<AtomicU32>,
}

impl Handle {
    /// Sends a message. A worker that has ended does not receive it, and does not need it.
    pub fn send(&self, message: Message) {
        if self.messages.send(message).is_ok() {
            self.waker.wake();
        }
    }
}

#[derive(Debug)]
pub struct Listing {
    pub uid: u64,
    pub reply_to: ReplyTarget,
    pub filter: ListFilter,
    pub to: Handle,
    pub lines: Mutex<Vec<(u64, String)>>,
}

impl Drop for Listing {
    fn drop(&mut self) {
        let lines = std::mem::take(self.lines.get_mut().unwrap_or_else(PoisonError::into_inner));
        self.to.send(Message::Listed { reply_to: self.reply_to, lines });
    }
}

/// The state of a client between two requests.
pub struct MovingClient {
    pub connection_count: ConnectionCount,
    pub uid: u64,
    pub stream: Stream,
    pub peer: Option<SocketAddr>,
    pub number: u64,
    pub age: u64,
    pub credentials: Credentials,
    pub profile: Option<Box<Profile>>,
    /// If it has written since the last WAIT: whether the owners of slots are unchanged since then.
    pub unconfirmed: Option<bool>,
    pub muted: Muted,
    pub input: Vec<u8>,
}
