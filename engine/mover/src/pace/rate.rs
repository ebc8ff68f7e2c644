//! A rate that follows the use of the CPUs, and how long to wait to keep it.

use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
/// The rate is changed after this time.
const WINDOW: u64 = SECOND / 5;
/// After a longer pause, the rate starts again at the lowest one.
const EXPIRY: u64 = 2 * SECOND;
/// Unused capacity is kept for this long, so that late wake-ups do not lower the rate.
const BURST: u64 = SECOND / 500;
/// Share of the CPU time of the machine, in percent. Below the first, the rate doubles; below the
/// second, it rises; above the third, it halves.
const CALM: u64 = 50;
const MODERATE: u64 = 65;
const BUSY: u64 = 75;
/// Bytes of the rate below which it does not fall, for each CPU. The engine's fork lasts as long as
/// the snapshot, and keeps copies of changed pages.
const LOWEST_PER_CPU: u64 = 8_000_000;
const PIECES_PER_SECOND: u64 = 1_000;
const MIN_PIECE: u64 = 4 * 1024;
const MAX_PIECE: u64 = 64 * 1024;

/// CPU time since the start of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub free: u64,
    pub total: u64,
}

/// Times are nanoseconds of one clock.
#[derive(Debug)]
pub struct Rate {
    lowest: u64,
    highest: u64,
    bytes_per_second: u64,
    /// Time at which everything that was taken so far has been paid for.
    paid: u64,
    /// Start of the current window, the use of the CPUs then, and the bytes taken since.
    window: u64,
    usage: Usage,
    taken: u64,
}

const FIELDS: usize = 6;
pub const STATE_BYTES: usize = FIELDS * 8;

impl Rate {
    pub fn fixed(bytes_per_second: u64) -> Self {
        Self::new(bytes_per_second, bytes_per_second)
    }

