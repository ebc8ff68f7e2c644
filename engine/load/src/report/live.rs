//! One line of JSON every second for monitoring the run, and the terminal line of
//! memtier_benchmark.

use crate::options::{Live as Destination, Options};
use crate::report::json::{configuration, outages};
use crate::report::{Report, Second, percentile};
use crate::request::AccessKind;
use crate::search::Search;
use crate::tally::Row;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::fd::FromRawFd;

pub struct Live {
    out: Option<Box<dyn Write>>,
}

impl Live {
    pub fn open(destination: Option<Destination>) -> Result<Self, String> {
        let out: Option<Box<dyn Write>> = match destination {
            None => None,
            Some(Destination::Stdout) => Some(Box::new(std::io::stdout())),
            Some(Destination::Descriptor(number)) => {
                if number < 1 || std::fs::metadata(format!("/proc/self/fd/{number}")).is_err() {
                    return Err(format!("--live-lines: descriptor {number} is not open"));
                }
                // SAFETY: the descriptor is open, and its number was passed for exclusive use by
                // this output.
                Some(Box::new(unsafe { File::from_raw_fd(number) }))
            }
        };
        Ok(Self { out })
    }

    fn line(&mut self, value: &Value) {
        if let Some(out) = &mut self.out {
            let text = format!("{value}\n");
            if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
                // The reader has closed the descriptor. The run continues.
                self.out = None;
            }
        }
    }

    pub fn begin(&mut self, options: &Options, at: f64, warning: Option<String>) {
        let mut warnings: Vec<String> = warning.into_iter().collect();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if options.threads > cores {
            warnings.push(format!("{} threads share {cores} cores", options.threads));
        }
        self.line(&json!({"kind": "begin", "at": at, "version": env!("CARGO_PKG_VERSION"),
            "workload": configuration(options), "warnings": warnings}));
    }

    pub fn second(&mut self, second: &Second, report: &Report) {
        if self.out.is_none() {
            // An endless run would let a log file grow without limit.
            if !report.is_endless() || std::io::stderr().is_terminal() {
                terminal(second, report);
            }
            return;
        }
        if second.is_fragment {
            return;
        }
        let tally = &second.tally;
        let total = tally.total();
        let latency = total.latency();
        let mut line = Map::new();
        let mut put = |key: &str, value: Value| drop(line.insert(key.into(), value));
        put("kind", json!("second"));
        put("t", json!(second.number));
        put("at", json!(report.began + (second.number + 1) as f64));
        put("ops", json!(total.good));
        let of = |meaning: AccessKind| -> u64 {
            let rows = tally.rows.iter().zip(&report.meanings);
            rows.filter(|(_, known)| **known == meaning).map(|(row, _)| row.good).sum()
        };
        put("reads", json!(of(AccessKind::Read)));
        put("writes", json!(of(AccessKind::Write)));
        put("misses", json!(total.misses));
        put("redirected", json!(total.moved + total.ask));
        put("moved", json!(total.moved));
        put("ask", json!(total.ask));
        put("errors", json!(tally.errors));
        put("connection_errors", json!(tally.connection_errors));
        put("skipped", json!(tally.skipped));
        put("sent_bytes", json!(total.sent));
        put("received_bytes", json!(total.received));
        latencies(&total, &mut put);
        put("max_us", json!((!latency.is_empty()).then(|| latency.max())));
        put("histogram", buckets(&total));
        if !total.response.is_empty() {
            put("service_average_us", json!(total.service.mean()));
            put("service_p99_us", json!(percentile(&total.service, 99.0)));
        }
        put("in_flight", json!(tally.in_flight));
        put("progress", json!(report.progress()));
        put("schedule_lag_us", json!(tally.lag_micros));
        put("threads_cpu", json!(second.cpu));
        let line = Value::from(line);
        self.line(&line);
    }

    pub fn end(&mut self, report: &Report) {
        if self.out.is_none() {
            eprintln!();
        }
        let total = report.total.total();
        let mut line = Map::new();
        let mut put = |key: &str, value: Value| drop(line.insert(key.into(), value));
        put("kind", json!("end"));
        put("at", json!(report.finished));
        put("seconds", json!(report.duration()));
        put("ops", json!(total.good));
        put("ops_per_second", json!(total.good as f64 / report.duration().max(1e-9)));
        latencies(&total, &mut put);
        put("max_us", json!((!total.latency().is_empty()).then(|| total.latency().max())));
        put("histogram", exact(&total));
        put("hits", json!(total.hits));
        put("misses", json!(total.misses));
        put("errors", json!(report.total.errors));
        if !report.total.mismatched_keys.is_empty() {
            put("mismatched_keys", json!(report.total.mismatched_keys));
        }
        put("connection_errors", json!(report.total.connection_errors));
        put("skipped", json!(report.total.skipped));
        put("redirected", json!(total.moved + total.ask));
        put("outages", outages(report));
        put("bottleneck", json!(report.busiest_thread > 0.95));
        put("stopped", json!(report.stopped));
        put("gave_up", json!(report.gave_up));
        put("measured", json!(total.good > 0));
        let line = Value::from(line);
        self.line(&line);
    }

    /// Writes the result of `--find-max`, after the lines of its steps.
    pub fn found(&mut self, search: &Search) {
        let mut line = crate::report::json::search(search);
        line["kind"] = json!("found");
        self.line(&line);
    }

    /// Writes the reason why no load was started.
    pub fn write_error_line(&mut self, message: &str) {
        self.line(&json!({"kind": "error", "message": message}));
    }
}

