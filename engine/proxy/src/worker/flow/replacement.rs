//! Replaces a worker that has failed. Its clients are disconnected and must reconnect.

use crate::poll::Poll;
use crate::worker::io::Io;
use crate::worker::supervise::Supervised;
use crate::worker::{Shared, TICK, Worker};
use std::io;

impl Supervised for Worker {
    fn describe(&self) -> String {
        format!("worker {} (clients disconnected, counters since the last report lost)", self.reports.number)
    }
}

impl Worker {
    /// Creates a worker that serves the same databases without clients. Of the state of the failed
    /// worker, it keeps only plain values: the applied databases, and the reported outages, so that
    /// their end is reported as well.
    pub fn replaced(mut self) -> io::Result<Self> {
        let poll = Poll::with_waker(self.io.poll.waker())?;
        // A late reply for a closed client must not find another client.
        self.clients.clear();
        self.backends.arena.clear();
        let shared = Shared { handle: self.handle, messages: self.messages, reports: self.reports };
        let mut fresh = Self::new(Io::new(poll, self.io.clock), shared);
        fresh.clients = self.clients;
        fresh.backends.arena = self.backends.arena;
        fresh.draining = self.draining;
        fresh.retiring = self.retiring;
        let now = fresh.io.clock();
        fresh.next_tick = now + TICK;
        for mut old in self.dbs.into_iter().filter(|db| !db.is_free) {
            fresh.reports.report_memory(&old.connections.memory, -old.reported_memory);
            if old.leaving {
                continue;
            }
            let uid = old.config.uid;
            fresh.apply(old.config, old.connections);
            if let Some(db) = fresh.db_of(uid) {
                fresh.dbs[db].outages.append(&mut old.outages);
            }
        }
        // The failed worker may have been woken for messages that it has not handled.
        fresh.handle.waker.wake();
        Ok(fresh)
    }
}
