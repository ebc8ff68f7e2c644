//! `--find-max`: the highest rate at which a latency keeps its limit. First the peak of a closed loop, then halving
//! between what held and what did not, each step an open loop of its own.

use crate::options::{Options, Target};
use crate::report::Report;

/// The rate is then known within a 128th of the peak.
const STEPS: usize = 7;
/// A rate that is not reached by more than that was not held.
const HELD: f64 = 0.99;

/// One step of the search.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// `None`: as fast as replies come.
    pub rate: Option<f64>,
    pub reached: f64,
    /// Microseconds of what is limited; `None` without a success.
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
    /// The options of the next step; `None` when it is over.
    pub fn next(&self, options: &Options) -> Option<Options> {
        let rate = match self.steps.last() {
            None => None,
            Some(_) if self.steps.len() > STEPS || self.high <= 0.0 => return None,
            Some(_) => Some((self.low + self.high) / 2.0),
        };
        Some(Options { rate, test_time: Some(options.find_max_step), ..options.clone() })
    }

    /// Whether this step is the best until now.
    pub fn learn(&mut self, target: Target, rate: Option<f64>, report: &Report) -> bool {
        let total = report.total.total();
        let reached = total.good as f64 / report.duration().max(1e-9);
        let latency = total.latency();
        let latency = (!latency.is_empty()).then(|| match target.percentile {
            None => latency.mean(),
            Some(percentile) => latency.value_at_percentile(percentile) as f64,
        });
        self.judge(target.micros, rate, reached, latency)
    }

    fn judge(&mut self, limit: f64, rate: Option<f64>, reached: f64, latency: Option<f64>) -> bool {
        let in_time = latency.is_some_and(|latency| latency <= limit);
        let holds = in_time && rate.is_none_or(|rate| reached >= rate * HELD);
        self.steps.push(Step { rate, reached, latency, holds });
        match rate {
            // A closed loop keeps its limit by waiting, so the peak itself has to be shown by a schedule.
            None => self.high = reached,
            Some(rate) if holds => self.low = rate,
            Some(rate) => self.high = rate,
        }
        holds && rate.is_some()
    }

    /// The highest rate that held.
    pub fn found(&self) -> Option<f64> {
        (self.low > 0.0).then_some(self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_finds_the_rate_that_just_holds() {
        let mut search = Search::default();
        let options = Options { find_max_step: 1, ..Options::default() };
        while let Some(next) = search.next(&options) {
            // A server that is in time up to 700 a second and can do 1,000.
            let reached = next.rate.unwrap_or(1_000.0);
            let latency = if reached <= 700.0 { 900.0 } else { 5_000.0 };
            search.judge(1_000.0, next.rate, reached, Some(latency));
        }
        let found = search.found().expect("700 hold");
        assert!((690.0..=700.0).contains(&found), "{found}");
        assert_eq!(search.steps.len(), STEPS + 1);
    }

    #[test]
    fn nothing_is_found_where_nothing_holds() {
        let mut search = Search::default();
        let options = Options::default();
        while let Some(next) = search.next(&options) {
            search.judge(1.0, next.rate, next.rate.unwrap_or(100.0), Some(50.0));
        }
        assert_eq!(search.found(), None);
        let mut dead = Search::default();
        dead.judge(1.0, None, 0.0, None);
        assert!(dead.next(&options).is_none());
    }
}
