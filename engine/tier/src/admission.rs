//! Which values on flash come back to RAM when they are read: those that are read again soon, so many a second.
//!
//! Whatever comes back throws out another, which may be as good, and both cost time: bringing back each value that is read took half
//! of the throughput at a hit ratio of 85 %. Values that are needed in RAM, for a write or by a script, do not come here.

use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// The least number of reads to remember; as many as there are values in RAM, if these are more.
const LEAST_PLACES: usize = 1 << 14;
const MOST_PLACES: usize = 1 << 22;
/// For each tick of 10 ms: less than a tenth of a processor's time.
const EACH_TICK: u32 = 100;

/// The latest reads, by a hash of the key; one place for each, which the next key with the same place takes.
pub struct Admission {
    seen: Box<[u32]>,
    left: u32,
}

impl Admission {
    pub fn new() -> Self {
        Self { seen: vec![0; LEAST_PLACES].into_boxed_slice(), left: 0 }
    }

    /// Every 10 ms, with the number of values in RAM.
    pub fn tick(&mut self, values: u64) {
        self.left = EACH_TICK;
        let wanted = (values as usize).next_power_of_two().clamp(LEAST_PLACES, MOST_PLACES);
        if wanted > self.seen.len() || wanted * 4 < self.seen.len() {
            self.seen = vec![0; wanted].into_boxed_slice();
        }
    }

    /// Whether the value that is read now comes back.
    pub fn admits(&mut self, database: u32, key: &[u8]) -> bool {
        let comes_back = self.is_second(database, key) && self.left > 0;
        self.left -= u32::from(comes_back);
        comes_back
    }

    /// Whether it was read not long ago; remembers that it is read now.
    fn is_second(&mut self, database: u32, key: &[u8]) -> bool {
        let mut hasher = SipHasher13::new();
        hasher.write_u32(database);
        hasher.write(key);
        let hash = hasher.finish();
        let tag = (hash >> 32) as u32 | 1;
        let place = hash as usize % self.seen.len();
        std::mem::replace(&mut self.seen[place], tag) == tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_read_is_noticed_per_database() {
        let mut admission = Admission::new();
        assert!(!admission.is_second(0, b"a"));
        assert!(!admission.is_second(1, b"a"));
        assert!(!admission.is_second(0, b"b"));
        assert!(admission.is_second(0, b"a"));
        assert!(admission.is_second(0, b"a"));
    }

    #[test]
    fn so_many_come_back_for_each_tick() {
        let mut admission = Admission::new();
        let mut admitted = |ticks| {
            (0..ticks).for_each(|_| admission.tick(0));
            (0..1000).filter(|_| admission.admits(0, b"a")).count()
        };
        assert_eq!([admitted(0), admitted(1), admitted(5)], [0, EACH_TICK as usize, EACH_TICK as usize]);
    }

    #[test]
    fn what_was_read_long_ago_is_forgotten_later_where_more_is_in_ram() {
        let remembers = |values, others: u32| {
            let mut admission = Admission::new();
            admission.tick(values);
            admission.is_second(0, b"old");
            for number in 0..others {
                admission.is_second(0, &number.to_le_bytes());
            }
            admission.is_second(0, b"old")
        };
        assert!(!remembers(0, 20 * LEAST_PLACES as u32));
        assert!(remembers(100 * LEAST_PLACES as u64, LEAST_PLACES as u32));
    }
}
