//! A thread that serves a share of the clients: it waits for sockets, handles requests, sends them
//! to shards and returns the replies. All its data belongs to this thread; other threads send
//! messages to it.
//!
//! bytes -> request (`flow/intake`) -> command (`requests/dispatch`) -> shard (`upstream/connect`)
//! -> reply (`flow/replies`) -> client (`flow/output`).

mod clients;
mod clock;
mod flow;
mod io;

mod reports;
mod requests;
#[cfg(test)]
mod simulation;
mod supervise;
pub(crate) mod types;
mod upstream;

use crate::arena::{Arena, Id};
use crate::budget::Budget;
use crate::control::Database;
use crate::event::Event;
use crate::poll::{Poll, Ready, Source};
use crate::stats::Connections;
use crate::stream::Stream;
use clients::client::Client;
use clock::Clock;
use io::Io;
use reports::Reports;
use resp::RequestParser;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
pub use types::connection_count::ConnectionCount;
use types::dirty::DirtyList;
pub use types::message::{Counts, Handle, Message};
use upstream::Upstream;
use upstream::db::Db;

struct Worker {
    /// Handle of this worker, for replies of other threads.
    handle: Handle,
    messages: Receiver<Message>,
    clients: Arena<Client>,
    upstream: Upstream,
    dirty_clients: DirtyList,
    /// Clients with output that is held back briefly, so that more can be added.
    deferred: Vec<Id>,
    deferrals: u32,
    gathered: u32,
    resume: Vec<Id>,
    /// Clients whose time slice ended before all their input was handled.
    yielded_clients: Vec<Id>,
    scratch: Vec<u8>,
    parser: RequestParser,
    next_tick: u64,
    /// Time at which idle clients are closed because the worker ends.
    draining: Option<u64>,
    retiring: Option<Vec<Handle>>,
}

const SCRATCH: usize = 256 * 1024;
const TICK: u64 = 20_000;
/// Maximum number of rounds that requests wait for further requests to the same shard.
const GATHERED: u32 = 8;
/// Time in microseconds that a draining worker waits for clients with pending requests.
const DRAIN: u64 = 30_000_000;

/// Starts a worker thread. `events` receives the reports for the agent.
pub fn start(
    number: usize,
    events: Sender<Event>,
    counts: Sender<Counts>,
    budget: Arc<Budget>,
) -> std::io::Result<(Handle, JoinHandle<()>)> {
    let poll = Poll::new()?;
    let (sender, messages) = std::sync::mpsc::channel();
    let handle = Handle { messages: sender, waker: poll.waker(), clients: Arc::default() };
    let reports = Reports { number, events, counts, budget };
    let shared = Shared { handle: handle.clone(), messages, reports };
    let worker = Worker::new(Io::new(poll, Clock::new(Instant::now())), shared);
    let thread = std::thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || supervise::supervise(worker, Worker::run, Worker::replaced))?;
    Ok((handle, thread))
}

/// The connections of a worker to other threads. Its replacement inherits them after a failure.
struct Shared {
    handle: Handle,
    messages: Receiver<Message>,
    reports: Reports,
}

impl Worker {
    fn new(io: Io, shared: Shared) -> Self {
        let Shared { handle, messages, reports } = shared;
        Self {
            handle,
            messages,
            upstream: Upstream::new(io, reports),
            clients: Arena::default(),
            dirty_clients: DirtyList::default(),
            deferred: Vec::new(),
            deferrals: 0,
            gathered: 0,
            resume: Vec::new(),
            yielded_clients: Vec::new(),
            scratch: vec![0; SCRATCH],
            parser: RequestParser::default(),
            next_tick: TICK,
            draining: None,
            retiring: None,
        }
    }

    fn run(&mut self) -> std::io::Result<()> {
        let mut ready = Vec::with_capacity(256);
        while !self.is_done() {
            let until_tick = Duration::from_micros(self.next_tick.saturating_sub(self.upstream.io.clock()));
            self.round(&mut ready, until_tick)?;
        }
        self.send_counts();
        Ok(())
    }

