//! The text report: the tables of memtier_benchmark, followed by additional information.

use crate::client_statistics::ClientStatistics;
use crate::options::Options;
use crate::report::{Report, Section, aggregate, milliseconds, percentile};
use crate::request::AccessKind;
use crate::search::Search;
use crate::tally::Row;
use hdrhistogram::Histogram;
use std::fmt::Write;

pub fn report(options: &Options, runs: &[Report], sections: &[Section]) -> String {
    let mut out = String::new();
    if options.show_config {
        let _ = writeln!(out, "{:#}", crate::report::json::configuration(options));
    }
    let _ = writeln!(out, "{:<9} Threads", options.threads);
    let _ = writeln!(out, "{:<9} Connections per thread", options.clients);
    match options.test_time {
        Some(seconds) => writeln!(out, "{seconds:<9} Seconds"),
        None => writeln!(out, "{:<9} Requests per client", options.requests_of(0).unwrap_or(0)),
    }
    .expect("a string takes any text");
    for section in sections {
        match section {
            Section::Run(heading, run) => write_section(&mut out, options, heading, &runs[*run]),
            Section::Aggregate(heading) => write_section(&mut out, options, heading, &aggregate(runs)),
        }
    }
    out
}

fn write_section(out: &mut String, options: &Options, heading: &str, run: &Report) {
    let total = run.total.total();
    let width = run.names.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(6) + 1;
    let mut head = format!("{:<width$}{:>12} {:>12} {:>12} ", "Type", "Ops/sec", "Hits/sec", "Misses/sec");
    if options.cluster {
        let _ = write!(head, "{:>12} {:>12} ", "MOVED/sec", "ASK/sec");
    }
    let _ = write!(head, "{:>15} ", "Avg. Latency");
    for p in &options.print_percentiles {
        let _ = write!(head, "{:>15} ", format!("p{p} Latency"));
    }
    let _ = write!(head, "{:>12} ", "KB/sec");
    let _ = writeln!(out, "\n\n{heading}\n{}\n{head}\n{}", "=".repeat(head.len()), "-".repeat(head.len()));
    for (((name, _), row), meaning) in run.names.iter().zip(&run.total.rows).zip(&run.meanings) {
        let hits = (*meaning == AccessKind::Read).then_some((row.hits, row.misses));
        write_row(out, options, name, width, row, hits, run.duration());
    }
    write_row(out, options, "Totals", width, &total, Some((total.hits, total.misses)), run.duration());
    write_account(out, options, run);
    if !options.hide_histogram {
        write_distribution(out, run);
    }
}

fn write_row(
    out: &mut String,
    options: &Options,
    name: &str,
    width: usize,
    row: &Row,
    hits: Option<(u64, u64)>,
    seconds: f64,
) {
    let rate = |count: u64| count as f64 / seconds.max(1e-9);
    let _ = write!(out, "{name:<width$}{:>12.2} ", rate(row.good));
    match hits {
        Some((hits, misses)) => write!(out, "{:>12.2} {:>12.2} ", rate(hits), rate(misses)),
        None => write!(out, "{:>12} {:>12} ", "---", "---"),
    }
    .expect("a string takes any text");
    if options.cluster {
        let _ = write!(out, "{:>12.2} {:>12.2} ", rate(row.moved), rate(row.ask));
    }
    let latency = row.latency();
    let mut column = |value: Option<f64>| {
        match value {
            Some(value) => write!(out, "{value:>15.5} "),
            None => write!(out, "{:>15} ", "---"),
        }
        .expect("a string takes any text");
    };
    column((!latency.is_empty()).then(|| latency.mean() / 1_000.0));
    for p in &options.print_percentiles {
        column(percentile(latency, *p).map(milliseconds));
    }
    let _ = writeln!(out, "{:>12.2} ", rate(row.sent + row.received) / 1024.0);
}

