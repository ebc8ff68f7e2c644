//! Records of values in RAM that are still on flash. A value that is demoted unchanged needs no new
//! record.
//!
//! Changes are not tracked, so none can be missed: when a value is demoted, the keyed checksum that
//! its record would have at that place decides. The log considers such records dead and may remove
//! their segments at any time. The value is then written again.

use super::place::Place;
use rustc_hash::FxHasher;
use std::hash::Hasher;

const LEAST_PLACES: usize = 1 << 10;
const MOST_PLACES: usize = 1 << 18;
/// Values in RAM per entry: only values that were on flash can have one, and frequently used values
/// are never demoted.
const VALUES: u64 = 4;

/// A record and its checksum.
pub type RememberedRecord = (Place, [u8; 16]);

/// The latest records, indexed by a hash of the key. A key replaces the previous key with the same
/// index.
pub struct RememberedRecords {
    left: Box<[Option<RememberedRecord>]>,
}

impl RememberedRecords {
    pub fn new() -> Self {
        Self { left: vec![None; LEAST_PLACES].into_boxed_slice() }
    }

    /// Adapts the size. Called at intervals with the number of values in RAM.
    pub fn resize(&mut self, values: u64) {
        let size = ((values / VALUES) as usize).next_power_of_two().clamp(LEAST_PLACES, MOST_PLACES);
        if size > self.left.len() || size * 4 < self.left.len() {
            self.left = vec![None; size].into_boxed_slice();
        }
    }

    /// Removes all entries, because places are about to be reused.
    pub fn clear(&mut self) {
        self.left.fill(None);
    }

    /// Returns the memory in bytes, which the server does not count.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.left)
    }

    pub fn add(&mut self, database: u32, key: &[u8], left: RememberedRecord) {
        *self.place(database, key) = Some(left);
    }

    /// Removes and returns the entry, which may belong to this key or to another.
    pub fn take(&mut self, database: u32, key: &[u8]) -> Option<RememberedRecord> {
        self.place(database, key).take()
    }

    fn place(&mut self, database: u32, key: &[u8]) -> &mut Option<RememberedRecord> {
        let mut hasher = FxHasher::default();
        hasher.write_u32(database);
        hasher.write(key);
        let at = hasher.finish() as usize & (self.left.len() - 1);
        &mut self.left[at]
    }
}
