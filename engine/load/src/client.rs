//! One client of the workload: selects the request to send next. It does not manage connections.

use crate::keys::Keys;
use crate::options::{Options, Size};
use crate::request::Operation;
use crate::workload::{SET, WAIT, Workload};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Normal};

#[derive(Debug)]
pub struct Client {
    random: SmallRng,
    /// The keys of each template.
    keys: Vec<Keys>,
    /// Index of the current step of the workload's cycle, and the number of requests taken from it.
    step: usize,
    taken: u64,
    /// SETs since the last WAITs, and number of WAITs that are due.
    since_wait: u64,
    waits: u64,
    /// Requests still to be generated. `None`: the run has a time limit instead.
    remaining: Option<u64>,
}

impl Client {
    pub fn new(options: &Options, workload: &Workload, number: usize, seed: u64) -> Self {
        let seed = if options.distinct_client_seed { seed.wrapping_add(number as u64) } else { seed };
        let keys = workload.patterns.iter().map(|&pattern| Keys::new(options, pattern, number)).collect();
        let remaining = options.requests_of(number);
        Self {
            random: SmallRng::seed_from_u64(seed),
            keys,
            step: 0,
            taken: 0,
            since_wait: 0,
            waits: 0,
            remaining,
        }
    }

    /// Returns `None` when all requests of the client have been generated.
    #[inline]
    pub fn next(&mut self, options: &Options, workload: &Workload) -> Option<Operation> {
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.checked_sub(1)?;
        }
        if self.waits > 0 {
            self.waits -= 1;
            return Some(self.wait(options));
        }
        while self.taken >= workload.cycle[self.step].1 {
            self.taken = 0;
            self.step = (self.step + 1) % workload.cycle.len();
        }
        self.taken += 1;
        let template = workload.cycle[self.step].0;
        let key = self.keys[usize::from(template)].next(&mut self.random);
        if let Some((sets, waits)) = options.wait_ratio.filter(|_| template == SET) {
            self.since_wait += 1;
            if self.since_wait >= sets.max(1) {
                self.since_wait = 0;
                self.waits = waits;
            }
        }
        let size = self.size(options, key);
        let number = match (options.expiry, options.data_offset) {
            (Some((low, high)), _) => self.random.random_range(low..=high) as u32,
            (_, Some(offset)) => (offset + u64::from(size)).saturating_sub(1) as u32,
            _ => 0,
        };
        Some(Operation {
            template,
            redirections: 0,
            retries: 0,
            asking: false,
            key,
            size,
            number,
            intended: 0,
            sent: 0,
        })
    }

    fn wait(&mut self, options: &Options) -> Operation {
        let mut around =
            |(low, high): (u64, u64)| match Normal::new((low + high) as f64 / 2.0, (high - low) as f64 / 6.0)
            {
                Ok(normal) => (normal.sample(&mut self.random).round() as u64).clamp(low, high) as u32,
                Err(_) => low as u32,
            };
        let (number, size) = (around(options.replicas), around(options.wait_timeout));
        Operation {
            template: WAIT,
            redirections: 0,
            retries: 0,
            asking: false,
            key: 0,
            size,
            number,
            intended: 0,
            sent: 0,
        }
    }

    #[inline]
    fn size(&mut self, options: &Options, key: u64) -> u32 {
        match &options.size {
            Size::Range(low, high) if options.size_grows => {
                let part = (key - options.key_minimum) as f64
                    / (options.key_maximum - options.key_minimum).max(1) as f64;
                (*low as f64 + part * (high - low) as f64) as u32
            }
            Size::Fixed(size) => *size as u32,
            Size::Range(low, high) => self.random.random_range(*low..=*high) as u32,
            Size::List(list) => {
                let total: u64 = list.iter().map(|(_, weight)| weight).sum();
                let mut at = self.random.random_range(0..total);
                for (size, weight) in list {
                    match at.checked_sub(*weight) {
                        Some(rest) => at = rest,
                        None => return *size as u32,
                    }
                }
                0
            }
        }
    }
}
