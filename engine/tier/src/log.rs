//! The log of cold values on flash: segments of fixed size, written sequentially, each record with
//! a keyed checksum.
//!
//! The log is a cache and starts empty with every process. Records are collected in memory and
//! written to the file in large blocks. If the file cannot be written, they remain readable in
//! memory, and further records are rejected.

mod child;
mod clean;
mod compaction;
mod place;
mod record;
mod segment;
mod space;
#[cfg(test)]
mod tests;

pub use place::Place;

use crate::latency::Latency;
use child::Maps;
use clean::RememberedRecords;
use place::{MAX_SEGMENT, UNIT, live_in};
use record::{compose, parse, sum};
use segment::{OWNER_ONLY, Segment};
use space::{COMPACTION, DEMOTION};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const BLOCK: usize = 256 * 1024;

#[derive(Debug)]
pub enum ReadError {
    Io,
    Checksum,
    /// The append-only file must not be written now.
    Paused,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Ok,
    Full,
    Failing,
}

#[derive(Default)]
pub struct Counters {
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub reads: u64,
    pub writes: u64,
    pub read_errors: u64,
    pub checksum_errors: u64,
    pub latency: Latency,
}

pub struct Log {
    directory: PathBuf,
    _lock: File,
    secret: (u64, u64),
    pub segment_size: u64,
    pub limit: u64,
    segments: BTreeMap<u32, Segment>,
    active: Option<u32>,
    next: u32,
    /// Data at the end of the active segment that has not been written to its file yet.
    pending: Vec<u8>,
    /// Result of the last file access, not counting a lack of space for another segment.
    writing: State,
    /// Whether demotion has no segment to write to, because the limit is reached or the disk is
    /// full.
    has_no_room: bool,
    tried: Instant,
    /// Reserved disk space that only compaction uses.
    reserve: Option<Segment>,
    /// Whether the active segment is the one that was reserved for compaction.
    is_last: bool,
    pub counters: Counters,
    pub clean: RememberedRecords,
    /// Empty except in a forked child.
    maps: Maps,
}

