//! Replaces a worker that fails, in the same thread and with the same number: other threads keep
//! their handles, and clients of other workers are not affected. Its own clients are disconnected
//! and must reconnect.

use net::panic;
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// If a worker fails this often within this time, it would probably continue to fail. The process
/// aborts, and the agent starts a new one.
const FAILURES: usize = 5;
const WITHIN: Duration = Duration::from_secs(10);

/// Information that the supervisor needs about a worker.
pub trait Supervised: Sized {
    /// Returns the name of the worker and the consequences of its failure, for the log.
    fn describe(&self) -> String;
}

/// Runs a worker and its replacements until one of them is done.
pub fn supervise<W: Supervised>(
    mut worker: W,
    run: impl Fn(&mut W) -> io::Result<()>,
    replace: impl Fn(W) -> io::Result<W>,
) {
    let mut failures = Failures::default();
    loop {
        let reason = match panic::catch(|| run(&mut worker)) {
            Some(Ok(())) => return,
            Some(Err(error)) => error.to_string(),
            None => "it panicked".into(),
        };
        eprintln!("{} failed: {reason}", worker.describe());
        if failures.are_too_many(Instant::now()) {
            eprintln!("{FAILURES} failures within {} s: aborting the process", WITHIN.as_secs());
            std::process::abort();
        }
        worker = replace(worker).unwrap_or_else(|error| {
            eprintln!("the worker cannot be replaced: {error}: aborting the process");
            std::process::abort();
        });
    }
}

/// Failure times of one worker, oldest first.
#[derive(Debug, Default)]
struct Failures(VecDeque<Instant>);

impl Failures {
    /// Records a failure. Returns whether there were too many.
    fn are_too_many(&mut self, now: Instant) -> bool {
        self.0.push_back(now);
        self.0.retain(|&at| now.duration_since(at) < WITHIN);
        self.0.len() >= FAILURES
    }
}

#[cfg(test)]
mod tests;
