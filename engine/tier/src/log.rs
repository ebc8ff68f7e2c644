//! The log of cold values on flash: segments of fixed size, written in order, each record with a keyed checksum.
//!
//! It is a cache and starts empty with every process. What is written collects in memory and goes to the file in large
//! blocks; when the file cannot take it, it stays readable in memory and nothing more is accepted.

use crate::latency::Latency;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Records start at multiples of this.
pub const UNIT: u64 = 64;
const HEADER: usize = 48;
const MAGIC: u32 = 0x5349_4552;
const SEGMENTS: usize = 1 << 21;
/// Offsets within a segment have 20 bits of units.
pub const MAX_SEGMENT: u64 = UNIT << 20;
const BLOCK: usize = 256 * 1024;
/// Read at once by a walk along a segment.
const AHEAD: u64 = 4096;
/// Where only so many segments more can be written, even those that are mostly alive are compacted, and quicker.
pub const NEAR: u64 = 5;

/// Live bytes of each segment; changed by the server's background threads too, when they free values.
static LIVE: [AtomicI64; SEGMENTS] = [const { AtomicI64::new(0) }; SEGMENTS];

/// Where a record is, how long it is and what kind of value it holds; one word, kept in the key's value pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u64);

impl Place {
    pub fn new(kind: u8, segment: u32, offset: u64, length: u64) -> Self {
        Self(
            u64::from(kind) << 61
                | u64::from(segment) << 40
                | (offset / UNIT) << 20
                | (length.div_ceil(UNIT) & 0xf_ffff),
        )
    }
    pub fn from_word(word: u64) -> Self {
        Self(word)
    }
    pub fn word(self) -> u64 {
        self.0
    }
    pub fn kind(self) -> u8 {
        (self.0 >> 61) as u8
    }
    pub fn segment(self) -> u32 {
        (self.0 >> 40) as u32 & 0x1f_ffff
    }
    pub fn offset(self) -> u64 {
        (self.0 >> 20 & 0xf_ffff) * UNIT
    }
    /// With header and padding.
    pub fn length(self) -> u64 {
        (self.0 & 0xf_ffff) * UNIT
    }
    /// The record is needed no longer. Any thread may say so.
    pub fn release(self) {
        LIVE[self.segment() as usize].fetch_sub(self.length() as i64, Relaxed);
    }
}

struct Segment {
    file: Arc<File>,
    /// The same for reads past the page cache, where the file system knows that.
    direct: Arc<File>,
    path: PathBuf,
    size: u64,
}

