//! One shard: a thread that sends commands in batches and handles the replies.

use crate::connection::Connection;
use crate::error::{Code, Error, Result};
use crate::restore::rejection::{MAX_FULL, MAX_RETRY, RETRY_INTERVAL, Rejection, reason};
use crate::restore::{Erasure, Options, TargetOptions, import_mode};
use crate::slots::SlotSet;
use crate::statistics::SlotTotals;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle, sleep};
use std::time::Instant;

const BATCH_BYTES: usize = 256 * 1024;
/// Batches that wait for the thread.
const BATCHES: usize = 2;
/// Larger batches do not wait: there is at most one of them in memory.
const LARGE_BATCH: usize = 4 * BATCH_BYTES;
/// Reasons of unsupported keys that are counted apart.
const MAX_REASONS: usize = 20;

/// What a successful command means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A key was written.
    Key {
        slot: u16,
        digest: u64,
    },
    /// A part of a key was written. The commands of the key are sent one after the other, and the
    /// last one has the effect `Key`.
    Piece,
    Function,
}

struct Command {
    effect: Effect,
    end: usize,
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    commands: Vec<Command>,
    /// Belongs to a key that is written by several commands.
    is_piece: bool,
    /// Is dropped when the batch was executed.
    executed: Option<SyncSender<()>>,
}

impl Batch {
    fn command(&self, n: usize) -> &[u8] {
        let start = if n == 0 { 0 } else { self.commands[n - 1].end };
        &self.bytes[start..self.commands[n].end]
    }

    /// Keeps only these commands.
    fn retain(&mut self, numbers: &[usize]) {
        let mut kept = Self { is_piece: self.is_piece, executed: self.executed.take(), ..Self::default() };
        for &n in numbers {
            kept.bytes.extend_from_slice(self.command(n));
            kept.commands.push(Command { effect: self.commands[n].effect, end: kept.bytes.len() });
        }
        *self = kept;
    }
}

#[derive(Debug, Default)]
pub struct TargetResult {
    pub slots: SlotTotals,
    pub expired: u64,
    pub unsupported: BTreeMap<String, u64>,
}

impl TargetResult {
    pub fn merge(&mut self, other: Self) {
        self.slots.merge(&other.slots);
        self.expired += other.expired;
        for (reason, keys) in other.unsupported {
            *self.unsupported.entry(reason).or_default() += keys;
        }
    }
}

pub struct Target {
    pub slots: SlotSet,
    pub has_flash_module: bool,
    batch: Batch,
    sender: SyncSender<Batch>,
}

impl Target {
    /// Connects to the shard. The thread ends when the target is dropped.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        target: &TargetOptions,
        options: &Options,
        password: &str,
    ) -> Result<(Self, ScopedJoinHandle<'scope, Result<TargetResult>>)> {
        let slots = target.slot_set()?;
        let mut connection = if options.before_changes {
            let mut connection = import_mode::open(&target.socket, &options.user, password)?;
            let erased = slots.clone().intersection(&options.slots);
            Erasure { slots: erased, patterns: options.patterns.clone() }.run(&mut connection)?;
            connection
        } else {
            Connection::open(&target.socket, &options.user, password)?
        };
        let modules = connection.command(&[b"INFO", b"modules"])?;
        let has_flash_module = String::from_utf8_lossy(&modules).contains("module:name=tier,");
        let (sender, receiver) = sync_channel(BATCHES);
        let writer = Writer { connection, result: TargetResult::default(), is_abandoned: false };
        let target = Self { slots, has_flash_module, batch: Batch::default(), sender };
        Ok((target, scope.spawn(move || writer.run(&receiver))))
    }

    /// Adds a command, which `write` appends.
    pub fn push(&mut self, effect: Effect, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        write(&mut self.batch.bytes);
        self.batch.commands.push(Command { effect, end: self.batch.bytes.len() });
        if self.batch.bytes.len() >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Sends a command after all previous ones have succeeded.
    pub fn single(&mut self, args: &[&[u8]], effect: Effect) -> Result<()> {
        self.flush()?;
        self.push(effect, |out| resp::encode::command(out, args.iter().copied()))?;
        self.flush()
    }

    /// Sends commands of a key after all previous ones have succeeded. They are in `out`, which
    /// ends at the given positions.
    pub fn piece(&mut self, bytes: Vec<u8>, ends: &[usize], effect: Effect) -> Result<()> {
        self.flush()?;
        let commands = ends.iter().map(|&end| Command { effect, end }).collect();
        self.batch = Batch { bytes, commands, is_piece: true, executed: None };
        self.flush()
    }

    pub fn flush(&mut self) -> Result<()> {
        if self.batch.commands.is_empty() {
            return Ok(());
        }
        let mut batch = std::mem::take(&mut self.batch);
        let mut wait = None;
        if batch.bytes.len() > LARGE_BATCH {
            let (executed, end) = sync_channel(0);
            batch.executed = Some(executed);
            wait = Some(end);
        }
        self.sender.send(batch).map_err(|_| Error::unavailable("the connection to a shard was lost"))?;
        if let Some(end) = wait {
            // Nothing is ever sent: this returns when the other end is dropped.
            let _ = end.recv();
        }
        Ok(())
    }
}

