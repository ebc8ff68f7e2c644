//! Selection of the next segment to compact, and reading its records.

use super::Log;
use super::place::{Place, live_in};
use super::record::parse;
use std::collections::HashSet;

/// Bytes that a walk along a segment reads at once.
const AHEAD: u64 = 4096;

/// A record found by a walk along a segment.
pub struct Walked {
    pub place: Place,
    pub database: u32,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

impl Log {
    /// Returns the closed segment with the fewest live bytes, if the files are larger than twice
    /// the live bytes.
    pub fn to_compact(&self, without: &HashSet<u32>) -> Option<u32> {
        let spare = 2 * self.segment_size;
        let full = self.needs_space();
        if self.file_bytes() <= 2 * self.live_bytes() + spare && !full {
            return None;
        }
        let most = if full { self.segment_size / 4 * 3 } else { self.segment_size };
        self.segments
            .keys()
            .filter(|number| Some(**number) != self.active && !without.contains(number))
            .min_by_key(|number| live_in(**number))
            .filter(|number| live_in(**number) <= most as i64)
            .copied()
    }

    /// Whether the offset is at or beyond the end of the segment.
    pub fn is_end(&self, number: u32, offset: u64) -> bool {
        self.segments.get(&number).is_none_or(|segment| offset >= segment.size)
    }

    /// Returns the record at an offset of a closed segment, and the offset of the next one. `None`:
    /// the end, or a damaged record.
    pub fn walk(&mut self, number: u32, offset: u64) -> Option<(Walked, u64)> {
        let size = self.segments.get(&number)?.size;
        if offset >= size {
            return None;
        }
        // For most records, this read includes the entire record.
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