/// What a record says, found by walking a segment.
pub struct Walked {
    pub place: Place,
    pub database: u32,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

#[derive(Debug)]
pub enum Fault {
    Io,
    Checksum,
    /// Nothing may be written to the append-only file now.
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
    /// The end of the active segment, not yet in its file.
    pending: Vec<u8>,
    pub state: State,
    pub counters: Counters,
}

impl Log {
    /// Takes the directory for this process and removes what an earlier one left.
    pub fn open(directory: &Path, segment_size: u64, limit: u64) -> Result<Self, String> {
        let told = |error: io::Error| format!("cannot use {}: {error}", directory.display());
        fs::create_dir_all(directory).map_err(told)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(directory.join("tier.lock"))
            .map_err(told)?;
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(format!("{} is in use by another server", directory.display()));
        }
        for entry in fs::read_dir(directory).map_err(told)? {
            let path = entry.map_err(told)?.path();
            if path.extension().is_some_and(|extension| extension == "segment") {
                fs::remove_file(path).map_err(told)?;
            }
        }
        let mut secret = [0u8; 16];
        File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut secret)).map_err(told)?;
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
            state: State::Ok,
            counters: Counters::default(),
        })
    }

    /// Whether a value of that many bytes can be a record.
    pub fn fits(&self, key: usize, value: usize) -> bool {
        ((HEADER + key + value) as u64).next_multiple_of(UNIT) <= self.longest()
    }

    /// Of a record; its length in units has 20 bits too.
    fn longest(&self) -> u64 {
        self.segment_size.min(MAX_SEGMENT - UNIT)
    }

    pub fn file_bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.size).sum()
    }

    pub fn live_bytes(&self) -> u64 {
        self.segments.keys().map(|&number| LIVE[number as usize].load(Relaxed).max(0) as u64).sum()
    }

    /// Writes a record; None when the log cannot take it now.
    pub fn append(&mut self, kind: u8, database: u32, key: &[u8], value: &[u8]) -> Option<Place> {
        self.write(kind, database, key, value, 2)
    }

    /// As `append`, into the one segment that demotion leaves free below the limit.
    pub fn append_moved(&mut self, kind: u8, database: u32, key: &[u8], value: &[u8]) -> Option<Place> {
        if self.state == State::Full && self.pending.is_empty() {
            self.state = State::Ok;
        }
        self.write(kind, database, key, value, 1)
    }

    fn write(&mut self, kind: u8, database: u32, key: &[u8], value: &[u8], spare: u64) -> Option<Place> {
        let length = ((HEADER + key.len() + value.len()) as u64).next_multiple_of(UNIT);
        if self.state != State::Ok || length > self.longest() {
            return None;
        }
        if self.pending.len() >= BLOCK {
            self.flush();
            if self.state != State::Ok {
                return None;
            }
        }
        if self.active.is_none_or(|number| self.segments[&number].size + length > self.segment_size) {
            self.start_segment(spare)?;
        }
        let number = self.active?;
        let segment = self.segments.get_mut(&number)?;
        let place = Place::new(kind, number, segment.size, length);
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(&MAGIC.to_le_bytes());
        header.extend_from_slice(&database.to_le_bytes());
        header.extend_from_slice(&(key.len() as u32).to_le_bytes());
        header.extend_from_slice(&(value.len() as u32).to_le_bytes());
        header.extend_from_slice(&place.word().to_le_bytes());
        header.extend_from_slice(&0u64.to_le_bytes());
        let sum = checksum(self.secret, &header, key, value);
        header.extend_from_slice(&sum);
        self.pending.extend_from_slice(&header);
        self.pending.extend_from_slice(key);
        self.pending.extend_from_slice(value);
        self.pending.resize(self.pending.len().next_multiple_of(UNIT as usize), 0);
        segment.size += length;
        LIVE[number as usize].fetch_add(length as i64, Relaxed);
        self.counters.writes += 1;
        Some(place)
    }

    /// Room for one more segment for demotion, which leaves another to compaction.
    pub fn at_limit(&self, spare: u64) -> bool {
        self.limit > 0 && self.file_bytes() + spare * self.segment_size > self.limit
    }

    /// As `at_limit`, once the segments in which nothing lives are gone: no timer removes them while a file is loaded.
    fn is_full(&mut self, spare: u64) -> bool {
        if self.at_limit(spare) {
            self.remove_empty();
        }
        self.at_limit(spare)
    }

    fn start_segment(&mut self, spare: u64) -> Option<()> {
        self.flush();
        if self.state != State::Ok {
            return None;
        }
        if self.is_full(spare) {
            self.state = State::Full;
            return None;
        }
        let mut number = self.next;
        while self.segments.contains_key(&number) || LIVE[number as usize].load(Relaxed) != 0 {
            number = (number + 1) % SEGMENTS as u32;
        }
        self.next = (number + 1) % SEGMENTS as u32;
        let path = self.directory.join(format!("{number}.segment"));
        match OpenOptions::new().create_new(true).read(true).write(true).open(&path) {
            Ok(file) => {
                let file = Arc::new(file);
                let direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path);
                let direct = direct.map_or_else(|_| file.clone(), Arc::new);
                self.segments.insert(number, Segment { file, direct, path, size: 0 });
                self.active = Some(number);
                Some(())
            }
            Err(error) => {
                self.fail(&error);
                None
            }
        }
    }

    fn fail(&mut self, error: &io::Error) {
        let full = matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG));
        self.state = if full { State::Full } else { State::Failing };
    }

    /// Writes what is pending; what cannot be written stays pending and readable.
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
                self.state = State::Ok;
            }
            Err(error) => self.fail(&error),
        }
    }

    /// Looks whether a log that refused can take values again.
    pub fn retry(&mut self) {
        if self.state == State::Ok {
            return;
        }
        if self.pending.is_empty() {
            self.state = if self.is_full(2) { State::Full } else { State::Ok };
        } else {
            self.flush();
        }
    }

    /// The value of a record; its key must be the one that the record was written for.
    pub fn read(&mut self, place: Place, key: &[u8]) -> Result<Vec<u8>, Fault> {
        let began = Instant::now();
        let record = self.bytes(place.segment(), place.offset(), place.length());
        let took = began.elapsed();
        self.check(place, key, record.as_deref().map_err(|_| ()), took).map(<[u8]>::to_vec)
    }

    /// As `read`, of a record that was read in so much time, or could not be.
    pub fn check<'a, E>(
        &mut self,
        place: Place,
        key: &[u8],
        record: Result<&'a [u8], E>,
        took: Duration,
    ) -> Result<&'a [u8], Fault> {
        self.counters.reads += 1;
        self.counters.read_bytes += place.length();
        self.counters.latency.add(took);
        let Ok(record) = record else {
            self.counters.read_errors += 1;
            return Err(Fault::Io);
        };
        match parse(self.secret, place, record) {
            Some((_, found, value)) if found == key => Ok(&record[value]),
            _ => {
                self.counters.checksum_errors += 1;
                Err(Fault::Checksum)
            }
        }
    }

    /// The file to read a record from; None where it is still in memory, or nowhere. The segment that is being written is in the page
    /// cache, the others are not to take memory there.
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
        let written = segment.size - if self.active == Some(number) { self.pending.len() as u64 } else { 0 };
        if offset >= written {
            let start = (offset - written) as usize;
            let end = start + length as usize;
            found.copy_from_slice(self.pending.get(start..end).ok_or_else(gone)?);
        } else {
            segment.file.read_exact_at(&mut found, offset)?;
        }
        Ok(found)
    }

    /// Removes segments in which nothing lives.
    pub fn remove_empty(&mut self) {
        let active = self.active;
        let dead = |number: &u32| Some(*number) != active && LIVE[*number as usize].load(Relaxed) <= 0;
        let numbers: Vec<u32> = self.segments.keys().copied().filter(dead).collect();
        for number in numbers {
            if let Some(segment) = self.segments.remove(&number) {
                let _ = fs::remove_file(&segment.path);
            }
        }
    }

    /// The closed segment with the least that lives, when the files are larger than twice what lives.
    pub fn to_compact(&self, without: &HashSet<u32>) -> Option<u32> {
        let spare = 2 * self.segment_size;
        let full = self.at_limit(NEAR);
        if self.file_bytes() <= 2 * self.live_bytes() + spare && !full {
            return None;
        }
        let most = if full { self.segment_size / 4 * 3 } else { self.segment_size };
        self.segments
            .keys()
            .filter(|number| Some(**number) != self.active && !without.contains(number))
            .min_by_key(|number| LIVE[**number as usize].load(Relaxed))
            .filter(|number| LIVE[**number as usize].load(Relaxed) <= most as i64)
            .copied()
    }

    /// Whether nothing of that segment is left from the offset on.
    pub fn is_end(&self, number: u32, offset: u64) -> bool {
        self.segments.get(&number).is_none_or(|segment| offset >= segment.size)
    }

    /// The record at an offset of a closed segment, and where the next begins; None at the end or where it is damaged.
    pub fn walk(&mut self, number: u32, offset: u64) -> Option<(Walked, u64)> {
        let size = self.segments.get(&number)?.size;
        if offset >= size {
            return None;
        }
        // Most records are read whole with their header.
        let mut record = self.bytes(number, offset, AHEAD.min(size - offset)).ok()?;
        let word = u64::from_le_bytes(record[16..24].try_into().ok()?);
        let place = Place::from_word(word);
        if place.segment() != number || place.offset() != offset || offset + place.length() > size {
            return None;
        }
        if place.length() > record.len() as u64 {
            record = self.bytes(number, offset, place.length()).ok()?;
        }
        let (database, key, value) = parse(self.secret, place, record.get(..place.length() as usize)?)?;
        let (key, value) = (key.to_vec(), record[value].to_vec());
        Some((Walked { place, database, key, value }, offset + place.length()))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        for segment in self.segments.values() {
            let _ = fs::remove_file(&segment.path);
        }
    }
}

