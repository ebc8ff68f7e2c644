//! Replaces a worker that has failed. Its clients are disconnected and must reconnect.

use crate::poll::Poll;
use crate::worker::io::Io;
use crate::worker::supervise::Supervised;
use crate::worker::{Shared, TICK, Worker};
use std::io;

impl Supervised for Worker {
    fn describe(&self) -> String {
        format!(
            "worker {} (clients disconnected, counters since the last report lost)",
            self.upstream.reports.number
        )
    }
}

impl Worker {
    /// Creates a worker that serves the same databases without clients. Of the state of the failed
    /// worker, it keeps only plain values: the applied databases, and the reported outages, so that
    /// their end is reported as well.
    pub fn replaced(mut self) -> io::Result<Self> {
        let poll = Poll::with_waker(self.upstream.io.poll.waker())?;
        // A late reply for a closed client must not find another client.
        self.clients.clear();
        self.upstream.backends.arena.clear();
        let shared = Shared { handle: self.handle, messages: self.messages, reports: self.upstream.reports };
        let mut fresh = Self::new(Io::new(poll, self.upstream.io.clock), shared);
        fresh.clients = self.clients;
        fresh.upstream.backends.arena = self.upstream.backends.arena;
        fresh.draining = self.draining;
        fresh.retiring = self.retiring;
        let now = fresh.upstream.io.clock();
        fresh.next_tick = now + TICK;
        for mut old in self.upstream.dbs.into_served() {
            fresh.upstream.reports.report_memory(&old.connections.memory, -old.reported_memory);
            if old.leaving {
                continue;
            }
            let uid = old.config.uid;
            fresh.apply(old.config, old.connections);
            if let Some(db) = fresh.upstream.dbs.find(uid) {
                fresh.upstream.dbs[db].outages.append(&mut old.outages);
            }
        }
        // The failed worker may have been woken for messages that it has not handled.
        fresh.handle.waker.wake();
        Ok(fresh)
    }
}
