//! A thread that serves a share of the clients: it waits for sockets, handles requests, sends them
//! to shards and returns the replies. All its data belongs to this thread; other threads send
//! messages to it.
//!
//! bytes -> request (`flow/intake`) -> command (`requests/dispatch`) -> shard (`upstream/connect`)
//! -> reply (`flow/replies`) -> client (`flow/output`).

mod clients;
mod clock;
mod flow;
mod inbox;
mod io;

mod reports;
mod requests;
mod schedule;
#[cfg(test)]
mod simulation;
mod supervise;
pub(crate) mod types;
mod upstream;

use crate::arena::Id;
use crate::budget::Budget;
use crate::control::Database;
use crate::event::Event;
use crate::poll::{Poll, Ready, Source};
use crate::stats::Connections;
use crate::stream::Stream;
use clients::Clients;
use clients::client::Client;
use clock::Clock;
use inbox::Inbox;
use io::Io;
use reports::Reports;
use schedule::Schedule;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
pub use types::connection_count::ConnectionCount;
pub use types::message::{Counts, Handle, Message};
use upstream::Upstream;
use upstream::db::Db;

struct Worker {
    inbox: Inbox,
    clients: Clients,
    upstream: Upstream,
    schedule: Schedule,
    /// Buffer for data that is read.
    scratch: Vec<u8>,
}

const SCRATCH: usize = 256 * 1024;

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
    let inbox = Inbox { handle: handle.clone(), messages };
    let worker = Worker::new(Io::new(poll, Clock::new(Instant::now())), inbox, reports);
    let thread = std::thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || supervise::supervise(worker, Worker::run, Worker::replaced))?;
    Ok((handle, thread))
}

impl Worker {
    fn new(io: Io, inbox: Inbox, reports: Reports) -> Self {
        Self {
            inbox,
            clients: Clients::default(),
            upstream: Upstream::new(io, reports),
            schedule: Schedule::new(),
            scratch: vec![0; SCRATCH],
        }
    }

    fn run(&mut self) -> std::io::Result<()> {
        let mut ready = Vec::with_capacity(256);
        while !self.is_done() {
            let until_tick = self.schedule.until_tick(self.upstream.io.clock());
            self.round(&mut ready, until_tick)?;
        }
        self.send_counts();
        Ok(())
    }

    /// Waits for sockets for at most `patience`, then handles ready sockets and due work.
    fn round(&mut self, ready: &mut Vec<Ready>, patience: Duration) -> std::io::Result<()> {
        let more_first = !self.clients.deferred.is_empty()
            || !self.upstream.backends.dirty.is_empty()
            || !self.clients.yielded.is_empty();
        let timeout = if more_first { Duration::ZERO } else { patience };
        self.upstream.io.poll.wait(ready, timeout)?;
        self.upstream.io.clock();
        self.clients.resume.append(&mut self.clients.yielded);
        for event in ready.iter() {
            self.react(*event);
        }
        while let Some(db) = self.upstream.dbs.recovered.pop() {
            self.retry_parked(db);
        }
        self.settle();
        self.flush_deferred(ready.is_empty());
        if self.schedule.sends_gathered(ready.is_empty()) {
            self.flush_backends();
        }
        if self.schedule.is_tick_due(self.upstream.io.now) {
            self.tick();
            self.settle();
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.schedule.is_done(self.upstream.io.now, !self.clients.arena.is_empty())
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
            self.clients.resume.append(&mut self.upstream.backends.uncongested);
            if self.clients.resume.is_empty() && self.clients.dirty.is_empty() {
                return;
            }
            while let Some(id) = self.clients.resume.pop() {
                self.resume_client(id);
            }
            self.flush_clients();
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
        while let Some(message) = self.inbox.next() {
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
        self.schedule.drain(until);
        self.finish_if_due();
    }

    fn finish_if_due(&mut self) {
        if self.schedule.closes_idle(self.upstream.io.now) {
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
        if let Some(to) = self.schedule.retiring.clone() {
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
        let id = self.clients.arena.insert(Box::new(client));
        let client = self.clients.arena.get(id).expect("it was just inserted");
        if let Err(error) = self.upstream.io.poll.add(client.stream.fd(), Source::Client(id), client.interest)
        {
            eprintln!("worker: cannot poll a client connection: {error}");
            self.close_client(id);
        }
        id
    }
}
