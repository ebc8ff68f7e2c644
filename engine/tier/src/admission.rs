//! Decides which values on flash are promoted when they are read: those that are read again most
//! often, up to a limit per second.
//!
//! Each promotion demotes another value, which may be nearly as useful, and both cost time. In
//! measurements, promoting every value that was read halved the throughput at a hit ratio of 85 %,
//! and ten thousand promotions per second cost an eighth of it at 95 %. Values that are needed in
//! RAM, for a write or by a script, are not subject to this.

use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// Minimum number of reads to remember. If there are more values in RAM, as many as these.
const LEAST_PLACES: usize = 1 << 14;
const MOST_PLACES: usize = 1 << 22;
/// Promotions per tick of 10 ms. They cost a few hundredths of a CPU.
const EACH_TICK: u32 = 30;
/// Reads of a value before it is promoted. More if more values qualify than the limit allows.
const LEAST_READS: u32 = 2;
/// Bits of an entry that count reads. The others are bits of the key's hash.
const COUNT: u32 = 0xff;

/// The latest reads, indexed by a hash of the key. A key replaces the previous key with the same
/// index.
pub struct Admission {
    seen: Box<[u32]>,
    /// Reads that are currently required for a promotion.
    reads: u32,
    /// Number of values that qualified in this tick.
    due: u32,
}

impl Admission {
    pub fn new() -> Self {
        Self { seen: vec![0; LEAST_PLACES].into_boxed_slice(), reads: LEAST_READS, due: EACH_TICK }
    }

    /// Called every 10 ms with the number of values in RAM.
    pub fn tick(&mut self, values: u64) {
        if self.due > EACH_TICK {
            self.reads = (self.reads + 1).min(COUNT);
        } else if self.due < EACH_TICK / 2 {
            self.reads = (self.reads - 1).max(LEAST_READS);
        }
        self.due = 0;
        let size = (values as usize).next_power_of_two().clamp(LEAST_PLACES, MOST_PLACES);
        if size > self.seen.len() || size * 4 < self.seen.len() {
            self.seen = vec![0; size].into_boxed_slice();
        }
    }

    /// Whether the value that is being read is promoted.
    pub fn admits(&mut self, database: u32, key: &[u8]) -> bool {
        if self.read(database, key) < self.reads {
            return false;
        }
        self.due += 1;
        self.due <= EACH_TICK
    }

    /// Counts a read. Returns the number of recent reads, including this one.
    fn read(&mut self, database: u32, key: &[u8]) -> u32 {
        let mut hasher = SipHasher13::new();
        hasher.write_u32(database);
        hasher.write(key);
        let hash = hasher.finish();
        let tag = (hash >> 32) as u32 & !COUNT;
        let place = hash as usize % self.seen.len();
        let place = &mut self.seen[place];
        let before = if *place & !COUNT == tag { *place & COUNT } else { 0 };
        let count = (before + 1).min(COUNT);
        *place = tag | count;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_counted_per_database() {
        let mut admission = Admission::new();
        assert_eq!([0, 1, 0, 0].map(|database| admission.read(database, b"a")), [1, 1, 2, 3]);
        assert_eq!(admission.read(0, b"b"), 1);
        (0..1000).for_each(|_| _ = admission.read(0, b"b"));
        assert_eq!(admission.read(0, b"b"), COUNT);
    }

    #[test]
    fn the_second_read_promotes_if_few_values_qualify() {
        let mut admission = Admission::new();
        admission.tick(0);
        assert!(!admission.admits(0, b"a"));
        assert!(admission.admits(0, b"a"));
    }

    #[test]
    fn promotions_per_tick_are_limited_to_the_values_read_most() {
        let mut admission = Admission::new();
        let (mut often, mut seldom) = (0, 0);
        for round in 0..400u64 {
            admission.tick(0);
            let before = often + seldom;
            for key in 0..200u64 {
                // Like a value that is demoted after its promotion: its read rate is unchanged.
                often += u32::from(key < 60 && admission.admits(0, &key.to_le_bytes()));
                let is_its_turn = (round + key) % 10 == 0;
                seldom += u32::from(key >= 60 && is_its_turn && admission.admits(0, &key.to_le_bytes()));
            }
            assert!(often + seldom <= before + EACH_TICK);
        }
        assert!(often > 100 * seldom.max(1), "{often} {seldom}");
    }

    #[test]
    fn reads_are_remembered_longer_with_more_values_in_ram() {
        let remembers = |values, others: u32| {
            let mut admission = Admission::new();
            admission.tick(values);
            admission.read(0, b"old");
            for number in 0..others {
                admission.read(0, &number.to_le_bytes());
            }
            admission.read(0, b"old") > 1
        };
        assert!(!remembers(0, 20 * LEAST_PLACES as u32));
        assert!(remembers(100 * LEAST_PLACES as u64, LEAST_PLACES as u32));
    }
}