/// Writes errors, outages and the state of the generator.
fn write_account(out: &mut String, options: &Options, run: &Report) {
    let errors = run.total.all_errors();
    let _ = writeln!(out, "\nErrors: {errors}, connection errors: {}", run.total.connection_errors);
    for (kind, count) in &run.total.errors {
        if *count > 0 {
            let _ = writeln!(out, "  {kind:<16} {count}");
        }
    }
    if options.data_verify {
        let total = run.total.total();
        let wrong = run.total.errors.get("mismatch").copied().unwrap_or(0);
        let _ = writeln!(out, "Values verified: {}, wrong: {wrong}, not found: {}", total.hits, total.misses);
        if !run.total.mismatched_keys.is_empty() {
            let _ = writeln!(out, "First keys with a wrong value: {}", run.total.mismatched_keys.join(", "));
        }
    }
    write_clients(out, &run.clients);
    if run.total.retried > 0 {
        let _ = writeln!(out, "Requests retried after a failure: {}", run.total.retried);
    }
    if run.total.skipped > 0 {
        let _ = writeln!(out, "Keys skipped while their shard was unavailable: {}", run.total.skipped);
    }
    for (shard, outage) in &run.outages {
        let start = outage.gap.began as f64 / 1e9;
        match outage.gap.ended {
            Some(ended) => {
                let seconds = ended as f64 / 1e9 - start;
                let _ = write!(
                    out,
                    "Outage of {shard}: {seconds:.3} s without a successful request, from {start:.3} s"
                );
            }
            None => {
                let _ = write!(out, "Outage of {shard}: from {start:.3} s until the end");
            }
        }
        let _ = writeln!(out, "; {} requests lost, {} retried", outage.lost, outage.retried);
    }
    let total = run.total.total();
    if !total.response.is_empty() {
        let _ = writeln!(
            out,
            "Latency counts from the intended time. From sending the request: avg {:.3} p50 {:.3} p99 {:.3} p99.9 {:.3} ms",
            total.service.mean() / 1_000.0,
            milliseconds(total.service.value_at_percentile(50.0)),
            milliseconds(total.service.value_at_percentile(99.0)),
            milliseconds(total.service.value_at_percentile(99.9)),
        );
    }
    let reads = total.hits + total.misses;
    let missed = total.misses as f64 * 100.0 / reads.max(1) as f64;
    if reads > 0 && missed > options.miss_rate_threshold {
        let _ = writeln!(
            out,
            "{missed:.1} % of the reads found no key: has the database been populated with these keys?"
        );
    }
    if run.busiest_thread > 0.95 {
        let _ = writeln!(
            out,
            "The generator is the bottleneck: a thread used {:.0} % of a core; use more threads.",
            run.busiest_thread * 100.0
        );
    }
    if run.gave_up {
        let _ = writeln!(out, "Stopped: no request succeeded for 60 seconds.");
    }
}

/// Writes the range of the clients' figures. The JSON file contains each client.
fn write_clients(out: &mut String, clients: &[ClientStatistics]) {
    let ops = clients.iter().map(|client| client.ops);
    let (Some(fewest), Some(most)) = (ops.clone().min(), ops.max()) else { return };
    let slowest = clients.iter().map(|client| client.max).max().unwrap_or(0);
    let average = clients.iter().map(|client| client.max_average).fold(0.0, f64::max);
    let _ = writeln!(
        out,
        "Clients: {}, with {fewest} to {most} requests each; maximum latency {:.3} ms, maximum average {:.3} ms",
        clients.len(),
        milliseconds(slowest),
        average / 1e6,
    );
}

fn write_distribution(out: &mut String, run: &Report) {
    let _ = writeln!(out, "\n\nRequest Latency Distribution");
    let _ = writeln!(out, "Type     <= msec         Percent\n{}", "-".repeat(72));
    let mut first = true;
    for ((_, name), row) in run.names.iter().zip(&run.total.rows) {
        if row.good == 0 {
            continue;
        }
        if !std::mem::take(&mut first) {
            let _ = writeln!(out, "---");
        }
        for (value, percent) in distribution(row.latency()) {
            let _ = writeln!(out, "{name:<6} {value:>8.3} {percent:>12.3}");
        }
    }
}

/// Returns latencies in milliseconds, each with the percentage of requests that took no longer.
pub fn distribution(histogram: &Histogram<u64>) -> Vec<(f64, f64)> {
    histogram
        .iter_quantiles(1)
        .map(|step| (milliseconds(step.value_iterated_to()), step.percentile()))
        .collect()
}

/// Formats the steps and the result of `--find-max`.
pub fn search(search: &Search) -> String {
    let mut out = String::from("\n\nHIGHEST RATE WITHIN THE LIMIT\n");
    let _ = writeln!(out, "{:>14} {:>14} {:>14}  Within limit", "Target/sec", "Ops/sec", "Latency ms");
    for step in &search.steps {
        let target = step.rate.map_or_else(|| "closed loop".into(), |rate| format!("{rate:.0}"));
        let latency =
            step.latency.map_or_else(|| "---".into(), |latency| format!("{:.3}", latency / 1_000.0));
        let holds = if step.holds { "yes" } else { "no" };
        let _ = writeln!(out, "{target:>14} {:>14.0} {latency:>14}  {holds}", step.reached);
    }
    match search.found() {
        Some(rate) => writeln!(out, "Found: {rate:.0} requests per second. The tables above show this rate."),
        None => writeln!(out, "Found: none. The tables above show the first step."),
    }
    .expect("a string takes any text");
    out
}
