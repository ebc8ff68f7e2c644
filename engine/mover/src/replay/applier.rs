//! One target: a thread that sends commands in batches, so that they are executed in their order.

use super::Options;
use crate::connection::Connection;
use crate::error::{Code, Error, Result};
use crate::restore::{self, Erasure, Rejection, TargetOptions};
use resp::RequestParser;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle, sleep};
use std::time::Instant;

const BATCH_BYTES: usize = 128 * 1024;
const BATCHES: usize = 4;

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// End of each command.
    ends: Vec<usize>,
}

enum Task {
    Commands(Batch),
    /// Deletes the keys to which the changes belong.
    Erase,
}

pub struct Applier {
    pub is_cluster: bool,
    batch: Batch,
    sender: SyncSender<Task>,
}

impl Applier {
    /// Connects to the shard. The thread ends when the applier is dropped.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        target: &TargetOptions,
        options: &Options,
        password: &str,
    ) -> Result<(Self, ScopedJoinHandle<'scope, Result<()>>)> {
        let mut connection = restore::import_mode::open(&target.socket, &options.user, password)?;
        let info = connection.command(&[b"INFO", b"cluster"])?;
        let is_cluster = String::from_utf8_lossy(&info).contains("cluster_enabled:1");
        let slots = target.slot_set()?.intersection(&options.slots);
        let erasure = Erasure { slots, patterns: options.patterns.clone() };
        let (sender, receiver) = sync_channel(BATCHES);
        let thread = scope.spawn(move || Writer { connection, erasure }.run(&receiver));
        Ok((Self { is_cluster, batch: Batch::default(), sender }, thread))
    }

    /// Adds a command, which `write` appends.
    #[inline]
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        write(&mut self.batch.bytes);
        self.batch.ends.push(self.batch.bytes.len());
        if self.batch.bytes.len() >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    pub fn erase(&mut self) -> Result<()> {
        self.flush()?;
        self.send(Task::Erase)
    }

    pub fn flush(&mut self) -> Result<()> {
        if self.batch.ends.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.send(Task::Commands(batch))
    }

    fn send(&mut self, task: Task) -> Result<()> {
        self.sender.send(task).map_err(|_| Error::unavailable("the connection to a shard was lost"))
    }
}

struct Writer {
    connection: Connection,
    erasure: Erasure,
}

impl Writer {
    fn run(mut self, tasks: &Receiver<Task>) -> Result<()> {
        for task in tasks {
            match task {
                Task::Commands(batch) => self.execute(&batch)?,
                Task::Erase => self.erasure.run(&mut self.connection)?,
            }
        }
        Ok(())
    }

    /// Sends the commands. Commands that the shard cannot execute now are repeated, unless it executed a
    /// later one: then the restore must start again.
    fn execute(&mut self, batch: &Batch) -> Result<()> {
        let started = Instant::now();
        let mut done = 0;
        loop {
            let start = if done == 0 { 0 } else { batch.ends[done - 1] };
            self.connection.send(&batch.bytes[start..])?;
            let mut failed: Option<(usize, String)> = None;
            let mut is_out_of_order = false;
            self.connection.replies(batch.ends.len() - done, |number, reply| {
                match (reply.strip_prefix(b"-"), &failed) {
                    (Some(error), None) => {
                        let text = String::from_utf8_lossy(error).trim_end().to_owned();
                        failed = Some((done + number, text));
                    }
                    (None, Some(_)) => is_out_of_order = true,
                    _ => {}
                }
            })?;
            let Some((number, text)) = failed else { return Ok(()) };
            let rejection = Rejection::of(&text);
            let name = || command_name(batch, number);
            let limit = match rejection {
                Rejection::Full | Rejection::Retry if is_out_of_order => None,
                Rejection::Full => Some(restore::MAX_FULL),
                Rejection::Retry => Some(restore::MAX_RETRY),
                Rejection::Unavailable => None,
                Rejection::Failed => {
                    let reason = restore::reason(&text);
                    return Err(Error::general(format!("replaying {} failed: {reason}", name())));
                }
            };
            if limit.is_none_or(|limit| started.elapsed() >= limit) {
                return Err(match rejection {
                    Rejection::Full => {
                        Error::new(Code::OutOfMemory, "the shard has reached its memory limit")
                    }
                    _ => Error::unavailable(format!("the shard rejected {}: {text}", name())),
                });
            }
            sleep(restore::RETRY_INTERVAL);
            done = number;
        }
    }
}

fn command_name(batch: &Batch, number: usize) -> String {
    let start = if number == 0 { 0 } else { batch.ends[number - 1] };
    let command = &batch.bytes[start..batch.ends[number]];
    let mut parser = RequestParser::default();
    let _ = parser.parse(command, &crate::changes::LIMITS);
    let name = parser.args(command).get(0).unwrap_or_default();
    String::from_utf8_lossy(name).to_ascii_uppercase()
}
