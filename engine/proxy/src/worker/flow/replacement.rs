//! Replaces a worker that has failed. Its clients are disconnected and must reconnect.

use crate::poll::Poll;
use crate::worker::Worker;
use crate::worker::io::Io;
use crate::worker::supervise::Supervised;
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
    pub fn replaced(self) -> io::Result<Self> {
        let poll = Poll::with_waker(self.upstream.io.poll.waker())?;
        let mut fresh = Self::new(Io::new(poll, self.upstream.io.clock), self.inbox, self.upstream.reports);
        // A late reply for a closed client must not find another client.
        fresh.clients.arena = self.clients.arena;
        fresh.clients.arena.clear();
        fresh.upstream.backends.arena = self.upstream.backends.arena;
        fresh.upstream.backends.arena.clear();
        fresh.schedule = self.schedule.replaced(fresh.upstream.io.clock());
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
        fresh.inbox.handle.waker.wake();
        Ok(fresh)
    }
}
