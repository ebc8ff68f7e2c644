//! Estimates the share of uses that RAM of another size would serve, if it held the most recently
//! used values.
//!
//! The reuse distance of a use is the number of other keys used since the previous use of the key.
//! The use is served from RAM if RAM holds at least that many values. Distances are measured for a
//! few thousand keys, selected by their hashes, which represent all keys: SHARDS with a fixed
//! sample size (Waldspurger et al., FAST '15), including its correction for keys that are used more
//! often than others.

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// Maximum number of sampled keys.
const MOST_KEYS: usize = 4096;
/// Number of their uses after which times are renumbered.
const TIMES: usize = 4 * MOST_KEYS;
/// Bits of a hash that select keys.
const CHOICE_BITS: u32 = 24;
/// Buckets for each doubling of a distance.
const FINENESS: f64 = 8.0;
const BUCKETS: usize = 40 * FINENESS as usize;
/// Ticks of 10 ms after which counts are reduced, by half in five minutes.
const FADE_TICKS: u32 = 3000;
const FADE: f64 = 0.933;

pub struct ReuseDistance {
    /// Keys with a lower selection value are sampled.
    threshold: u32,
    /// Time of the last use of each sampled key, by its hash.
    last: FxHashMap<u64, usize>,
    /// Times that are the last use of a key, as a Fenwick tree.
    last_uses: Fenwick,
    next: usize,
    /// Estimated uses by distance. `never`: uses of keys that were not sampled before.
    counts: Box<[f64]>,
    never: f64,
    /// Number of all uses.
    uses: f64,
    ticks: u32,
}

impl ReuseDistance {
    pub fn new() -> Self {
        Self {
            threshold: 1 << CHOICE_BITS,
            last: FxHashMap::default(),
            last_uses: Fenwick::new(TIMES),
            next: 0,
            counts: vec![0.0; BUCKETS].into_boxed_slice(),
            never: 0.0,
            uses: 0.0,
            ticks: 0,
        }
    }

    /// Records a use of an existing key.
    pub fn record_use(&mut self, database: u32, key: &[u8]) {
        self.uses += 1.0;
        let hash = hash_of(database, key);
        if choice(hash) >= self.threshold {
            return;
        }
        let weight = 1.0 / self.rate();
        match self.forget(hash) {
            Some(others) => self.counts[bucket(others as f64 * weight)] += weight,
            None => self.never += weight,
        }
        self.sample(hash);
    }

    /// Records a write that created a key.
    pub fn record_creation(&mut self, database: u32, key: &[u8]) {
        let hash = hash_of(database, key);
        if choice(hash) < self.threshold {
            self.forget(hash);
            self.sample(hash);
        }
    }

    pub fn tick(&mut self) {
        self.ticks += 1;
        if self.ticks < FADE_TICKS {
            return;
        }
        self.ticks = 0;
        self.counts.iter_mut().chain([&mut self.never, &mut self.uses]).for_each(|count| *count *= FADE);
    }

    /// Returns the number of uses that the curve is based on, with reduced weight for older ones.
    pub fn uses(&self) -> u64 {
        self.uses as u64
    }

    /// Returns, for increasing numbers of values, the share of uses in millionths that RAM of that
    /// size serves. Empty before any key was used again.
    pub fn curve(&self) -> Vec<(u64, u64)> {
        let seen: f64 = self.counts.iter().sum();
        if seen == 0.0 {
            return Vec::new();
        }
        // Sampled keys may be used more or less often than others. The difference is attributed to
        // uses at short distances.
        let mut served = self.uses - seen - self.never;
        let (mut points, mut highest) = (Vec::new(), 0);
        for (bucket, count) in self.counts.iter().enumerate() {
            served += count;
            let share = (1e6 * (served / self.uses).clamp(0.0, 1.0)) as u64;
            if share > highest {
                highest = share;
                points.push((end(bucket), share));
            }
        }
        points
    }

    fn rate(&self) -> f64 {
        f64::from(self.threshold) / f64::from(1u32 << CHOICE_BITS)
    }

    /// Removes a key. Returns the number of other sampled keys used since its last use, or `None`
    /// if it was not sampled.
    fn forget(&mut self, hash: u64) -> Option<usize> {
        let time = self.last.remove(&hash)?;
        self.last_uses.add(time, -1);
        Some(self.last.len() - self.last_uses.before(time))
    }

    fn sample(&mut self, hash: u64) {
        if self.next == TIMES {
            self.renumber();
        }
        self.last.insert(hash, self.next);
        self.last_uses.add(self.next, 1);
        self.next += 1;
        if self.last.len() > MOST_KEYS {
            self.choose_fewer();
        }
    }

    /// Removes an eighth of the keys, those with the highest selection values.
    fn choose_fewer(&mut self) {
        let mut choices: Vec<u32> = self.last.keys().map(|&hash| choice(hash)).collect();
        let place = choices.len() / 8 * 7;
        self.threshold = *choices.select_nth_unstable(place).1;
        self.last.retain(|&hash, _| choice(hash) < self.threshold);
        self.renumber();
    }

    fn renumber(&mut self) {
        let mut kept: Vec<(usize, u64)> = self.last.iter().map(|(&hash, &time)| (time, hash)).collect();
        kept.sort_unstable();
        self.last_uses = Fenwick::new(TIMES);
        self.next = kept.len();
        for (time, (_, hash)) in kept.into_iter().enumerate() {
            self.last.insert(hash, time);
            self.last_uses.add(time, 1);
        }
    }
}

