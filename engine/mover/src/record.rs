//! Records the changes of a shard: follows its replication stream as a replica would, and passes files
//! with the changes to the process that stores them.
//!
//! The stream is read by one thread, which never waits for the storage (`queue`). A second thread writes
//! files when they are requested (`outlet`).

mod link;
mod outlet;
mod position;
mod queue;
mod stream;

use crate::changes::{FileWriter, Position};
use crate::clock::now_ms;
use crate::connection::Connection;
use crate::error::{Code, Error, Result};
use crate::lines::Progress;
use link::{Access, Answer};
use outlet::Control;
use queue::Queue;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stream::Stream;

const CHUNK: usize = 256 * 1024;
/// How long one read waits.
const POLL: Duration = Duration::from_millis(100);
const ACK_INTERVAL: Duration = Duration::from_secs(1);
/// The offset is always 0: clients that wait for replicas must not count a recorder as one.
const ACK: &[u8] = b"*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$1\r\n0\r\n";
/// A primary sends something every 10 s, and its replicas pass it on.
const SILENCE: Duration = Duration::from_secs(60);
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// Files end early when they have this size.
const FILE_BYTES: usize = 16 * 1024 * 1024;
/// Files without changes are written so many times less often.
const IDLE_FACTOR: u32 = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub socket: PathBuf,
    pub user: String,
    /// Where to continue. `None`: at the present position.
    pub position: Option<Position>,
    pub segment_seconds: u64,
    /// Limits of what waits to be stored.
    pub memory_bytes: u64,
    pub spool_bytes: u64,
    /// How long the shard is contacted again before another copy is needed.
    pub retry_seconds: u64,
}

/// Why a recording ended.
struct End {
    reason: &'static str,
    details: String,
}

impl End {
    fn new(reason: &'static str, details: impl Into<String>) -> Self {
        Self { reason, details: details.into() }
    }
}

pub fn run(
    options: &Options,
    password: &str,
    requests: File,
    output: File,
    progress: &Arc<Progress>,
) -> Result<Map<String, Value>> {
    let queue = Arc::new(Queue::new(options.memory_bytes, options.spool_bytes, Arc::clone(progress)));
    if let Some(position) = &options.position {
        queue.start(position, 0);
    }
    let control = Arc::new(Control::default());
    let outlet = outlet::start(requests, output, Arc::clone(&queue), Arc::clone(&control));
    let access = Access { socket: &options.socket, user: &options.user, password };
    let ended = Recorder::new(options, access, &queue, &control).run();
    queue.close();
    // Files that are complete are stored even after an error.
    outlet.join().map_err(|_| Error::general("the thread that writes ended with a panic"))?;
    let End { reason, details } = ended?;
    let stored = queue.stored();
    let position = stored.position.ok_or_else(|| Error::unavailable(details.clone()))?;
    let fields = json!({
        "replication_id": position.replication_id,
        "offset": position.offset,
        "recorded_until": stored.until,
        "reason": reason,
        "details": details,
    });
    let Value::Object(fields) = fields else { unreachable!("it is an object") };
    Ok(fields)
}

struct Recorder<'a> {
    access: Access<'a>,
    queue: &'a Queue,
    control: &'a Control,
    segment_time: Duration,
    patience: Duration,
    /// Where to continue without a file.
    position: Option<Position>,
    /// The file that is being written, and when it was started.
    file: Option<(FileWriter, Instant)>,
    /// Up to this offset, the changes are older than the connection.
    catching_up: u64,
    /// When something was received last (Unix time in ms).
    received: i64,
}

impl<'a> Recorder<'a> {
    fn new(options: &Options, access: Access<'a>, queue: &'a Queue, control: &'a Control) -> Self {
        Self {
            access,
            queue,
            control,
            segment_time: Duration::from_secs(options.segment_seconds),
            patience: Duration::from_secs(options.retry_seconds),
            position: options.position.clone(),
            file: None,
            catching_up: 0,
            received: 0,
        }
    }

    /// Records until it is stopped or cannot continue. Everything that was received is then in the queue.
    fn run(mut self) -> Result<End> {
        let mut failing: Option<Instant> = None;
        loop {
            let error = match self.follow(&mut failing) {
                Ok(Some(end)) => {
                    self.complete_file(None)?;
                    return Ok(end);
                }
                // Nothing was received while there was no space.
                Ok(None) => continue,
                Err(error) if error.code == Code::ShardUnavailable => error,
                Err(error) => return Err(error),
            };
            let since = *failing.get_or_insert_with(Instant::now);
            if since.elapsed() >= self.patience {
                self.complete_file(None)?;
                return Ok(End::new("copy-lost", error.message));
            }
            std::thread::sleep(RETRY_INTERVAL);
            if self.control.is_stopped() {
                self.complete_file(None)?;
                return Ok(End::new("stopped", ""));
            }
        }
    }

