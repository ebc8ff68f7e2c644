//! Key generators: uniform, sequential, normal or Zipf. Each client has one generator per command.

use crate::options::Options;
use rand::Rng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Normal, Zipf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    Random,
    Sequential,
    Parallel,
    Gaussian,
    Zipf,
}

impl Pattern {
    pub fn letter(self) -> char {
        match self {
            Self::Random => 'R',
            Self::Sequential => 'S',
            Self::Parallel => 'P',
            Self::Gaussian => 'G',
            Self::Zipf => 'Z',
        }
    }

    /// Whether each key occurs once per round, so that none may be omitted.
    pub fn is_walk(self) -> bool {
        matches!(self, Self::Sequential | Self::Parallel)
    }
}

#[derive(Debug, Clone)]
pub enum Keys {
    Uniform { minimum: u64, maximum: u64 },
    Walk { next: u64, first: u64, last: u64 },
    Gaussian { normal: Normal<f64>, minimum: f64, end: f64 },
    Zipf { zipf: Zipf<f64>, minimum: u64 },
}

impl Keys {
    /// Creates the generator for the client with the index `number`.
    pub fn new(options: &Options, pattern: Pattern, number: usize) -> Self {
        let (minimum, maximum) = (options.key_minimum, options.key_maximum);
        match pattern {
            Pattern::Random => Self::Uniform { minimum, maximum },
            Pattern::Sequential => Self::Walk { next: minimum, first: minimum, last: maximum },
            Pattern::Parallel => {
                let (first, count) = options.part(number);
                Self::Walk { next: first, first, last: first + count.max(1) - 1 }
            }
            Pattern::Gaussian => {
                let width = (maximum - minimum) as f64;
                let median = options.key_median.unwrap_or(minimum as f64 + width / 2.0 + 0.5);
                let deviation = options.key_stddev.unwrap_or(width / 6.0);
                let normal = Normal::new(median, deviation).expect("options are checked");
                Self::Gaussian { normal, minimum: minimum as f64, end: maximum as f64 + 1.0 }
            }
            Pattern::Zipf => {
                let minimum = minimum.max(1);
                let zipf = Zipf::new((maximum - minimum + 1) as f64, options.key_zipf_exp);
                Self::Zipf { zipf: zipf.expect("options are checked"), minimum }
            }
        }
    }

    #[inline]
    pub fn next(&mut self, random: &mut SmallRng) -> u64 {
        match self {
            Self::Uniform { minimum, maximum } => random.random_range(*minimum..=*maximum),
            Self::Walk { next, first, last } => {
                let key = *next;
                *next = if key >= *last { *first } else { key + 1 };
                key
            }
            Self::Gaussian { normal, minimum, end } => loop {
                let key = normal.sample(random).floor();
                if key >= *minimum && key < *end {
                    break key as u64;
                }
            },
            Self::Zipf { zipf, minimum } => *minimum + zipf.sample(random) as u64 - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const DRAWS: usize = 200_000;

    fn options(minimum: u64, maximum: u64) -> Options {
        Options { key_minimum: minimum, key_maximum: maximum, ..Options::default() }
    }

    /// Returns Pearson's chi-squared statistic of the generated keys. `law` holds the expected
    /// probability of each key, starting with the minimum.
    fn chi_squared(options: &Options, pattern: Pattern, seed: u64, law: &[f64]) -> f64 {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut keys = Keys::new(options, pattern, 0);
        let mut counts = vec![0u32; law.len()];
        for _ in 0..DRAWS {
            counts[(keys.next(&mut random) - options.key_minimum) as usize] += 1;
        }
        let term = |(count, share): (&u32, &f64)| {
            let expected = share * DRAWS as f64;
            (f64::from(*count) - expected).powi(2) / expected
        };
        counts.iter().zip(law).map(term).sum()
    }

    /// Asserts for every seed that the statistic is below the value that chance exceeds once in
    /// 100,000 times (Wilson-Hilferty approximation).
    fn assert_follows(options: &Options, pattern: Pattern, law: &[f64]) {
        let freedom = (law.len() - 1) as f64;
        let limit = freedom * (1.0 - 2.0 / (9.0 * freedom) + 4.265 * (2.0 / (9.0 * freedom)).sqrt()).powi(3);
        for seed in 1..=5 {
            let found = chi_squared(options, pattern, seed, law);
            assert!(found < limit, "seed {seed}: {found} of {limit}");
        }
    }

    #[test]
    fn random_keys_are_uniform() {
        assert_follows(&options(10, 109), Pattern::Random, &[0.01; 100]);
    }

    #[test]
    fn zipf_keys_follow_the_exponent() {
        for exponent in [0.5, 1.0, 2.0] {
            let options = Options { key_zipf_exp: exponent, ..options(1, 100) };
            let weights: Vec<f64> = (1..=100).map(|rank| f64::from(rank).powf(-exponent)).collect();
            let sum: f64 = weights.iter().sum();
            let law: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
            assert_follows(&options, Pattern::Zipf, &law);
        }
    }

    /// Returns the integral of the unscaled normal density between two numbers, by Simpson's rule.
    fn normal_mass(from: f64, to: f64, median: f64, deviation: f64) -> f64 {
        let density = |x: f64| (-0.5 * ((x - median) / deviation).powi(2)).exp();
        (density(from) + 4.0 * density((from + to) / 2.0) + density(to)) / 6.0 * (to - from)
    }

    #[test]
    fn gaussian_keys_are_normal_and_within_the_range() {
        for (median, deviation) in [(None, None), (Some(30.0), Some(25.0))] {
            let options = Options { key_median: median, key_stddev: deviation, ..options(1, 100) };
            let (median, deviation) = (median.unwrap_or(51.0), deviation.unwrap_or(16.5));
            let mass = |key: u64| normal_mass(key as f64, key as f64 + 1.0, median, deviation);
            let sum: f64 = (1..=100).map(mass).sum();
            let law: Vec<f64> = (1..=100).map(|key| mass(key) / sum).collect();
            assert_follows(&options, Pattern::Gaussian, &law);
        }
    }

    #[test]
    fn sequential_keys_are_in_order_and_wrap_around() {
        let mut random = SmallRng::seed_from_u64(1);
        let mut keys = Keys::new(&options(3, 5), Pattern::Sequential, 0);
        let taken: Vec<u64> = (0..5).map(|_| keys.next(&mut random)).collect();
        assert_eq!(taken, [3, 4, 5, 3, 4]);
    }
}
