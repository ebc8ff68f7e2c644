//! Which values on flash come back to RAM when they are read: those that are read again most, so many a second.
//!
//! Whatever comes back throws out another, which may be nearly as good, and both cost time: bringing back each value that is read took
//! half of the throughput at a hit ratio of 85 %, and ten thousand a second an eighth at 95 %. Values that are needed in RAM, for a
//! write or by a script, do not come here.

use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// The least number of reads to remember; as many as there are values in RAM, if these are more.
const LEAST_PLACES: usize = 1 << 14;
const MOST_PLACES: usize = 1 << 22;
/// For each tick of 10 ms: some hundredths of a processor's time.
const EACH_TICK: u32 = 30;
/// Reads of a value until it comes back; more where more values than that are read so often.
const LEAST_READS: u32 = 2;
/// Bits of a place that count the reads; the others are the key's.
const COUNT: u32 = 0xff;

/// The latest reads, by a hash of the key; one place for each, which the next key with the same place takes.
pub struct Admission {
    seen: Box<[u32]>,
    /// Reads until a value comes back, as of now.
    reads: u32,
    /// How many had so many in this tick.
    due: u32,
}

impl Admission {
    pub fn new() -> Self {
        Self { seen: vec![0; LEAST_PLACES].into_boxed_slice(), reads: LEAST_READS, due: EACH_TICK }
    }

    /// Every 10 ms, with the number of values in RAM.
    pub fn tick(&mut self, values: u64) {
        if self.due > EACH_TICK {
            self.reads = (self.reads + 1).min(COUNT);
        } else if self.due < EACH_TICK / 2 {
            self.reads = (self.reads - 1).max(LEAST_READS);
        }
        self.due = 0;
        let wanted = (values as usize).next_power_of_two().clamp(LEAST_PLACES, MOST_PLACES);
        if wanted > self.seen.len() || wanted * 4 < self.seen.len() {
            self.seen = vec![0; wanted].into_boxed_slice();
        }
    }

    /// Whether the value that is read now comes back.
    pub fn admits(&mut self, database: u32, key: &[u8]) -> bool {
        if self.read(database, key) < self.reads {
            return false;
        }
        self.due += 1;
        self.due <= EACH_TICK
    }

    /// How often it was read lately, this time included.
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
    fn the_second_read_brings_back_where_few_are_read_again() {
        let mut admission = Admission::new();
        admission.tick(0);
        assert!(!admission.admits(0, b"a"));
        assert!(admission.admits(0, b"a"));
    }

    #[test]
    fn so_many_come_back_for_each_tick_and_they_are_those_read_most() {
        let mut admission = Admission::new();
        let (mut often, mut seldom) = (0, 0);
        for round in 0..400u64 {
            admission.tick(0);
            let before = often + seldom;
            for key in 0..200u64 {
                // As when it came back and went again: it is read as often as before.
                often += u32::from(key < 60 && admission.admits(0, &key.to_le_bytes()));
                let is_its_turn = (round + key) % 10 == 0;
                seldom += u32::from(key >= 60 && is_its_turn && admission.admits(0, &key.to_le_bytes()));
            }
            assert!(often + seldom <= before + EACH_TICK);
        }
        assert!(often > 100 * seldom.max(1), "{often} {seldom}");
    }

    #[test]
    fn what_was_read_long_ago_is_forgotten_later_where_more_is_in_ram() {
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