fn latencies(total: &Row, put: &mut impl FnMut(&str, Value)) {
    let latency = total.latency();
    put("average_us", json!((!latency.is_empty()).then(|| latency.mean())));
    put("p50_us", json!(percentile(latency, 50.0)));
    put("p99_us", json!(percentile(latency, 99.0)));
    put("p999_us", json!(percentile(latency, 99.9)));
}

/// Returns the number of requests by upper bound of their latency in microseconds, with 16 steps
/// per doubling.
fn buckets(total: &Row) -> Value {
    let mut buckets: Vec<(u64, u64)> = Vec::new();
    for step in total.latency().iter_recorded() {
        let bound = upper_bound(step.value_iterated_to());
        match buckets.last_mut() {
            Some((last, count)) if *last == bound => *count += step.count_at_value(),
            _ => buckets.push((bound, step.count_at_value())),
        }
    }
    buckets.into_iter().map(|(bound, count)| (bound.to_string(), json!(count))).collect::<Map<_, _>>().into()
}

/// Returns the same for the complete load with the recorded precision of three digits. The lines of
/// the seconds have coarser steps.
fn exact(total: &Row) -> Value {
    let counted = total.latency().iter_recorded();
    counted
        .map(|step| (step.value_iterated_to().to_string(), json!(step.count_at_value())))
        .collect::<Map<_, _>>()
        .into()
}

/// Returns the upper end of the bucket of a value, with 16 buckets per doubling.
pub fn upper_bound(value: u64) -> u64 {
    let shift = (64 - value.leading_zeros()).saturating_sub(5);
    (((value >> shift) + 1) << shift) - 1
}

/// Prints the status line, which overwrites that of the previous second.
fn terminal(second: &Second, report: &Report) {
    let total = second.tally.total();
    let all = report.total.total();
    let seconds = (second.number + 1) as f64;
    let megabytes = |row: &Row| (row.sent + row.received) as f64 / 1024.0 / 1024.0;
    let errors = match report.total.connection_errors {
        0 => String::new(),
        count => format!(" {count} conn errors,"),
    };
    let end = if std::io::stderr().is_terminal() { "   \r" } else { "\r" };
    eprint!(
        "[RUN #{} {:.0}%, {:3} secs] {:2} threads {:4} in flight:{errors} {:11} ops, {:7} (avg: {:7.0}) ops/sec, {:.2}MB/sec (avg: {:.2}MB/sec), {:5.2} (avg: {:5.2}) msec latency{end}",
        report.number,
        report.progress().unwrap_or(0.0) * 100.0,
        second.number + 1,
        second.cpu.len(),
        second.tally.in_flight,
        all.good,
        total.good,
        all.good as f64 / seconds,
        megabytes(&total),
        megabytes(&all) / seconds,
        total.latency().mean() / 1_000.0,
        all.latency().mean() / 1_000.0,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_a_sixteenth_wide() {
        for value in [1u64, 31, 32, 33, 1_000, 123_456] {
            let bound = upper_bound(value);
            assert!(value <= bound && bound - value <= value / 16, "{value}: {bound}");
            assert_eq!(upper_bound(bound), bound);
        }
    }
}