fn checksum(secret: (u64, u64), header: &[u8], key: &[u8], value: &[u8]) -> [u8; 16] {
    let mut hasher = SipHasher13::new_with_keys(secret.0, secret.1);
    hasher.write(header);
    hasher.write(key);
    hasher.write(value);
    hasher.finish128().as_bytes()
}

/// Database, key and where the value is, of a record that is whole and in its place.
fn parse(secret: (u64, u64), place: Place, record: &[u8]) -> Option<(u32, &[u8], std::ops::Range<usize>)> {
    let word = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    if word(0)? != MAGIC || record.get(16..24)? != place.word().to_le_bytes() {
        return None;
    }
    let (database, key_length, value_length) = (word(4)?, word(8)? as usize, word(12)? as usize);
    let value_start = HEADER.checked_add(key_length)?;
    let value_end = value_start.checked_add(value_length)?;
    let key = record.get(HEADER..value_start)?;
    let value = record.get(value_start..value_end)?;
    (checksum(secret, &record[..32], key, value) == record[32..HEADER]).then_some((
        database,
        key,
        value_start..value_end,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &[u8], value: &[u8]) -> (PathBuf, Log, Place) {
        static COUNT: AtomicI64 = AtomicI64::new(0);
        let name = format!("tier-log-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        let mut log = Log::open(&path, 4096, 0).expect("a log");
        let place = log.append(1, 3, key, value).expect("a record");
        (path, log, place)
    }

    #[test]
    fn a_record_is_read_back_before_and_after_it_is_written() {
        let (path, mut log, place) = record(b"key", b"value");
        assert_eq!(log.read(place, b"key").expect("pending"), b"value");
        log.flush();
        assert_eq!(log.read(place, b"key").expect("written"), b"value");
        assert!(matches!(log.read(place, b"other"), Err(Fault::Checksum)));
        drop(log);
        fs::remove_dir_all(path).expect("removed");
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let (path, log, place) = record(b"key", b"value");
        let bytes = log.pending.clone();
        for bit in 0..(HEADER + 8) * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(log.secret, place, &flipped).is_none(), "bit {bit}");
        }
        for length in 0..HEADER + 8 {
            assert!(parse(log.secret, place, &bytes[..length]).is_none(), "length {length}");
        }
        drop(log);
        fs::remove_dir_all(path).expect("removed");
    }

    #[test]
    fn a_place_fits_a_word() {
        let place = Place::new(4, 0x1f_ffff, MAX_SEGMENT - UNIT, 65);
        let found = (place.kind(), place.segment(), place.offset(), place.length());
        assert_eq!(found, (4, 0x1f_ffff, MAX_SEGMENT - UNIT, 128));
    }

    #[test]
    fn the_longest_record_has_a_length_that_fits_a_word() {
        let path = std::env::temp_dir().join(format!("tier-log-{}-longest", std::process::id()));
        let mut log = Log::open(&path, MAX_SEGMENT, 0).expect("a log");
        let most = (MAX_SEGMENT - UNIT) as usize - HEADER;
        assert!(log.fits(3, most - 3));
        assert!(!log.fits(3, most - 2));
        assert!(log.append(1, 0, b"key", &vec![0; most - 2]).is_none());
        assert_eq!(Place::new(1, 0, 0, MAX_SEGMENT - UNIT).length(), MAX_SEGMENT - UNIT);
        drop(log);
        fs::remove_dir_all(path).expect("removed");
    }

    #[test]
    fn a_full_log_whose_records_were_released_takes_others_without_a_tick() {
        let path = std::env::temp_dir().join(format!("tier-log-{}-full", std::process::id()));
        let mut log = Log::open(&path, 4096, 4 * 4096).expect("a log");
        // Live bytes are counted for the process: numbers that no other test uses.
        log.next = 1000;
        let value = [0; 1000];
        let places: Vec<Place> = std::iter::from_fn(|| log.append(1, 0, b"key", &value)).collect();
        assert_eq!(log.state, State::Full);
        log.retry();
        assert_eq!(log.state, State::Full, "all of it lives");
        places.into_iter().for_each(Place::release);
        log.retry();
        assert!(log.append(1, 0, b"key", &value).is_some());
        drop(log);
        fs::remove_dir_all(path).expect("removed");
    }

    #[test]
    fn a_directory_has_one_owner() {
        let (path, log, _) = record(b"key", b"value");
        assert!(Log::open(&path, 4096, 0).is_err());
        drop(log);
        fs::remove_dir_all(path).expect("removed");
    }
}