    /// Follows the shard through one connection. `None`: to be continued with another one.
    fn follow(&mut self, failing: &mut Option<Instant>) -> Result<Option<End>> {
        let position = match &self.file {
            Some((file, _)) => {
                Some(Position { replication_id: file.start.replication_id.clone(), offset: file.end })
            }
            None => self.position.clone(),
        };
        let mut connection = match self.access.follow(position.as_ref())? {
            Answer::Lost(details) => return Ok(Some(End::new("stream-lost", details))),
            Answer::Continues { connection, position: continued, end } => {
                *failing = None;
                self.begin(position, continued, end)?;
                connection
            }
        };
        connection.set_read_timeout(POLL)?;
        let mut stream = Stream::default();
        let mut buffer = vec![0; CHUNK];
        let mut received = Instant::now();
        let mut acknowledged: Option<Instant> = None;
        loop {
            if self.control.is_stopped() {
                return Ok(Some(End::new("stopped", "")));
            }
            if acknowledged.is_none_or(|at| at.elapsed() >= ACK_INTERVAL) {
                acknowledged = Some(Instant::now());
                connection.send(ACK)?;
            }
            match connection.read_available(&mut buffer)? {
                Some(count) => {
                    received = Instant::now();
                    stream.extend(&buffer[..count])?;
                    self.store(&mut stream)?;
                }
                None if received.elapsed() >= SILENCE => {
                    let seconds = SILENCE.as_secs();
                    return Err(Error::unavailable(format!("the shard sent nothing for {seconds} seconds")));
                }
                None => {}
            }
            if stream.moves_slots() {
                return Ok(Some(End::new("stream-lost", "slots are moved to or from the shard")));
            }
            self.complete_if_due(stream.pending() > 0)?;
            if self.queue.is_full() {
                return self.wait_for_space(connection);
            }
        }
    }

    /// Starts a file at the position, unless it continues the previous one.
    fn begin(&mut self, asked: Option<Position>, position: Position, end: u64) -> Result<()> {
        let now = now_ms();
        self.catching_up = end;
        if asked.as_ref() == Some(&position) && self.file.is_some() {
            return Ok(());
        }
        if self.file.is_some() {
            return self.complete_file(Some(&position.replication_id));
        }
        let is_present = end <= position.offset;
        self.queue.start(&position, if is_present { now } else { 0 });
        self.file = Some((FileWriter::new(position, now)?, Instant::now()));
        Ok(())
    }

    fn store(&mut self, stream: &mut Stream) -> Result<()> {
        self.received = now_ms();
        let complete = stream.complete();
        if let (Some((file, _)), false) = (&mut self.file, complete.commands.is_empty()) {
            file.has_changes |= complete.has_changes;
            file.write(complete.commands, self.received)?;
            stream.take();
        }
        Ok(())
    }

    /// Ends the file after its time, or if it is large, and reports how much is stored.
    fn complete_if_due(&mut self, has_pending: bool) -> Result<()> {
        let Some((file, started)) = &self.file else { return Ok(()) };
        let age = started.elapsed();
        let is_due = if file.has_changes {
            age >= self.segment_time || file.size() >= FILE_BYTES
        } else {
            age >= self.segment_time * IDLE_FACTOR && !file.is_empty()
        };
        if is_due {
            return self.complete_file(None);
        }
        let has_nothing = !file.has_changes && !has_pending && file.end >= self.catching_up;
        self.queue.report(file.end, file.size() as u64, has_nothing.then_some(self.received));
        Ok(())
    }

    /// Ends the file, and starts the next one. `id`: the replication id has changed to this.
    fn complete_file(&mut self, id: Option<&str>) -> Result<()> {
        let Some((file, _)) = self.file.take() else { return Ok(()) };
        let id = id.unwrap_or(&file.start.replication_id).to_owned();
        let next = Position { replication_id: id, offset: file.end };
        if file.is_empty() {
            self.queue.renamed(&next);
        } else {
            self.queue.push(file.finish()?, &next)?;
        }
        self.file = Some((FileWriter::new(next, now_ms())?, Instant::now()));
        Ok(())
    }

    /// Disconnects, so that the shard does not have to keep what cannot be received, until files were
    /// stored. Afterwards, its backlog may contain what is missing.
    fn wait_for_space(&mut self, connection: Connection) -> Result<Option<End>> {
        drop(connection);
        while self.queue.is_full() {
            if self.control.is_stopped() {
                return Ok(Some(End::new("stopped", "")));
            }
            self.queue.wait(POLL);
        }
        Ok(None)
    }
}
