//! When requests are due under `--rate`: at even intervals from the start, independent of the
//! replies to earlier requests.

use crate::options::{Options, Wave};
use crate::worker::{SECOND, Worker};
use net::arena::Id;
use std::f64::consts::TAU;

/// The share of one thread. Requests that are due but not sent need no memory, because they are
/// numbers of a sequence.
#[derive(Debug, Clone)]
pub struct Schedule {
    interval: f64,
    offset: f64,
    next: u64,
    wave: Option<Wave>,
    /// Client at which the search for free capacity starts.
    pub turn: usize,
    /// Whether no client had free capacity at the last check.
    pub is_full: bool,
}

impl Schedule {
    pub fn new(options: &Options, thread: usize) -> Option<Self> {
        let rate = options.rate?;
        let interval = 1e9 * options.threads as f64 / rate;
        let offset = interval * thread as f64 / options.threads as f64 + 1.0;
        Some(Self { interval, offset, next: 0, wave: options.rate_wave, turn: 0, is_full: false })
    }

    #[inline]
    pub fn next_due(&self) -> u64 {
        self.due(self.next)
    }

    /// Returns the time at which a request is due. A wave changes the even intervals: they are
    /// longest at its start and shortest in its middle. The number of requests per wave does not
    /// change.
    #[inline]
    fn due(&self, number: u64) -> u64 {
        let even = self.offset + number as f64 * self.interval;
        let Some(Wave { share, seconds }) = self.wave else { return even as u64 };
        let turn = seconds as f64 * 1e9 / TAU;
        (even + share * turn * (even / turn).sin()) as u64
    }

    /// Returns the time at which to check the schedule if no other event occurs.
    pub fn wake_at(&self) -> Option<u64> {
        (!self.is_full).then(|| self.next_due())
    }

    #[inline]
    pub fn take(&mut self) -> u64 {
        let due = self.next_due();
        self.next += 1;
        due
    }

    /// Returns the number of requests that were due before `time` and have not been taken.
    pub fn due_before(&self, time: u64) -> u64 {
        // A request is never further from its even position than the length of a wave.
        let reach = self.wave.map_or(0.0, |wave| wave.seconds as f64 * 1e9);
        let place = |time: f64| ((time - self.offset) / self.interval).max(0.0) as u64;
        let (mut low, mut high) = (place(time as f64 - reach), place(time as f64 + reach) + 2);
        while low < high {
            let middle = low.midpoint(high);
            if self.due(middle) < time { low = middle + 1 } else { high = middle }
        }
        low.saturating_sub(self.next)
    }
}

impl Worker {
    /// Assigns due requests to clients with free capacity, round-robin.
    pub fn release_due(&mut self, now: u64) {
        if self.stopping.is_some() {
            return;
        }
        // A request that is due exactly at the end of the test is not part of it.
        let last = self.shared.options.test_time.map_or(now, |seconds| now.min(seconds * SECOND - 1));
        while let Some(due) = self.schedule.as_ref().map(Schedule::next_due).filter(|due| *due <= last) {
            let Some(seat) = self.seat_with_room() else {
                self.set_full(true);
                return;
            };
            let Some(mut operation) = self.generate(seat) else {
                if self.seats.iter().all(|seat| seat.drawn_all) {
                    return;
                }
                continue;
            };
            operation.intended = due;
            self.tally.lag_micros = self.tally.lag_micros.max(Some((now - due) / 1_000));
            if let Some(schedule) = &mut self.schedule {
                schedule.take();
            }
            let id = self.connection_for(seat, &operation);
            self.enqueue(seat, id, operation);
        }
        self.set_full(false);
    }

    fn set_full(&mut self, full: bool) {
        if let Some(schedule) = &mut self.schedule {
            schedule.is_full = full;
        }
    }

    /// Returns a client that may send: with one target, a client whose pipeline has free capacity.
    /// In a cluster, the key determines the connection later.
    fn seat_with_room(&mut self) -> Option<usize> {
        let all = self.active();
        let turn = self.schedule.as_ref()?.turn;
        let cluster = self.shared.options.cluster;
        let pipeline = self.shared.options.pipeline;
        for step in 0..all {
            let seat = (turn + step) % all;
            let Some(place) = self.seats.get(seat).filter(|place| !place.drawn_all) else { continue };
            let has_room = |id: &Id| {
                self.connections.get(*id).is_some_and(|connection| {
                    connection.is_ready() && connection.in_flight.len() + connection.queue.len() < pipeline
                })
            };
            if cluster || place.connections.iter().any(has_room) {
                self.schedule.as_mut()?.turn = (seat + 1) % all;
                return Some(seat);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_an_even_schedule() {
        let options = Options { rate: Some(1_000.0), threads: 2, ..Options::default() };
        let mut due: Vec<u64> = Vec::new();
        for thread in 0..2 {
            let mut schedule = Schedule::new(&options, thread).expect("there is a rate");
            assert_eq!(schedule.due_before(1_000_000_000), 500);
            due.extend((0..500).map(|_| schedule.take()));
            assert_eq!(schedule.due_before(1_000_000_000), 0);
        }
        due.sort_unstable();
        assert!(due.windows(2).all(|pair| pair[1] - pair[0] == 1_000_000), "{due:?}");
    }

    #[test]
    fn a_wave_preserves_the_mean_rate_and_the_order() {
        let wave = Some(Wave { share: 0.25, seconds: 8 });
        let options = Options { rate: Some(1_000.0), rate_wave: wave, threads: 1, ..Options::default() };
        let mut schedule = Schedule::new(&options, 0).expect("there is a rate");
        let until = |second: u64| schedule.due_before(second * SECOND);
        let rates: Vec<u64> = (0..8).map(|second| until(second + 1) - until(second)).collect();
        assert_eq!(until(8), 8_000);
        assert!(rates[0] < 850 && rates[3] > 1_250, "{rates:?}");
        let due: Vec<u64> = (0..8_000).map(|_| schedule.take()).collect();
        assert!(due.is_sorted());
    }
}
