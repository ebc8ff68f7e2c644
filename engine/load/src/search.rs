//! `--find-max`: the highest rate within a latency limit. A closed loop determines the peak; after
//! that, each step is an open loop that halves the interval between the last rate within the limit
//! and the last rate above it.

use crate::options::{Options, Target};
use crate::report::Report;

/// After this many steps, the rate is known to within 1/128 of the peak.
const STEPS: usize = 7;
/// Share of a rate that must be reached.
const HELD: f64 = 0.99;

/// One step of the search.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// `None`: closed loop, as fast as replies arrive.
    pub rate: Option<f64>,
    pub reached: f64,
    /// The limited latency in microseconds. `None`: no request succeeded.
    pub latency: Option<f64>,
    pub holds: bool,
}

#[derive(Debug, Default)]
pub struct Search {
    pub steps: Vec<Step>,
    low: f64,
    high: f64,
}

impl Search {
    /// Returns the options of the next step, or `None` when the search has ended.
    pub fn next(&self, options: &Options) -> Option<Options> {
        let rate = match self.steps.last() {
            None => None,
            Some(_) if self.steps.len() > STEPS || self.high <= 0.0 => return None,
            Some(_) => Some((self.low + self.high) / 2.0),
        };
        Some(Options { rate, test_time: Some(options.find_max_step), ..options.clone() })
    }

    /// Records a step. Returns whether it is the best so far.
    pub fn record_step(&mut self, target: Target, rate: Option<f64>, report: &Report) -> bool {
        let total = report.total.total();
        let reached = total.good as f64 / report.duration().max(1e-9);
        let latency = total.latency();
        let latency = (!latency.is_empty()).then(|| match target.percentile {
            None => latency.mean(),
            Some(percentile) => latency.value_at_percentile(percentile) as f64,
        });
        self.evaluate(target.micros, rate, reached, latency)
    }

    fn evaluate(&mut self, limit: f64, rate: Option<f64>, reached: f64, latency: Option<f64>) -> bool {
        let in_time = latency.is_some_and(|latency| latency <= limit);
        let holds = in_time && rate.is_none_or(|rate| reached >= rate * HELD);
        self.steps.push(Step { rate, reached, latency, holds });
        match rate {
            // A closed loop stays within its limit by waiting, so an open loop must confirm the
            // peak.
            None => self.high = reached,
            Some(rate) if holds => self.low = rate,
            Some(rate) => self.high = rate,
        }
        holds && rate.is_some()
    }

    /// Returns the highest rate within the limit.
    pub fn found(&self) -> Option<f64> {
        (self.low > 0.0).then_some(self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bisection_finds_the_highest_rate_within_the_limit() {
        let mut search = Search::default();
        let options = Options { find_max_step: 1, ..Options::default() };
        while let Some(next) = search.next(&options) {
            // A server that stays within the limit up to 700 requests per second and reaches 1,000.
            let reached = next.rate.unwrap_or(1_000.0);
            let latency = if reached <= 700.0 { 900.0 } else { 5_000.0 };
            search.evaluate(1_000.0, next.rate, reached, Some(latency));
        }
        let found = search.found().expect("700 is within the limit");
        assert!((690.0..=700.0).contains(&found), "{found}");
        assert_eq!(search.steps.len(), STEPS + 1);
    }

    #[test]
    fn no_rate_is_found_if_every_step_exceeds_the_limit() {
        let mut search = Search::default();
        let options = Options::default();
        while let Some(next) = search.next(&options) {
            search.evaluate(1.0, next.rate, next.rate.unwrap_or(100.0), Some(50.0));
        }
        assert_eq!(search.found(), None);
        let mut dead = Search::default();
        dead.evaluate(1.0, None, 0.0, None);
        assert!(dead.next(&options).is_none());
    }
}
