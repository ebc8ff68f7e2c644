//! A worker that fails is replaced, in its thread and under its number: other threads go on sending to the same place, and other
//! workers' clients notice nothing. Its own clients are disconnected, and come back.

use super::{Shared, Worker};
use crate::poll::Poll;
use net::panic;
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// A worker that fails as often within that time would go on failing: the process ends, and the agent starts another.
const FAILURES: usize = 5;
const WITHIN: Duration = Duration::from_secs(10);

/// What a worker has to be told of by its supervisor.
pub(super) trait Supervised: Sized {
    /// For standard error: which one it is, and what its failure costs.
    fn describe(&self) -> String;
}

/// Runs a worker, and whoever replaces it, until one of them is done.
pub(super) fn supervise<W: Supervised>(
    mut worker: W,
    run: impl Fn(&mut W) -> io::Result<()>,
    replace: impl Fn(W) -> io::Result<W>,
) {
    let mut failures = Failures::default();
    loop {
        let reason = match panic::survive(|| run(&mut worker)) {
            Some(Ok(())) => return,
            Some(Err(error)) => error.to_string(),
            None => "it panicked".into(),
        };
        eprintln!("{} has failed: {reason}", worker.describe());
        if failures.are_too_many(Instant::now()) {
            eprintln!("{FAILURES} failures within {} s: the process ends", WITHIN.as_secs());
            std::process::abort();
        }
        worker = replace(worker).unwrap_or_else(|error| {
            eprintln!("it cannot be replaced: {error}: the process ends");
            std::process::abort();
        });
    }
}

/// When one worker failed, oldest first.
#[derive(Debug, Default)]
struct Failures(VecDeque<Instant>);

impl Failures {
    /// It has failed again.
    fn are_too_many(&mut self, now: Instant) -> bool {
        self.0.push_back(now);
        self.0.retain(|&at| now.duration_since(at) < WITHIN);
        self.0.len() >= FAILURES
    }
}

impl Supervised for Worker {
    fn describe(&self) -> String {
        format!(
            "worker {}, whose clients are disconnected, and whose counts since they were asked for last are lost,",
            self.number
        )
    }
}

impl Worker {
    /// One that serves the same databases for nobody yet. Of what the failed one knew only plain values go on: what it was told to
    /// serve, and which shards it has told to be away, so that their return is told as well.
    pub(super) fn replaced(mut self) -> io::Result<Self> {
        let poll = Poll::woken_by(self.poll.waker())?;
        // An answer that is still on its way to a client that is gone must find nobody.
        self.clients.clear();
        self.backends.clear();
        let shared = Shared {
            handle: self.handle,
            messages: self.messages,
            events: self.events,
            counts: self.counts,
            budget: self.budget,
            number: self.number,
        };
        let mut fresh = Self::new(poll, shared, self.clock);
        fresh.clients = self.clients;
        fresh.backends = self.backends;
        fresh.draining = self.draining;
        fresh.retiring = self.retiring;
        let now = fresh.clock();
        fresh.next_tick = now + super::TICK;
        for mut old in self.dbs.into_iter().filter(|db| !db.is_free) {
            fresh.budget.take(&old.connections.memory, -old.told_weight);
            if old.leaving {
                continue;
            }
            let uid = old.config.uid;
            fresh.apply(old.config, old.connections);
            if let Some(db) = fresh.db_of(uid) {
                fresh.dbs[db].outages.append(&mut old.outages);
            }
        }
        // The failed one may have been woken for messages that it did not get to.
        fresh.handle.waker.wake();
        Ok(fresh)
    }
}

#[cfg(test)]
mod tests;
