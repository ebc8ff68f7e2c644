//! The command-line options: those of memtier_benchmark with their defaults, and additional ones.

mod check;
mod help;
mod parse;
mod unsupported_options;
mod values;

pub use help::HELP;
pub use parse::{ParsedArguments, parse};

use crate::keys::Pattern;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2 without a HELLO.
    Redis,
    Resp2,
    Resp3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requests {
    PerClient(u64),
    AllKeys,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    Fixed(usize),
    Range(usize, usize),
    /// Sizes and their weights.
    List(Vec<(usize, u64)>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    pub certificate: Option<String>,
    pub key: Option<String>,
    pub authorities: Option<String>,
    pub skip_verify: bool,
    pub protocols: Option<String>,
    pub server_name: Option<String>,
}

/// A custom command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub line: String,
    pub arguments: Vec<String>,
    pub ratio: u64,
    pub pattern: Pattern,
}

/// Adds clients step by step. All three values are set, or none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Staircase {
    pub start: usize,
    pub step: usize,
    pub seconds: u64,
}

/// Periodic increase and decrease of the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wave {
    /// Greater than 0 and less than 1: the interval between two requests becomes longer and shorter
    /// by this share.
    pub share: f64,
    pub seconds: u64,
}

/// Latency limit, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// `None`: the average.
    pub percentile: Option<f64>,
    pub micros: f64,
}

#[derive(Debug, Clone)]
pub struct Options {
    pub host: String,
    pub port: u16,
    pub unix_socket: Option<String>,
    /// 4 or 6 if only this address family may be used.
    pub family: Option<u8>,
    pub protocol: Protocol,
    pub user: Option<String>,
    pub password: Option<String>,
    pub tls: Option<Tls>,
    pub database: u32,
    pub cluster: bool,
    /// Additional addresses for the discovery of the cluster.
    pub seeds: Vec<(String, u16)>,

    pub requests: Requests,
    pub test_time: Option<u64>,
    /// Run until a signal is received: keep no data that grows over time, and wait for a target
    /// that is unavailable.
    pub endless: bool,
    pub clients: usize,
    pub threads: usize,
    pub pipeline: usize,
    pub ratio: (u64, u64),
    pub run_count: u32,
    /// Requests per second of each connection.
    pub rate_limiting: Option<u64>,
    /// Total operations per second, on a schedule that does not wait for replies.
    pub rate: Option<f64>,
    pub rate_wave: Option<Wave>,

    pub size: Size,
    pub random_data: bool,
    /// Write derived values, and check the values that are read.
    pub data_verify: bool,
    pub verify_only: bool,
    pub expiry: Option<(u64, u64)>,
    pub data_offset: Option<u64>,
    pub key_prefix: String,
    pub key_minimum: u64,
    pub key_maximum: u64,
    pub key_pattern: (Pattern, Pattern),
    pub key_stddev: Option<f64>,
    pub key_median: Option<f64>,
    pub key_zipf_exp: f64,
    pub distinct_client_seed: bool,
    pub randomize: bool,

    /// Used instead of SETs and GETs.
    pub commands: Vec<Command>,
    pub breakdown_by_line: bool,
    /// SETs, and the number of WAITs that follow them.
    pub wait_ratio: Option<(u64, u64)>,
    pub replicas: (u64, u64),
    pub wait_timeout: (u64, u64),
    pub size_grows: bool,
    pub client_no_touch: bool,
    pub pin_threads: bool,
    pub reconnect_interval: Option<u64>,
    pub max_reconnect_attempts: u32,
    pub reconnect_backoff_factor: f64,
    pub connection_timeout: u64,
    pub retry_on_error: bool,
    pub max_retries: i64,
    pub staircase: Staircase,
    pub start_jitter: (u64, u64),
    pub miss_rate_threshold: f64,
    pub find_max: Option<Target>,
    pub find_max_step: u64,