/// How the shard replied to a command.
enum Outcome {
    Done,
    /// The shard cannot execute the command now.
    Retry(String),
    Full,
    Unsupported(String),
    Expired,
    Failed(Error),
}

impl Outcome {
    fn of(reply: &[u8]) -> Self {
        let Some(error) = reply.strip_prefix(b"-") else { return Self::Done };
        let text = String::from_utf8_lossy(error).trim_end().to_owned();
        match Rejection::of(&text) {
            Rejection::Retry => Self::Retry(text),
            Rejection::Full => Self::Full,
            Rejection::Unavailable => {
                Self::Failed(Error::unavailable(format!("the shard rejected a command: {text}")))
            }
            Rejection::Failed if text == "ERR no such key" => Self::Expired,
            Rejection::Failed => Self::Unsupported(reason(&text)),
        }
    }
}

struct Writer {
    connection: Connection,
    result: TargetResult,
    /// A command of the current key failed, so the following ones are left out.
    is_abandoned: bool,
}

impl Writer {
    fn run(mut self, batches: &Receiver<Batch>) -> Result<TargetResult> {
        for batch in batches {
            if self.is_abandoned && batch.is_piece {
                self.is_abandoned = batch.commands.iter().all(|command| command.effect == Effect::Piece);
                continue;
            }
            self.is_abandoned = false;
            self.execute(batch)?;
        }
        Ok(self.result)
    }

    /// Sends the commands until none must be repeated. A full shard fails if it frees no memory.
    fn execute(&mut self, mut batch: Batch) -> Result<()> {
        let start = Instant::now();
        let mut full_since = None;
        loop {
            self.connection.send(&batch.bytes)?;
            let mut outcomes = Vec::with_capacity(batch.commands.len());
            self.connection.replies(batch.commands.len(), |_, reply| outcomes.push(Outcome::of(reply)))?;
            let mut repeated = Vec::new();
            let mut error = String::new();
            let mut is_full = false;
            let sent = batch.commands.len();
            for (n, outcome) in outcomes.into_iter().enumerate() {
                match outcome {
                    Outcome::Retry(text) => {
                        repeated.push(n);
                        error = text;
                    }
                    Outcome::Full => {
                        repeated.push(n);
                        is_full = true;
                    }
                    _ => self.count(outcome, batch.commands[n].effect)?,
                }
            }
            if repeated.is_empty() {
                return Ok(());
            }
            if is_full {
                let since = full_since.filter(|_| repeated.len() == sent);
                if since.is_some_and(|since: Instant| since.elapsed() >= MAX_FULL) {
                    return Err(Error::new(Code::OutOfMemory, "the shard has reached its memory limit"));
                }
                full_since = since.or_else(|| Some(Instant::now()));
            } else if start.elapsed() >= MAX_RETRY {
                let seconds = MAX_RETRY.as_secs();
                return Err(Error::unavailable(format!(
                    "the shard rejected commands for {seconds} s: {error}"
                )));
            }
            sleep(RETRY_INTERVAL);
            batch.retain(&repeated);
        }
    }

    fn count(&mut self, outcome: Outcome, effect: Effect) -> Result<()> {
        match (outcome, effect) {
            (Outcome::Failed(error), _) => return Err(error),
            (Outcome::Done, Effect::Key { slot, digest }) => self.result.slots.add(slot, 1, digest),
            (Outcome::Expired, Effect::Key { .. }) => self.result.expired += 1,
            (Outcome::Unsupported(reason), _) => {
                if !self.is_abandoned {
                    self.unsupported(reason);
                }
                self.is_abandoned = effect == Effect::Piece;
            }
            _ => {}
        }
        Ok(())
    }

    fn unsupported(&mut self, reason: String) {
        let reasons = &mut self.result.unsupported;
        let is_known = reasons.contains_key(&reason) || reasons.len() < MAX_REASONS;
        *reasons.entry(if is_known { reason } else { "other".into() }).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_selected_commands_are_repeated() {
        let mut batch = Batch::default();
        for text in ["a", "bb", "ccc"] {
            batch.bytes.extend_from_slice(text.as_bytes());
            batch.commands.push(Command { effect: Effect::Piece, end: batch.bytes.len() });
        }
        batch.retain(&[0, 2]);
        assert_eq!(batch.bytes, b"accc");
        assert_eq!((batch.command(0), batch.command(1)), (&b"a"[..], &b"ccc"[..]));
    }
}
