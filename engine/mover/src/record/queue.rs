//! Complete files that wait to be stored: in memory, and beyond its limit in files of the working
//! directory.

use crate::changes::{Finished, Position};
use crate::error::{Error, Result};
use crate::lines::Progress;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where the content of a file waits.
#[derive(Clone)]
pub enum Body {
    Memory(Arc<Vec<u8>>),
    Spooled(PathBuf),
}

/// A file that waits.
#[derive(Clone)]
pub struct Waiting {
    /// Without its bytes.
    pub file: Finished,
    pub body: Body,
    pub length: u64,
    /// Where the next file starts.
    next: Position,
}

/// What is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stored {
    /// The end of the last file. `None`: the recording has not started.
    pub position: Option<Position>,
    /// All changes before this time (Unix time in ms) are stored.
    pub until: i64,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    memory: u64,
    spooled: u64,
    files: u64,
    /// Offset of what was received.
    received: u64,
    stored: Stored,
    is_closed: bool,
}

pub struct Queue {
    memory_bytes: u64,
    spool_bytes: u64,
    progress: Arc<Progress>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    pub fn new(memory_bytes: u64, spool_bytes: u64, progress: Arc<Progress>) -> Self {
        Self { memory_bytes, spool_bytes, progress, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Sets the position at which the recording starts. Ignored if it has started.
    pub fn start(&self, position: &Position, until: i64) {
        let mut state = self.lock();
        if state.stored.position.is_none() {
            state.stored = Stored { position: Some(position.clone()), until };
        }
        self.publish(&state, 0);
    }

    /// The position has another replication id now.
    pub fn renamed(&self, position: &Position) {
        let mut state = self.lock();
        match state.waiting.back_mut() {
            Some(last) => last.next = position.clone(),
            None => state.stored.position = Some(position.clone()),
        }
    }

    pub fn push(&self, mut file: Finished, next: &Position) -> Result<()> {
        let bytes = std::mem::take(&mut file.bytes);
        let length = bytes.len() as u64;
        let mut state = self.lock();
        state.files += 1;
        let body = if state.memory + length <= self.memory_bytes {
            state.memory += length;
            Body::Memory(Arc::new(bytes))
        } else {
            let path = PathBuf::from(format!("changes-{}.spool", state.files));
            std::fs::write(&path, bytes)
                .map_err(|error| Error::general(format!("{} cannot be written: {error}", path.display())))?;
            state.spooled += length;
            Body::Spooled(path)
        };
        state.waiting.push_back(Waiting { file, body, length, next: next.clone() });
        self.publish(&state, 0);
        self.changed.notify_all();
        Ok(())
    }

    /// Returns the first file as soon as there is one. `None`: there will be no other.
    pub fn first(&self) -> Option<Waiting> {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.is_closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.front().cloned()
    }

    /// Removes the first file, which is stored.
    pub fn remove_first(&self) {
        let mut state = self.lock();
        let Some(Waiting { file, body, length, next }) = state.waiting.pop_front() else { return };
        match body {
            Body::Memory(_) => state.memory -= length,
            Body::Spooled(path) => {
                // The directory is deleted with the transfer.
                let _ = std::fs::remove_file(path);
                state.spooled -= length;
            }
        }
        state.stored = Stored { position: Some(next), until: state.stored.until.max(file.until) };
        self.publish(&state, 0);
        self.changed.notify_all();
    }

    /// Reports the end and the size of the file that is being written. `nothing_since`: it contains no
    /// change, and the shard sent something at this time.
    pub fn report(&self, received: u64, writing: u64, nothing_since: Option<i64>) {
        let mut state = self.lock();
        state.received = received;
        if let Some(time) = nothing_since.filter(|_| state.waiting.is_empty()) {
            state.stored.until = state.stored.until.max(time);
        }
        self.publish(&state, writing);
    }

    pub fn is_full(&self) -> bool {
        let state = self.lock();
        state.spooled > 0 && state.spooled >= self.spool_bytes
    }

    pub fn wait(&self, time: Duration) {
        let _ = self.changed.wait_timeout(self.lock(), time);
    }

    /// No other file will follow.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    pub fn stored(&self) -> Stored {
        self.lock().stored.clone()
    }

    fn publish(&self, state: &State, writing: u64) {
        let Some(position) = &state.stored.position else { return };
        let mut more = self.progress.more.lock().unwrap_or_else(PoisonError::into_inner);
        more.insert("replication_id".into(), position.replication_id.clone().into());
        more.insert("offset".into(), position.offset.into());
        more.insert("received".into(), state.received.into());
        more.insert("recorded_until".into(), state.stored.until.into());
        more.insert("waiting_bytes".into(), (state.memory + state.spooled + writing).into());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(offset: u64) -> Position {
        Position { replication_id: "a".repeat(40), offset }
    }

    fn file(start: u64, end: u64) -> Finished {
        Finished { start: position(start), end, since: start as i64, until: end as i64, bytes: vec![1; 100] }
    }

    #[test]
    fn only_what_is_stored_counts() {
        let queue = Queue::new(1000, 1000, Arc::default());
        queue.start(&position(10), 10);
        queue.push(file(10, 20), &position(20)).unwrap();
        queue.push(file(20, 30), &position(30)).unwrap();
        queue.report(30, 0, Some(99));
        assert_eq!(queue.stored(), Stored { position: Some(position(10)), until: 10 });
        assert_eq!(queue.first().unwrap().file.end, 20);
        queue.remove_first();
        assert_eq!(queue.stored(), Stored { position: Some(position(20)), until: 20 });
        queue.remove_first();
        queue.report(30, 0, Some(99));
        assert_eq!(queue.stored(), Stored { position: Some(position(30)), until: 99 });
        queue.close();
        assert!(queue.first().is_none());
    }

    #[test]
    fn a_new_id_is_the_position_after_the_last_file() {
        let queue = Queue::new(1000, 1000, Arc::default());
        let renamed = Position { replication_id: "b".repeat(40), offset: 20 };
        queue.start(&position(10), 10);
        queue.push(file(10, 20), &position(20)).unwrap();
        queue.renamed(&renamed);
        assert_eq!(queue.stored().position, Some(position(10)));
        queue.remove_first();
        assert_eq!(queue.stored().position, Some(renamed));
    }
}
