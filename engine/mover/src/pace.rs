//! Limits the rate at which snapshots are read.
//!
//! All movers of a node share a file with the state of one rate (`--pace-file`), which follows the
//! CPU time that clients leave: latencies of a database rise long before a machine is fully used.
//! Data is read in small pieces with pauses between them. Each piece lets the engine's fork and the
//! compression run for a fraction of a millisecond only, so that a process that serves clients
//! finds a free CPU soon.

mod processors;
mod rate;

use crate::error::{Error, Result};
use processors::Processors;
use rate::{Rate, Usage};
use rustix::fs::{FlockOperation, flock};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How fast to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether the rate follows the use of the CPUs.
    pub is_gentle: bool,
    /// Path of the file that movers of the node share. `None`: the rate does not depend on others.
    pub file: Option<PathBuf>,
    pub max_bytes_per_second: Option<u64>,
}

/// A reader with a limited rate.
pub struct Paced<R> {
    source: R,
    /// `None`: unlimited.
    pace: Option<Pace>,
}

impl<R> Paced<R> {
    pub fn new(source: R, options: &Options) -> Result<Self> {
        let rate = match (options.is_gentle, options.max_bytes_per_second) {
            (true, limit) => Rate::adaptive(limit),
            (false, Some(limit)) => Rate::fixed(limit),
            (false, None) => return Ok(Self { source, pace: None }),
        };
        let file = options.file.as_deref().map(open).transpose()?;
        Ok(Self { source, pace: Some(Pace { rate, processors: Processors::open()?, file }) })
    }
}

impl<R: Read> Read for Paced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(pace) = &mut self.pace else { return self.source.read(buffer) };
        let some = buffer.len().min(pace.rate.piece());
        let read = self.source.read(&mut buffer[..some])?;
        let wait = pace.take(read).map_err(|error| {
            std::io::Error::other(Error::general(format!("--pace-file: the file cannot be used: {error}")))
        })?;
        std::thread::sleep(wait);
        Ok(read)
    }
}

struct Pace {
    rate: Rate,
    processors: Processors,
    file: Option<File>,
}

impl Pace {
    /// Returns how long to wait after a number of bytes.
    fn take(&mut self, bytes: usize) -> std::io::Result<Duration> {
        let Some(file) = &self.file else {
            return Ok(self.rate.take(bytes as u64, now(), || self.processors.usage()));
        };
        // The kernel releases the lock of a killed process.
        flock(file, FlockOperation::LockExclusive)?;
        let mut state = [0; rate::STATE_BYTES];
        let known = file.read_at(&mut state, 0)?;
        self.rate.load(&state[..known]);
        let wait = self.rate.take(bytes as u64, now(), || self.processors.usage());
        file.write_all_at(&self.rate.state(), 0)?;
        flock(file, FlockOperation::Unlock)?;
        Ok(wait)
    }
}

fn open(path: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    file.map_err(|error| Error::general(format!("--pace-file: {} cannot be opened: {error}", path.display())))
}

/// Nanoseconds of a clock that all processes share.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
