//! Places of records, and the live bytes of each segment.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Records start at multiples of this.
pub const UNIT: u64 = 64;
pub const SEGMENTS: usize = 1 << 21;
/// Offsets within a segment have 20 bits of units.
pub const MAX_SEGMENT: u64 = UNIT << 20;

/// Live bytes of each segment. Also changed by background threads of the server when they free
/// values.
static LIVE: [AtomicI64; SEGMENTS] = [const { AtomicI64::new(0) }; SEGMENTS];

/// Position, length and kind of a record in one word, which is stored in the key's value pointer.
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
    /// Returns the length with header and padding.
    pub fn length(self) -> u64 {
        (self.0 & 0xf_ffff) * UNIT
    }
    /// Counts a record that was written at this place.
    pub(super) fn occupy(self) {
        LIVE[self.segment() as usize].fetch_add(self.length() as i64, Relaxed);
    }
    /// Releases a record that is no longer needed. May be called by any thread.
    pub fn release(self) {
        LIVE[self.segment() as usize].fetch_sub(self.length() as i64, Relaxed);
    }
}

/// Returns the number of live bytes in a segment.
pub(super) fn live_in(segment: u32) -> i64 {
    LIVE[segment as usize].load(Relaxed)
}
