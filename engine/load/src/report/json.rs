//! The JSON file: the layout of memtier_benchmark with additional keys. It contains no secrets.

use crate::client_statistics::{ClientStatistics, LAST_BUCKET, listed};
use crate::options::{Options, Protocol, Requests, Size};
use crate::report::live::upper_bound;
use crate::report::text::distribution;
use crate::report::{Point, Report, Section, aggregate, milliseconds};
use crate::search::{Search, Step};
use crate::tally::Row;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Number of buckets in the histograms of all clients together that the report contains.
const MAX_CLIENT_BUCKETS: usize = 200_000;

pub fn report(options: &Options, runs: &[Report], sections: &[Section]) -> Value {
    let mut document = Map::new();
    let mut configuration = configuration(options);
    let stairs = options.staircase;
    if stairs.seconds > 0 {
        configuration["clients_start"] = json!(stairs.start);
        configuration["clients_step"] = json!(stairs.step);
        configuration["step_duration"] = json!(stairs.seconds);
    }
    document.insert("configuration".into(), configuration);
    let mut information = Map::new();
    information.insert("Threads".into(), json!(options.threads));
    information.insert("Connections per thread".into(), json!(options.clients));
    match options.test_time {
        Some(seconds) => information.insert("Seconds".into(), json!(seconds)),
        None => information.insert("Requests per client".into(), json!(options.requests_of(0))),
    };
    information.insert("Format version".into(), json!(2));
    document.insert("run information".into(), information.into());
    for section in sections {
        let (heading, value) = match section {
            Section::Run(heading, run) => (heading, self::section(options, &runs[*run])),
            Section::Aggregate(heading) => (heading, self::section(options, &aggregate(runs))),
        };
        document.insert(heading.clone(), value);
    }
    document.into()
}

