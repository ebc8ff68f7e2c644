//! Space for the next segment, below the limit and on the disk. The last segment is reserved for
//! compaction, because live records must be moved before the file of a segment can be removed.

use super::place::{SEGMENTS, live_in};
use super::segment::{self, Segment};
use super::{Log, State};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// If only this many segments can still be written, compaction also handles segments with few dead
/// records, and runs faster.
const NEAR: u64 = 5;

/// Number of segments that must be free below the limit, including the one to be written.
pub const DEMOTION: u64 = 2;
pub const COMPACTION: u64 = 1;
const RETRY: Duration = Duration::from_millis(10);

impl Log {
    /// Whether fewer than `spare` segments fit below the limit.
    pub fn at_limit(&self, spare: u64) -> bool {
        self.limit > 0 && self.file_bytes() + spare * self.segment_size > self.limit
    }

    /// Whether compaction must free space quickly, even if it gains little.
    pub fn needs_space(&self) -> bool {
        self.has_no_room || self.at_limit(NEAR)
    }

    /// Does the same as `at_limit` after removing segments without live records, because no timer
    /// removes them while a file is loaded.
    fn is_full(&mut self, spare: u64) -> bool {
        if self.at_limit(spare) {
            self.remove_empty();
        }
        self.at_limit(spare)
    }

    pub(super) fn start_segment(&mut self, spare: u64) -> Option<()> {
        self.flush();
        if self.writing != State::Ok {
            return None;
        }
        let is_demotion = spare > COMPACTION;
        if self.is_full(spare) {
            self.has_no_room |= is_demotion;
            return None;
        }
        let number = self.unused_number();
        let path = self.directory.join(format!("{number}.segment"));
        let is_last = !is_demotion && self.at_limit(DEMOTION);
        let made = if is_demotion { self.make_segment(path) } else { self.make_last_segment(path) };
        match made {
            Ok((segment, is_reserve)) => {
                if let Some(closed) = self.active.and_then(|number| self.segments.get(&number)) {
                    closed.close();
                }
                if number < self.next {
                    self.clean.clear(); // segment numbers start again, so places are reused
                }
                self.next = number + 1;
                self.segments.insert(number, segment);
                self.active = Some(number);
                self.is_last = is_last || is_reserve;
                self.has_no_room &= !is_demotion;
                Some(())
            }
            Err(error) if segment::is_full(&error) => {
                self.has_no_room |= is_demotion;
                None
            }
            Err(_) => {
                self.writing = State::Failing;
                None
            }
        }
    }

    /// Creates a segment for demotion. First reserves space for another one, which compaction may
    /// need.
    fn make_segment(&mut self, path: PathBuf) -> io::Result<(Segment, bool)> {
        if self.reserve.is_none() {
            self.reserve = Some(Segment::create(self.directory.join("reserve.segment"), self.segment_size)?);
        }
        Ok((Segment::create(path, self.segment_size)?, false))
    }

    /// Creates a segment for compaction, from the reserve if the disk has no other space.
    fn make_last_segment(&mut self, path: PathBuf) -> io::Result<(Segment, bool)> {
        match Segment::create(path.clone(), self.segment_size) {
            Err(error) if segment::is_full(&error) => {
                let reserve = self.reserve.take().ok_or(error)?;
                Ok((reserve.renamed(path)?, true))
            }
            made => Ok((made?, false)),
        }
    }

    fn unused_number(&self) -> u32 {
        let mut number = self.next % SEGMENTS as u32;
        while self.segments.contains_key(&number) || live_in(number) != 0 {
            number = (number + 1) % SEGMENTS as u32;
        }
        number
    }

    /// Calls `retry`, but not more often than once per tick. For callers that handle many values.
    pub fn retry_rate_limited(&mut self) {
        if self.tried.elapsed() >= RETRY {
            self.retry();
        }
    }

    /// Checks whether a log that refused values can accept them again.
    pub fn retry(&mut self) {
        if self.state() == State::Ok {
            return;
        }
        self.tried = Instant::now();
        if self.writing == State::Ok || self.pending.is_empty() {
            self.writing = State::Ok;
            self.start_segment(DEMOTION);
        } else {
            self.flush();
        }
    }
}