impl Log {
    /// Locks the directory for this process and removes files of an earlier one.
    pub fn open(directory: &Path, segment_size: u64, limit: u64) -> Result<Self, String> {
        let failure = |error: io::Error| format!("cannot use {}: {error}", directory.display());
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failure)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(OWNER_ONLY)
            .custom_flags(libc::O_NOFOLLOW)
            .open(directory.join("tier.lock"))
            .map_err(failure)?;
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(format!("{} is in use by another server", directory.display()));
        }
        for entry in fs::read_dir(directory).map_err(failure)? {
            let path = entry.map_err(failure)?.path();
            if path.extension().is_some_and(|extension| extension == "segment") {
                fs::remove_file(path).map_err(failure)?;
            }
        }
        let mut secret = [0u8; 16];
        child::watch();
        File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut secret)).map_err(failure)?;
        let half = |at: usize| u64::from_le_bytes(secret[at..at + 8].try_into().expect("eight bytes"));
        Ok(Self {
            directory: directory.to_owned(),
            _lock: lock,
            secret: (half(0), half(8)),
            segment_size: segment_size.clamp(4 * UNIT, MAX_SEGMENT) / UNIT * UNIT,
            limit,
            segments: BTreeMap::new(),
            active: None,
            next: 0,
            pending: Vec::new(),
            writing: State::Ok,
            has_no_room: false,
            tried: Instant::now(),
            reserve: None,
            is_last: false,
            counters: Counters::default(),
            clean: RememberedRecords::new(),
            maps: Maps::default(),
        })
    }

    /// Returns whether the log accepts values, or the reason why not.
    pub fn state(&self) -> State {
        if self.writing == State::Ok && self.has_no_room { State::Full } else { self.writing }
    }

    /// Whether a key and value of these lengths fit into a record.
    pub fn fits(&self, key: usize, value: usize) -> bool {
        record::length(key, value) <= self.longest()
    }

    /// Returns the maximum length of a record. Its length in units has 20 bits as well.
    fn longest(&self) -> u64 {
        self.segment_size.min(MAX_SEGMENT - UNIT)
    }

    pub fn file_bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.size).sum()
    }

    pub fn live_bytes(&self) -> u64 {
        self.segments.keys().map(|&number| live_in(number).max(0) as u64).sum()
    }

    /// Writes a record. Returns `None` if the log cannot accept it now.
    pub fn append(&mut self, kind: u8, database: u32, key: &[u8], value: &[u8]) -> Option<Place> {
        if self.has_no_room {
            return None;
        }
        self.write(kind, database, key, value, DEMOTION)
    }

    /// Remembers the record of a promoted value, which is reused if the value is demoted unchanged.
    pub fn remember_record(&mut self, place: Place, database: u32, key: &[u8], value: &[u8]) {
        self.clean.add(database, key, (place, sum(self.secret, place, database, key, value)));
    }

    /// Returns the remembered record of a value if it is unchanged. Nothing is written.
    pub fn reuse_record(&mut self, kind: u8, database: u32, key: &[u8], value: &[u8]) -> Option<Place> {
        let (place, left) = self.clean.take(database, key)?;
        let is_there = place.kind() == kind
            && place.length() == record::length(key.len(), value.len())
            && self.segments.contains_key(&place.segment());
        if !is_there || sum(self.secret, place, database, key, value) != left {
            return None;
        }
        place.occupy();
        Some(place)
    }

    /// Does the same as `append`, but may use the segment that demotion leaves free.
    pub fn append_moved(&mut self, kind: u8, database: u32, key: &[u8], value: &[u8]) -> Option<Place> {
        self.write(kind, database, key, value, COMPACTION)
    }

    fn write(&mut self, kind: u8, database: u32, key: &[u8], value: &[u8], spare: u64) -> Option<Place> {
        let length = record::length(key.len(), value.len());
        if self.writing != State::Ok || length > self.longest() {
            return None;
        }
        if self.pending.len() >= BLOCK {
            self.flush();
            if self.writing != State::Ok {
                return None;
            }
        }
        let is_kept = self.is_last && spare > COMPACTION;
        if is_kept
            || self.active.is_none_or(|number| self.segments[&number].size + length > self.segment_size)
        {
            self.start_segment(spare)?;
        }
        let number = self.active?;
        let segment = self.segments.get_mut(&number)?;
        let place = Place::new(kind, number, segment.size, length);
        compose(self.secret, place, database, key, value, &mut self.pending);
        segment.size += length;
        place.occupy();
        self.counters.writes += 1;
        Some(place)
    }

    /// Writes pending data. Data that cannot be written stays pending and readable.
    pub fn flush(&mut self) {
        let Some(segment) = self.active.and_then(|number| self.segments.get(&number)) else { return };
        if self.pending.is_empty() {
            return;
        }
        match segment.file.write_all_at(&self.pending, segment.size - self.pending.len() as u64) {
            Ok(()) => {
                self.counters.write_bytes += self.pending.len() as u64;
                self.pending.clear();
                self.pending.shrink_to(2 * BLOCK);
                self.writing = State::Ok;
            }
            Err(error) => self.writing = if segment::is_full(&error) { State::Full } else { State::Failing },
        }
    }

    /// Returns the value of a record, which must have been written for this key.
    pub fn read(&mut self, place: Place, key: &[u8]) -> Result<Vec<u8>, ReadError> {
        let began = Instant::now();
        if let Some(record) = self.mapped(place) {
            return self.check(place, key, Ok::<_, ()>(record), began.elapsed()).map(<[u8]>::to_vec);
        }
        let record = self.bytes(place.segment(), place.offset(), place.length());
        let took = began.elapsed();
        self.check(place, key, record.as_deref().map_err(|_| ()), took).map(<[u8]>::to_vec)
    }

    fn mapped(&mut self, place: Place) -> Option<&'static [u8]> {
        if !child::is_child() {
            return None;
        }
        let segment = self.segments.get(&place.segment())?;
        self.maps.record(&segment.file, self.written(place.segment())?, place)
    }

    /// Returns the number of bytes of a segment that are in its file.
    fn written(&self, number: u32) -> Option<u64> {
        let pending = if self.active == Some(number) { self.pending.len() as u64 } else { 0 };
        Some(self.segments.get(&number)?.size - pending)
    }

    /// Checks a record that was read in `took`, or could not be read, and counts it.
    pub fn check<'a, E>(
        &mut self,
        place: Place,
        key: &[u8],
        record: Result<&'a [u8], E>,
        took: Duration,
    ) -> Result<&'a [u8], ReadError> {
        self.counters.reads += 1;
        self.counters.read_bytes += place.length();
        self.counters.latency.add(took);
        let Ok(record) = record else {
            self.counters.read_errors += 1;
            return Err(ReadError::Io);
        };
        match parse(self.secret, place, record) {
            Some((_, found, value)) if found == key => Ok(&record[value]),
            _ => {
                self.counters.checksum_errors += 1;
                Err(ReadError::Checksum)
            }
        }
    }

    /// Returns the file from which to read a record, or `None` if the record is in memory or does
    /// not exist. The active segment is read through the page cache. The others are read directly,
    /// so that they use no memory there.
    pub fn file_of(&self, place: Place) -> Option<Arc<File>> {
        let segment = self.segments.get(&place.segment())?;
        if self.active != Some(place.segment()) {
            return Some(segment.direct.clone());
        }
        (place.offset() < segment.size - self.pending.len() as u64).then(|| segment.file.clone())
    }

    fn bytes(&self, number: u32, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let gone = || io::Error::new(io::ErrorKind::NotFound, "no such segment");
        let segment = self.segments.get(&number).ok_or_else(gone)?;
        let mut found = vec![0; length as usize];
        let written = self.written(number).ok_or_else(gone)?;
        if offset >= written {
            let start = (offset - written) as usize;
            let end = start + length as usize;
            found.copy_from_slice(self.pending.get(start..end).ok_or_else(gone)?);
        } else {
            segment.file.read_exact_at(&mut found, offset)?;
        }
        Ok(found)
    }

    /// Removes segments without live records.
    pub fn remove_empty(&mut self) {
        let active = self.active;
        let dead = |number: &u32| Some(*number) != active && live_in(*number) <= 0;
        let numbers: Vec<u32> = self.segments.keys().copied().filter(dead).collect();
        for number in numbers {
            if let Some(segment) = self.segments.remove(&number) {
                segment.remove();
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.segments.values().chain(&self.reserve).for_each(Segment::remove);
    }
}