fn flag(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn range(value: Option<(u64, u64)>) -> String {
    value.map_or_else(|| "0-0".into(), |(low, high)| format!("{low}-{high}"))
}

/// Returns the value of every option.
pub fn configuration(options: &Options) -> Value {
    let protocol = match options.protocol {
        Protocol::Redis => "redis",
        Protocol::Resp2 => "resp2",
        Protocol::Resp3 => "resp3",
    };
    let requests = match options.requests {
        _ if options.test_time.is_some() => 0,
        Requests::PerClient(requests) => requests,
        Requests::AllKeys => options.requests_of(0).unwrap_or(0),
    };
    let (size, sizes) = match &options.size {
        Size::Fixed(size) => (*size, (String::from("0-0"), String::new())),
        Size::Range(low, high) => (0, (format!("{low}-{high}"), String::new())),
        Size::List(list) => {
            let items: Vec<String> = list.iter().map(|(size, weight)| format!("{size}:{weight}")).collect();
            (0, (String::from("0-0"), items.join(",")))
        }
    };
    let percentiles: Vec<String> = options.print_percentiles.iter().map(f64::to_string).collect();
    json!({
        "server": options.host,
        "port": options.port,
        "unix socket": options.unix_socket,
        "address family": options.family.map_or("Unspecified", |family| if family == 4 { "AF_INET" } else { "AF_INET6" }),
        "protocol": protocol,
        "out_file": options.out_file,
        "client_stats": null,
        "run_count": options.run_count,
        "debug": 0,
        "requests": requests,
        "rate_limit": options.rate_limiting.unwrap_or(0),
        "rate": options.rate,
        "command": options.commands.iter().map(|command| command.line.as_str()).collect::<Vec<_>>(),
        "retry_on_error": flag(options.retry_on_error),
        "clients": options.clients,
        "threads": options.threads,
        "test_time": options.test_time.unwrap_or(0),
        "ratio": format!("{}:{}", options.ratio.0, options.ratio.1),
        "pipeline": options.pipeline,
        "data_size": size,
        "data_offset": options.data_offset.unwrap_or(0),
        "random_data": flag(options.random_data),
        "data_size_range": sizes.0,
        "data_size_list": sizes.1,
        "data_size_pattern": if options.size_grows { "S" } else { "R" },
        "expiry_range": range(options.expiry),
        "data_import": null,
        "data_verify": flag(options.data_verify),
        "verify_only": flag(options.verify_only),
        "generate_keys": flag(false),
        "key_prefix": options.key_prefix,
        "key_minimum": options.key_minimum,
        "key_maximum": options.key_maximum,
        "key_pattern": format!("{}:{}", options.key_pattern.0.letter(), options.key_pattern.1.letter()),
        "key_stddev": options.key_stddev.unwrap_or(0.0),
        "key_median": options.key_median.unwrap_or(0.0),
        "key_zipf_exp": options.key_zipf_exp,
        "reconnect_interval": options.reconnect_interval.unwrap_or(0),
        "multi_key_get": 0,
        "authenticate": "",
        "select-db": options.database,
        "no-expiry": flag(false),
        "wait-ratio": options.wait_ratio.map_or_else(|| "0:0".into(), |(sets, waits)| format!("{sets}:{waits}")),
        "num-slaves": range(Some(options.replicas)),
        "wait-timeout": range(Some(options.wait_timeout)),
        "json-out-file": options.json_out_file,
        "hdr_file_prefix": options.hdr_file_prefix,
        "print_percentiles": percentiles.join(","),
        "distinct_client_seed": flag(options.distinct_client_seed),
        "randomize": flag(options.randomize),
        "hide_histogram": flag(options.hide_histogram),
        "cluster_mode": flag(options.cluster),
        "tls": flag(options.tls.is_some()),
    })
}

fn section(options: &Options, run: &Report) -> Value {
    let mut section = Map::new();
    section.insert(
        "Runtime".into(),
        json!({
            "Start time": (run.began * 1_000.0) as u64,
            "Finish time": (run.finished * 1_000.0) as u64,
            "Total duration": (run.seconds * 1_000.0) as u64,
            "Time unit": "MILLISECONDS",
            "Interrupted": flag(run.stopped),
            "Given up": flag(run.gave_up),
        }),
    );
    let total = run.total.total();
    let rows = run.total.rows.iter().chain([&total]);
    let names = run.names.iter().map(|(name, _)| name.as_str()).chain(["Totals"]);
    for ((name, row), series) in names.zip(rows).zip(&run.series) {
        section.insert(name.into(), command(options, run, name, row, series));
    }
    section.insert("Errors".into(), json!(run.total.errors));
    if options.data_verify {
        section.insert("Mismatched keys".into(), json!(run.total.mismatched_keys));
    }
    section.insert("Clients".into(), clients(run));
    section.insert("Retries".into(), json!(run.total.retried));
    section.insert("Skipped keys".into(), json!(run.total.skipped));
    section.insert("Outages".into(), outages(run));
    section.insert(
        "Generator".into(),
        json!({"Busiest thread": run.busiest_thread,
        "Schedule lag (us)": run.total.lag_micros}),
    );
    if !options.hide_histogram {
        for ((_, name), row) in run.names.iter().zip(&run.total.rows) {
            let steps = distribution(row.latency());
            let steps = steps.iter().map(|(value, percent)| json!({"<=msec": value, "percent": percent}));
            section.insert(name.clone(), steps.collect());
        }
    }
    section.into()
}

pub fn outages(run: &Report) -> Value {
    let unix = |nanos: u64| run.began + nanos as f64 / 1e9;
    let outage = |(shard, outage): &(String, crate::outage::Outage)| {
        let ended = outage.gap.ended.map(unix);
        let seconds = ended.unwrap_or(run.finished) - unix(outage.gap.began);
        json!({"shard": shard, "began": unix(outage.gap.began), "ended": ended, "seconds": seconds,
            "errors": outage.errors, "lost": outage.lost, "retried": outage.retried})
    };
    run.outages.iter().map(outage).collect()
}

/// Returns the statistics of the clients. Their histograms are coarser if they would be too large.
fn clients(run: &Report) -> Value {
    let listed = listed(&run.clients);
    let buckets = |client: &ClientStatistics| {
        client.histogram.as_ref().map_or(0, |histogram| histogram.iter_recorded().count())
    };
    let is_coarse = listed.iter().map(|(_, client)| buckets(client)).sum::<usize>() > MAX_CLIENT_BUCKETS;
    let client = |(number, client): &(usize, &ClientStatistics)| {
        let mut value = json!({
            "Client": number,
            "Count": client.ops,
            "Average Latency": client.average() / 1e6,
            "Max Average Latency": client.max_average / 1e6,
            "Max Latency": milliseconds(client.max),
        });
        if let Some(histogram) = &client.histogram {
            for p in [50.0, 99.0] {
                value[percentile_name(p)] = json!(milliseconds(histogram.value_at_percentile(p)));
            }
            value["Histogram (us)"] = client_histogram(histogram, is_coarse);
        }
        value
    };
    json!({
        "Omitted": run.clients.len() - listed.len(),
        "Listed": listed.iter().map(client).collect::<Vec<_>>(),
    })
}

/// Returns the number of requests by latency in microseconds.
fn client_histogram(histogram: &Histogram<u32>, is_coarse: bool) -> Value {
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    for step in histogram.iter_recorded() {
        let micros = step.value_iterated_to();
        let bucket = if is_coarse { upper_bound(micros) } else { micros };
        *buckets.entry(bucket.min(LAST_BUCKET)).or_default() += u64::from(step.count_at_value());
    }
    buckets
        .into_iter()
        .map(|(micros, count)| (micros.to_string(), json!(count)))
        .collect::<Map<_, _>>()
        .into()
}

/// Steps and result of `--find-max`.
pub fn search(search: &Search) -> Value {
    let step = |step: &Step| json!({"rate": step.rate, "reached": step.reached, "latency_us": step.latency, "holds": step.holds});
    json!({"rate": search.found(), "steps": search.steps.iter().map(step).collect::<Vec<_>>()})
}

fn command(options: &Options, run: &Report, name: &str, row: &Row, series: &[Point]) -> Value {
    let seconds = run.duration().max(1e-9);
    let rate = |count: u64| count as f64 / seconds;
    let latency = row.latency();
    let average = if latency.is_empty() { 0.0 } else { latency.mean() / 1_000.0 };
    let mut command = Map::new();
    let mut put = |key: &str, value: Value| drop(command.insert(key.into(), value));
    put("Count", json!(row.good));
    put("Ops/sec", json!(rate(row.good)));
    put("Hits/sec", json!(rate(row.hits)));
    put("Misses/sec", json!(rate(row.misses)));
    if options.cluster {
        put("MOVED/sec", json!(rate(row.moved)));
        put("ASK/sec", json!(rate(row.ask)));
    }
    let errors = if name == "Totals" { run.total.connection_errors } else { 0 };
    put("Connection Errors/sec", json!(rate(errors)));
    put("Connection Errors", json!(errors));
    put("Errors", json!(row.errors));
    put("Latency", json!(average));
    put("Average Latency", json!(average));
    put("Accumulated Latency", json!((average * latency.len() as f64) as u64));
    put("Min Latency", json!(milliseconds(latency.min())));
    put("Max Latency", json!(milliseconds(latency.max())));
    put("KB/sec", json!(rate(row.sent + row.received) / 1024.0));
    put("KB/sec RX/TX", json!(rate(row.sent + row.received) / 1024.0));
    put("KB/sec RX", json!(rate(row.received) / 1024.0));
    put("KB/sec TX", json!(rate(row.sent) / 1024.0));
    put("Time-Serie", time_serie(options, series));
    put("Percentile Latencies", percentiles(options, latency));
    if !row.response.is_empty() {
        put("Service Percentile Latencies", percentiles(options, &row.service));
    }
    command.into()
}

/// Returns `p50.00`, with more digits only where two would hide a difference.
fn percentile_name(percentile: f64) -> String {
    let short = format!("p{percentile:.2}");
    if (percentile * 100.0).fract().abs() < 1e-9 { short } else { format!("p{percentile}") }
}

fn percentiles(options: &Options, latency: &Histogram<u64>) -> Value {
    let mut values = Map::new();
    for p in &options.print_percentiles {
        values.insert(percentile_name(*p), json!(milliseconds(latency.value_at_percentile(*p))));
    }
    let log = json!({"Compressed Histogram": compressed(latency)});
    values.insert("Histogram log format".into(), log);
    values.into()
}

/// Returns a histogram in the format of the HdrHistogram log.
pub fn compressed(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    match V2DeflateSerializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => STANDARD.encode(bytes),
        Err(_) => String::new(),
    }
}

fn time_serie(options: &Options, series: &[Point]) -> Value {
    let mut seconds = Map::new();
    for (second, point) in series.iter().enumerate() {
        let mut value = Map::new();
        value.insert("Bytes RX".into(), json!(point.received));
        value.insert("Bytes TX".into(), json!(point.sent));
        value.insert("Count".into(), json!(point.good));
        if point.good > 0 {
            value.insert("Average Latency".into(), json!(point.average));
            value.insert("Accumulated Latency".into(), json!((point.average * point.good as f64) as u64));
            value.insert("Min Latency".into(), json!(point.minimum));
            value.insert("Max Latency".into(), json!(point.maximum));
            for (p, latency) in options.print_percentiles.iter().zip(&point.percentiles) {
                value.insert(percentile_name(*p), json!(latency));
            }
        }
        seconds.insert(second.to_string(), value.into());
    }
    seconds.into()
}