    /// Waits for sockets for at most `patience`, then handles ready sockets and due work.
    fn round(&mut self, ready: &mut Vec<Ready>, patience: Duration) -> std::io::Result<()> {
        let more_first = !self.deferred.is_empty()
            || !self.upstream.backends.dirty.is_empty()
            || !self.yielded_clients.is_empty();
        let timeout = if more_first { Duration::ZERO } else { patience };
        self.upstream.io.poll.wait(ready, timeout)?;
        self.upstream.io.clock();
        self.resume.append(&mut self.yielded_clients);
        for event in ready.iter() {
            self.react(*event);
        }
        while let Some(db) = self.upstream.dbs.recovered.pop() {
            self.retry_parked(db);
        }
        self.settle();
        self.flush_deferred(ready.is_empty());
        self.flush_gathered(ready.is_empty());
        if self.upstream.io.now >= self.next_tick {
            self.tick();
            self.settle();
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.retiring.is_some() && self.clients.is_empty()
            || self.draining.is_some_and(|at| self.clients.is_empty() || self.upstream.io.now > at + DRAIN)
    }

    fn react(&mut self, event: Ready) {
        match event.source {
            Source::Wake => self.take_messages(),
            Source::Client(id) => self.client_ready(id, event),
            Source::Backend(id) => self.backend_ready(id, event),
            Source::Other(_) => {}
        }
    }

    /// Handles broken connections to shards, resumes waiting clients, and writes pending output, once
    /// per client.
    fn settle(&mut self) {
        loop {
            while let Some(id) = self.upstream.backends.broken.pop() {
                self.lost(id);
            }
            self.resume.append(&mut self.upstream.backends.uncongested);
            if self.resume.is_empty() && self.dirty_clients.is_empty() {
                return;
            }
            while let Some(id) = self.resume.pop() {
                self.resume_client(id);
            }
            self.flush_clients();
        }
    }

    /// Sends requests when no other socket is ready, or after a few rounds, because waking a shard
    /// costs as much for one request as for ten. An idle worker only makes one additional poll,
    /// which takes a fraction of a microsecond.
    fn flush_gathered(&mut self, is_idle: bool) {
        self.gathered += 1;
        if is_idle || self.gathered > GATHERED {
            self.gathered = 0;
            self.flush_backends();
        }
    }

    fn flush_backends(&mut self) {
        let dirty = self.upstream.backends.dirty.take();
        for &id in &dirty {
            if !self.upstream.backends.flush(&self.upstream.io, id) {
                self.lost(id);
            }
        }
        self.upstream.backends.dirty.reuse(dirty);
    }

    fn take_messages(&mut self) {
        while let Ok(message) = self.messages.try_recv() {
            match message {
                Message::Apply { database, connections } => self.apply(database, connections),
                Message::Remove { uid } => self.remove(uid),
                Message::Accepted { uid, stream, peer, number, connection_count } => {
                    self.accepted(uid, *stream, peer, number, connection_count)
                }
                Message::Measure => self.send_counts(),
                Message::List(listing) => self.list(&listing),
                Message::Listed { reply_to, lines } => self.listed(reply_to, lines),
                Message::Adopt(moving_client) => self.adopt(*moving_client),
                Message::Share { with, of } => self.share(&with, of),
                Message::Retire { to } => self.retire(to),
                Message::Drain { patience } => self.drain(patience),
                #[cfg(test)]
                Message::Fail => panic!("requested by a test"),
            }
        }
    }

    fn send_counts(&mut self) {
        let counts = self.upstream.dbs.take_counts();
        self.upstream.reports.send_counts(counts);
    }

    fn apply(&mut self, database: Arc<Database>, connections: Arc<Connections>) {
        let Some(db) = self.upstream.dbs.find(database.uid) else {
            let db = self.upstream.dbs.add(Db::new(database, connections));
            self.upstream.preconnect(db);
            return;
        };
        self.upstream.dbs[db].leaving = false;
        let is_sealed = self.upstream.dbs[db].config.tls.is_none() && database.tls.is_some();
        if self.upstream.dbs[db].config.access != database.access {
            self.upstream.discard_anonymous_connections(db);
        }
        if self.upstream.dbs[db].configure(database) {
            self.upstream.demote_backends(db);
            self.retry_parked(db);
        }
        if is_sealed {
            // No further data of this database may be sent unencrypted.
            self.finish_clients(|client| client.db == db && !client.stream.is_tls());
        }
        self.upstream.preconnect(db);
    }

    fn remove(&mut self, uid: u64) {
        if let Some(db) = self.upstream.dbs.find(uid) {
            self.upstream.dbs[db].leaving = true;
            self.finish_clients(|client| client.db == db);
        }
    }

    fn drain(&mut self, patience: Duration) {
        let until = self.upstream.io.now + patience.as_micros() as u64;
        self.draining = Some(self.draining.map_or(until, |at| at.min(until)));
        self.finish_if_due();
    }

    fn finish_if_due(&mut self) {
        if self.draining.is_some_and(|at| at <= self.upstream.io.now) {
            self.finish_clients(|_| true);
        }
    }

    fn accepted(
        &mut self,
        uid: u64,
        stream: Stream,
        peer: Option<SocketAddr>,
        number: u64,
        connection_count: ConnectionCount,
    ) {
        let Some(db) = self.upstream.dbs.find(uid) else { return };
        if self.upstream.dbs[db].config.tls.is_some() && !stream.is_tls() {
            return; // Accepted before the listener was replaced.
        }
        let id =
            self.add_client(Client::new(connection_count, stream, peer, db, number, self.upstream.io.now));
        if let Some(to) = self.retiring.clone() {
            // Assigned to this worker before the acceptor knew the new list.
            self.retire(to);
        }
        self.client_ready(
            id,
            Ready { source: Source::Client(id), read: true, write: false, hangup: false, broken: false },
        );
    }

    fn add_client(&mut self, mut client: Client) -> Id {
        let db = &mut self.upstream.dbs[client.db];
        client.topology_version = db.topology_version;
        db.identities[client.identity].clients += 1;
        let id = self.clients.insert(Box::new(client));
        let client = self.clients.get(id).expect("it was just inserted");
        if let Err(error) = self.upstream.io.poll.add(client.stream.fd(), Source::Client(id), client.interest)
        {
            eprintln!("worker: cannot poll a client connection: {error}");
            self.close_client(id);
        }
        id
    }
}