    pub out_file: Option<String>,
    pub json_out_file: Option<String>,
    pub hdr_file_prefix: Option<String>,
    pub hide_histogram: bool,
    pub show_config: bool,
    pub print_percentiles: Vec<f64>,
    pub print_all_runs: bool,
    pub live_lines: Option<Live>,
    /// Seconds within which all connections must be ready.
    pub connection_stage_timeout: u64,
    /// Milliseconds after which a request without a reply fails.
    pub request_timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    Stdout,
    Descriptor(i32),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host: "localhost".into(),
            port: 6379,
            unix_socket: None,
            family: None,
            protocol: Protocol::Redis,
            user: None,
            password: None,
            tls: None,
            database: 0,
            cluster: false,
            seeds: Vec::new(),
            requests: Requests::PerClient(10_000),
            test_time: None,
            endless: false,
            clients: 50,
            threads: 4,
            pipeline: 1,
            ratio: (1, 10),
            run_count: 1,
            rate_limiting: None,
            rate: None,
            rate_wave: None,
            size: Size::Fixed(32),
            random_data: false,
            data_verify: false,
            verify_only: false,
            expiry: None,
            data_offset: None,
            key_prefix: "memtier-".into(),
            key_minimum: 0,
            key_maximum: 10_000_000,
            key_pattern: (Pattern::Random, Pattern::Random),
            key_stddev: None,
            key_median: None,
            key_zipf_exp: 1.0,
            distinct_client_seed: false,
            randomize: false,
            commands: Vec::new(),
            breakdown_by_line: false,
            wait_ratio: None,
            replicas: (1, 1),
            wait_timeout: (0, 0),
            size_grows: false,
            client_no_touch: false,
            pin_threads: false,
            reconnect_interval: None,
            max_reconnect_attempts: 0,
            reconnect_backoff_factor: 0.0,
            connection_timeout: 5,
            retry_on_error: false,
            max_retries: -1,
            staircase: Staircase::default(),
            start_jitter: (0, 0),
            miss_rate_threshold: 1.0,
            find_max: None,
            find_max_step: 3,
            out_file: None,
            json_out_file: None,
            hdr_file_prefix: None,
            hide_histogram: false,
            show_config: false,
            print_percentiles: vec![50.0, 99.0, 99.9],
            print_all_runs: false,
            live_lines: None,
            connection_stage_timeout: 30,
            request_timeout: 30_000,
        }
    }
}

impl Size {
    pub fn largest(&self) -> usize {
        match self {
            Self::Fixed(size) | Self::Range(_, size) => *size,
            Self::List(list) => list.iter().map(|(size, _)| *size).max().unwrap_or(0),
        }
    }
}

impl Options {
    /// Returns whether a value of a key can have this size. `drawn` is the size that a SET of the
    /// key would have now.
    pub fn is_value_size(&self, size: usize, drawn: usize) -> bool {
        match &self.size {
            Size::Range(low, high) if !self.size_grows => (*low..=*high).contains(&size),
            Size::List(list) => list.iter().any(|(listed, _)| *listed == size),
            Size::Fixed(_) | Size::Range(..) => size == drawn,
        }
    }

    pub fn all_clients(&self) -> usize {
        self.clients * self.threads
    }

    /// Returns the first key and the number of keys that the client with the index `number` has
    /// under the pattern P.
    pub fn part(&self, number: usize) -> (u64, u64) {
        let size = (self.key_maximum - self.key_minimum) / self.all_clients() as u64 + 1;
        let first = self.key_minimum + number as u64 * size;
        let end = (first + size).min(self.key_maximum + 1);
        (first.min(self.key_maximum), end.saturating_sub(first))
    }

    /// Returns the number of requests of the client with the index `number`, or `None` if the run
    /// has a time limit instead.
    pub fn requests_of(&self, number: usize) -> Option<u64> {
        match (self.test_time, self.requests) {
            _ if self.endless => None,
            (Some(_), _) => None,
            (None, Requests::PerClient(requests)) => Some(requests),
            (None, Requests::AllKeys) if self.is_parallel() => Some(self.part(number).1),
            (None, Requests::AllKeys) => Some(self.key_maximum - self.key_minimum + 1),
        }
    }

    fn is_parallel(&self) -> bool {
        match self.commands.as_slice() {
            [] => self.key_pattern == (Pattern::Parallel, Pattern::Parallel),
            commands => commands.iter().all(|command| command.pattern == Pattern::Parallel),
        }
    }

    pub fn total_requests(&self) -> Option<u64> {
        (0..self.all_clients()).map(|number| self.requests_of(number)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_belongs_to_exactly_one_client() {
        for (minimum, maximum) in [(1, 10), (0, 0), (1, 100_000), (5, 12), (0, 7)] {
            let options = Options {
                key_minimum: minimum,
                key_maximum: maximum,
                threads: 2,
                clients: 2,
                ..Options::default()
            };
            let mut keys: Vec<u64> = Vec::new();
            for number in 0..4 {
                let (first, count) = options.part(number);
                keys.extend(first..first + count);
            }
            assert_eq!(keys, (minimum..=maximum).collect::<Vec<_>>());
        }
    }
}