    /// A rate that is at most `limit`.
    pub fn adaptive(limit: Option<u64>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, |number| number.get() as u64);
        let highest = limit.unwrap_or(u64::MAX);
        Self::new((LOWEST_PER_CPU * processors).min(highest), highest)
    }

    fn new(lowest: u64, highest: u64) -> Self {
        let (lowest, highest) = (lowest.max(1), highest.max(1));
        let usage = Usage::default();
        Self { lowest, highest, bytes_per_second: lowest, paid: 0, window: 0, usage, taken: 0 }
    }

    /// What other processes need to continue.
    pub fn state(&self) -> [u8; STATE_BYTES] {
        let fields =
            [self.bytes_per_second, self.paid, self.window, self.usage.free, self.usage.total, self.taken];
        let mut state = [0; STATE_BYTES];
        for (bytes, field) in state.chunks_exact_mut(8).zip(fields) {
            bytes.copy_from_slice(&field.to_le_bytes());
        }
        state
    }

    /// Continues the state of another process. An incomplete one is ignored.
    pub fn load(&mut self, state: &[u8]) {
        if state.len() < STATE_BYTES {
            return;
        }
        let mut fields =
            state.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")));
        let mut next = || fields.next().expect("there are six fields");
        self.bytes_per_second = next().clamp(self.lowest, self.highest);
        (self.paid, self.window) = (next(), next());
        self.usage = Usage { free: next(), total: next() };
        self.taken = next();
    }

    /// Largest number of bytes to take at once.
    pub fn piece(&self) -> usize {
        (self.bytes_per_second / PIECES_PER_SECOND).clamp(MIN_PIECE, MAX_PIECE) as usize
    }

    /// Returns how long to wait after a number of bytes. `usage` returns the use of the CPUs.
    pub fn take(&mut self, bytes: u64, now: u64, usage: impl FnOnce() -> Option<Usage>) -> Duration {
        // After a restart of the machine, the times of the file are in the future.
        if now.saturating_sub(self.window) >= EXPIRY || self.window > now || self.paid > now + EXPIRY {
            self.bytes_per_second = self.lowest;
            (self.window, self.usage, self.taken) = (now, usage().unwrap_or_default(), 0);
            self.paid = self.paid.min(now);
        } else if now - self.window >= WINDOW {
            self.adapt(now, usage());
        }
        self.taken += bytes;
        let cost = u128::from(bytes) * u128::from(SECOND) / u128::from(self.bytes_per_second);
        self.paid = self.paid.max(now.saturating_sub(BURST)).saturating_add(cost as u64);
        Duration::from_nanos(self.paid.saturating_sub(now))
    }

    fn adapt(&mut self, now: u64, usage: Option<Usage>) {
        let read = self.taken * SECOND / (now - self.window);
        if let Some(usage) = usage {
            let total = usage.total.saturating_sub(self.usage.total);
            let free = usage.free.saturating_sub(self.usage.free).min(total);
            let busy = (total - free) * 100 / total.max(1);
            let changed = match busy {
                ..CALM => self.bytes_per_second.saturating_mul(2),
                CALM..MODERATE => self.bytes_per_second.saturating_mul(5) / 4,
                MODERATE..=BUSY => self.bytes_per_second,
                _ => self.bytes_per_second.min(read) / 2,
            };
            // A rate that is not used would not fall in time when clients arrive.
            let usable = read.saturating_mul(3).max(self.lowest);
            self.bytes_per_second = changed.min(usable).clamp(self.lowest, self.highest);
            self.usage = usage;
        }
        (self.window, self.taken) = (now, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_000 * SECOND;

    struct Machine {
        now: u64,
        usage: Usage,
    }

    impl Machine {
        fn new() -> Self {
            Self { now: START, usage: Usage { free: 0, total: 0 } }
        }

        /// Takes what the rate permits, while this percentage of the CPUs is used. Returns bytes per second.
        fn run(&mut self, rate: &mut Rate, seconds: u64, busy: u64) -> u64 {
            let (end, mut bytes) = (self.now + seconds * SECOND, 0);
            while self.now < end {
                let piece = rate.piece() as u64;
                let wait = rate.take(piece, self.now, || Some(self.usage)).as_nanos() as u64;
                self.now += wait;
                self.usage.total += 100 * wait;
                self.usage.free += (100 - busy) * wait;
                bytes += piece;
            }
            bytes / seconds
        }
    }

    fn is_near(actual: u64, expected: u64) -> bool {
        actual.abs_diff(expected) <= expected / 50
    }

    #[test]
    fn a_fixed_rate_is_kept_and_pauses_are_not_made_up_for() {
        let mut rate = Rate::fixed(1_000_000);
        let mut machine = Machine::new();
        let average = machine.run(&mut rate, 10, 0);
        assert!(is_near(average, 1_000_000), "{average}");
        let wait = rate.take(1_000_000, machine.now + 60 * SECOND, || None);
        assert_eq!(wait, Duration::from_nanos(SECOND - BURST));
        assert_eq!(Rate::fixed(0).take(1, START, || None), Duration::from_nanos(SECOND - BURST));
    }

    #[test]
    fn the_rate_follows_the_use_of_the_cpus() {
        let mut rate = Rate::new(16_000_000, u64::MAX);
        let mut machine = Machine::new();
        let calm = machine.run(&mut rate, 2, 10);
        assert!(calm > 150_000_000, "{calm}");
        machine.run(&mut rate, 2, 90);
        let busy = machine.run(&mut rate, 2, 90);
        assert!(is_near(busy, 16_000_000), "{busy}");
        machine.run(&mut rate, 1, 60);
        machine.run(&mut rate, 1, 70);
        let risen = rate.bytes_per_second;
        assert!(risen > 30_000_000, "{risen}");
        machine.run(&mut rate, 1, 70);
        assert_eq!(rate.bytes_per_second, risen);
    }

    #[test]
    fn a_limit_is_not_exceeded() {
        let mut rate = Rate::new(16_000_000, 20_000_000);
        let mut machine = Machine::new();
        machine.run(&mut rate, 1, 0);
        let average = machine.run(&mut rate, 3, 0);
        assert!(is_near(average, 20_000_000), "{average}");
    }

    #[test]
    fn processes_share_the_rate() {
        let (mut one, mut other) = (Rate::fixed(1_000_000), Rate::fixed(1_000_000));
        other.load(&one.state());
        let mut now = START;
        for _ in 0..1_000 {
            other.load(&one.state());
            let first = other.take(1_000, now, || None);
            one.load(&other.state());
            now += first.max(one.take(1_000, now, || None)).as_nanos() as u64;
        }
        assert!(is_near(now - START, 2 * SECOND), "{}", now - START);
    }

    #[test]
    fn states_that_cannot_be_continued_are_ignored() {
        let mut rate = Rate::fixed(1_000_000);
        rate.load(b"short");
        rate.load(&[0xff; STATE_BYTES]);
        assert_eq!(rate.take(1_000, START, || None), Duration::from_millis(1));
        assert_eq!((rate.bytes_per_second, rate.window), (1_000_000, START));
    }
}
