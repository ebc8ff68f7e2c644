//! Records that values in RAM have left on flash. A value that goes back to flash unchanged needs no new one.
//!
//! Nobody tells what has changed, so nothing can be forgotten to be told: the value that goes decides, by the keyed checksum that its
//! record would have there. To the log such records are dead. It may remove their segments at any time, and then the value is written anew.

use super::place::Place;
use rustc_hash::FxHasher;
use std::hash::Hasher;

const LEAST_PLACES: usize = 1 << 10;
const MOST_PLACES: usize = 1 << 18;
/// Values in RAM for each place: only those that were on flash before may have one, and those that are used most never leave.
const VALUES: u64 = 4;

/// A record, and its checksum.
pub type Left = (Place, [u8; 16]);

/// The latest ones by a hash of the key; one place for each, which the next key with the same place takes.
pub struct Clean {
    left: Box<[Option<Left>]>,
}

impl Clean {
    pub fn new() -> Self {
        Self { left: vec![None; LEAST_PLACES].into_boxed_slice() }
    }

    /// With the number of values in RAM, now and then.
    pub fn fit(&mut self, values: u64) {
        let wanted = ((values / VALUES) as usize).next_power_of_two().clamp(LEAST_PLACES, MOST_PLACES);
        if wanted > self.left.len() || wanted * 4 < self.left.len() {
            self.left = vec![None; wanted].into_boxed_slice();
        }
    }

    /// Places are about to mean other records.
    pub fn clear(&mut self) {
        self.left.fill(None);
    }

    /// The memory that this takes, which the server does not count.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.left)
    }

    pub fn add(&mut self, database: u32, key: &[u8], left: Left) {
        *self.place(database, key) = Some(left);
    }

    /// What may be the record of that key, or of another.
    pub fn take(&mut self, database: u32, key: &[u8]) -> Option<Left> {
        self.place(database, key).take()
    }

    fn place(&mut self, database: u32, key: &[u8]) -> &mut Option<Left> {
        let mut hasher = FxHasher::default();
        hasher.write_u32(database);
        hasher.write(key);
        let at = hasher.finish() as usize & (self.left.len() - 1);
        &mut self.left[at]
    }
}