fn hash_of(database: u32, key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(database);
    hasher.write(key);
    // Keys that differ only in their last digits must differ in the bits that select keys.
    let mixed = hasher.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn choice(hash: u64) -> u32 {
    (hash >> (64 - CHOICE_BITS)) as u32
}

fn bucket(distance: f64) -> usize {
    ((FINENESS * (distance + 1.0).log2()) as usize).min(BUCKETS - 1)
}

/// Returns the number of values with which every distance of a bucket is served.
fn end(bucket: usize) -> u64 {
    ((bucket as f64 + 1.0) / FINENESS).exp2().ceil() as u64
}

/// Prefix sums in logarithmic time.
struct Fenwick(Box<[u32]>);

impl Fenwick {
    fn new(size: usize) -> Self {
        Self(vec![0; size + 1].into_boxed_slice())
    }

    fn add(&mut self, place: usize, change: i32) {
        let mut at = place + 1;
        while at < self.0.len() {
            self.0[at] = self.0[at].wrapping_add_signed(change);
            at += at & at.wrapping_neg();
        }
    }

    fn before(&self, place: usize) -> usize {
        let (mut at, mut sum) = (place, 0);
        while at > 0 {
            sum += self.0[at] as usize;
            at -= at & at.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> [u8; 8] {
        number.to_le_bytes()
    }

    /// Returns the share from the curve, 0 to 1.
    fn share(curve: &[(u64, u64)], values: u64) -> f64 {
        curve.iter().take_while(|point| point.0 <= values).last().map_or(0.0, |point| point.1 as f64 / 1e6)
    }

    /// Reference model: RAM that holds the given number of most recently used values.
    struct Lru(FxHashMap<u64, u64>, std::collections::BTreeMap<u64, u64>, u64, usize);

    impl Lru {
        fn hits(&mut self, key: u64) -> bool {
            self.2 += 1;
            let before = self.0.insert(key, self.2);
            before.map(|time| self.1.remove(&time));
            self.1.insert(self.2, key);
            if self.1.len() > self.3 {
                let (_, oldest) = self.1.pop_first().expect("there are entries");
                self.0.remove(&oldest);
            }
            before.is_some()
        }
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) * limit) >> 31
        }

        /// Values in the middle are more probable than at the ends.
        fn gaussian(&mut self, keys: u64) -> u64 {
            (0..12).map(|_| self.below(keys)).sum::<u64>() / 12
        }
    }

    #[test]
    fn the_curve_is_empty_before_any_key_was_used_again() {
        let mut reuse = ReuseDistance::new();
        assert_eq!(reuse.curve(), []);
        reuse.record_use(0, &key(1));
        assert_eq!(reuse.curve(), []);
        reuse.record_use(0, &key(1));
        assert_eq!(reuse.curve().last().map(|point| point.1), Some(500_000));
    }

    #[test]
    fn a_loop_is_served_completely_or_not_at_all() {
        let mut reuse = ReuseDistance::new();
        for _ in 0..20 {
            (0..1000).for_each(|number| reuse.record_use(0, &key(number)));
        }
        let curve = reuse.curve();
        assert_eq!(share(&curve, 900), 0.0);
        assert!((share(&curve, 1200) - 0.95).abs() < 0.01, "{curve:?}");
    }

    #[test]
    fn equal_names_in_different_databases_are_different_keys() {
        let mut reuse = ReuseDistance::new();
        (0..100).for_each(|number| reuse.record_use(number, &key(1)));
        assert_eq!(reuse.curve(), []);
    }

    #[test]
    fn a_sample_of_a_few_thousand_keys_represents_a_hundred_thousand() {
        const KEYS: u64 = 100_000;
        const USES: u32 = 600_000;
        // `make test-all` tests more seeds.
        let seeds = if std::env::var_os("SHARDBOARD_THOROUGH").is_some() { 3 } else { 1 };
        for seed in 1..=seeds {
            let (mut reuse, mut random) = (ReuseDistance::new(), Random(seed));
            let mut rams: Vec<_> = [5_000, 10_000, 20_000, 40_000]
                .map(|room| (room, 0, Lru(Default::default(), Default::default(), 0, room)))
                .into();
            for number in 0..KEYS {
                reuse.record_creation(0, &key(number));
                rams.iter_mut().for_each(|(_, _, lru)| _ = lru.hits(number));
            }
            for _ in 0..USES {
                let chosen = random.gaussian(KEYS);
                reuse.record_use(0, &key(chosen));
                for (_, hits, lru) in &mut rams {
                    *hits += u32::from(lru.hits(chosen));
                }
            }
            let curve = reuse.curve();
            for (room, hits, _) in rams {
                let (estimate, real) = (share(&curve, room as u64), f64::from(hits) / f64::from(USES));
                assert!(
                    (estimate - real).abs() < 0.04,
                    "seed {seed}, {room} values: estimated {estimate}, measured {real}"
                );
            }
            assert!(reuse.last.len() <= MOST_KEYS);
        }
    }

    #[test]
    fn a_dominant_key_is_included_in_the_estimate() {
        let mut reuse = ReuseDistance::new();
        let mut random = Random(7);
        for _ in 0..300_000 {
            let chosen = if random.below(10) < 8 { 42 } else { random.below(50_000) };
            reuse.record_use(0, &key(chosen));
        }
        let found = share(&reuse.curve(), 100);
        assert!((0.78..0.86).contains(&found), "{found}");
    }

    #[test]
    fn older_uses_have_less_weight() {
        let mut reuse = ReuseDistance::new();
        (0..100).for_each(|_| reuse.record_use(0, &key(1)));
        (0..50 * FADE_TICKS).for_each(|_| reuse.tick());
        for round in 0..10 {
            (0..100).for_each(|number| reuse.record_use(0, &key(round * 100 + number)));
        }
        assert!(share(&reuse.curve(), 1 << 20) < 0.02);
    }
}
