//! Results of a run, and their output: a text table and a JSON file like those of
//! memtier_benchmark, live lines, and HDR files.

mod hdr;
mod json;
pub mod live;
mod text;

use crate::client_statistics::ClientStatistics;
use crate::options::Options;
use crate::outage::Outage;
use crate::request::AccessKind;
use crate::search::Search;
use crate::shared::Shared;
use crate::tally::{Row, Tally};
use hdrhistogram::Histogram;
use serde_json::Value;
use std::fs::File;
use std::io::Write;

/// One second of one row, as it is stored in the JSON file: numbers without a histogram.
#[derive(Debug, Clone)]
pub struct Point {
    pub good: u64,
    pub sent: u64,
    pub received: u64,
    pub average: f64,
    pub minimum: f64,
    pub maximum: f64,
    pub percentiles: Vec<f64>,
}

/// One second of the run, for all threads.
#[derive(Debug)]
pub struct Second {
    pub number: u64,
    pub tally: Tally,
    pub cpu: Vec<f64>,
    /// Whether this is the incomplete second at the end.
    pub is_fragment: bool,
}

#[derive(Debug)]
pub struct Report {
    pub number: u32,
    /// Unix time in seconds.
    pub began: f64,
    pub finished: f64,
    pub seconds: f64,
    pub names: Vec<(String, String)>,
    pub meanings: Vec<AccessKind>,
    pub total: Tally,
    /// Seconds of each row, followed by those of the totals.
    pub series: Vec<Vec<Point>>,
    pub outages: Vec<(String, Outage)>,
    /// All clients, by thread.
    pub clients: Vec<ClientStatistics>,
    pub stopped: bool,
    pub gave_up: bool,
    pub busiest_thread: f64,
    pub total_requests: Option<u64>,
    pub test_time: Option<u64>,
    endless: bool,
    percentiles: Vec<f64>,
}

impl Report {
    pub fn new(shared: &Shared, number: u32, began: f64) -> Self {
        let names = shared.workload.names.clone();
        Self {
            number,
            began,
            finished: began,
            seconds: 0.0,
            total: Tally::new(names.len()),
            series: vec![Vec::new(); names.len() + 1],
            names,
            meanings: shared.workload.meanings.clone(),
            outages: Vec::new(),
            clients: Vec::new(),
            stopped: false,
            gave_up: false,
            busiest_thread: 0.0,
            total_requests: shared.options.total_requests(),
            test_time: shared.options.test_time,
            endless: shared.options.endless,
            percentiles: shared.options.print_percentiles.clone(),
        }
    }

    pub fn second(&mut self, number: u64, tallies: Vec<Option<Box<Tally>>>, is_fragment: bool) -> Second {
        let mut sum = Tally::new(self.names.len());
        let mut cpu = Vec::new();
        let mut in_flight = 0;
        for tally in tallies.iter().flatten() {
            sum.add(tally);
            in_flight += tally.in_flight;
            cpu.push(tally.cpu_seconds);
        }
        sum.in_flight = in_flight;
        self.total.add(&sum);
        if !is_fragment {
            self.busiest_thread = cpu.iter().copied().fold(self.busiest_thread, f64::max);
        }
        if self.endless {
            return Second { number, tally: sum, cpu, is_fragment };
        }
        for (row, series) in sum.rows.iter().zip(&mut self.series) {
            series.push(Point::new(row, &self.percentiles));
        }
        let total = Point::new(&sum.total(), &self.percentiles);
        self.series.last_mut().expect("the last series holds the totals").push(total);
        Second { number, tally: sum, cpu, is_fragment }
    }

    pub fn is_endless(&self) -> bool {
        self.endless
    }

    pub fn ended(&mut self, at: f64, seconds: f64) {
        self.finished = at;
        self.seconds = seconds;
    }

    /// Time that rates are based on: the requested duration if the run was not stopped before,
    /// because the run then waits for replies.
    pub fn duration(&self) -> f64 {
        match self.test_time {
            Some(asked) if !self.stopped => self.seconds.min(asked as f64),
            _ => self.seconds,
        }
    }

    pub fn progress(&self) -> Option<f64> {
        let done = |all: u64| self.total.total_done() as f64 / all.max(1) as f64;
        let elapsed = self.series.last().map_or(0, Vec::len) as f64;
        let progress = self.test_time.map(|all| elapsed / all as f64).or(self.total_requests.map(done));
        progress.map(|progress| progress.clamp(0.0, 1.0))
    }
}

impl Tally {
    /// Requests that have completed, successfully or not.
    fn total_done(&self) -> u64 {
        self.rows.iter().map(|row| row.good).sum::<u64>() + self.all_errors()
    }
}

pub fn milliseconds(micros: u64) -> f64 {
    micros as f64 / 1_000.0
}

/// Returns `None` if the histogram is empty.
pub fn percentile(histogram: &Histogram<u64>, percentile: f64) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_percentile(percentile))
}

impl Point {
    fn new(row: &Row, percentiles: &[f64]) -> Self {
        let latency = row.latency();
        Self {
            good: row.good,
            sent: row.sent,
            received: row.received,
            average: latency.mean() / 1_000.0,
            minimum: milliseconds(latency.min()),
            maximum: milliseconds(latency.max()),
            percentiles: percentiles.iter().map(|p| milliseconds(latency.value_at_percentile(*p))).collect(),
        }
    }
}

/// Collects the runs and writes the files.
pub struct Reporter {
    options: Options,
    text: Box<dyn Write>,
    json: Option<File>,
    runs: Vec<Report>,
}

impl Reporter {
    /// Opens the files before the load starts, so that the report of a run cannot get lost.
    pub fn new(options: &Options) -> Result<Self, String> {
        let create = |path: &String| File::create(path).map_err(|error| format!("{path}: {error}"));
        let text: Box<dyn Write> = match (&options.out_file, options.live_lines) {
            (Some(path), _) => Box::new(create(path)?),
            (None, Some(crate::options::Live::Stdout)) => Box::new(std::io::stderr()),
            (None, _) => Box::new(std::io::stdout()),
        };
        let json = options.json_out_file.as_ref().map(create).transpose()?;
        hdr::check(options)?;
        Ok(Self { options: options.clone(), text, json, runs: Vec::new() })
    }

    pub fn run(&mut self, report: Report) {
        self.runs.push(report);
    }

    /// Writes the report. Returns whether anything was measured.
    pub fn finish(mut self, search: Option<&Search>) -> Result<bool, String> {
        let failed = |error: std::io::Error| format!("the report cannot be written: {error}");
        let sections = sections(&self.options, &self.runs);
        let mut text = text::report(&self.options, &self.runs, &sections);
        if let Some(search) = search {
            text += &text::search(search);
        }
        self.text.write_all(text.as_bytes()).and_then(|()| self.text.flush()).map_err(failed)?;
        if let Some(file) = &mut self.json {
            let mut document: Value = json::report(&self.options, &self.runs, &sections);
            if let Some(search) = search {
                document["Find max"] = json::search(search);
            }
            serde_json::to_writer_pretty(&mut *file, &document).map_err(|error| error.to_string())?;
            file.write_all(b"\n").map_err(failed)?;
        }
        if let Some(prefix) = &self.options.hdr_file_prefix {
            self.runs.iter().try_for_each(|run| hdr::write(prefix, run))?;
        }
        Ok(self.runs.iter().any(|run| run.total.rows.iter().any(|row| row.good > 0)))
    }
}

/// Headings and the run of each. The aggregate is computed when it is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Section {
    Run(String, usize),
    Aggregate(String),
}

fn sections(options: &Options, runs: &[Report]) -> Vec<Section> {
    if runs.is_empty() {
        return Vec::new();
    }
    if options.run_count == 1 {
        return vec![Section::Run("ALL STATS".into(), 0)];
    }
    let mut sections = Vec::new();
    if options.print_all_runs {
        sections.extend((0..runs.len()).map(|run| Section::Run(format!("RUN #{} RESULTS", run + 1), run)));
    }
    let rate = |run: &Report| {
        run.total.rows.iter().map(|row| row.good).sum::<u64>() as f64 / run.duration().max(1e-9)
    };
    let by_rate = |a: &usize, b: &usize| rate(&runs[*a]).total_cmp(&rate(&runs[*b]));
    let best = (0..runs.len()).max_by(by_rate).unwrap_or(0);
    let worst = (0..runs.len()).min_by(by_rate).unwrap_or(0);
    sections.push(Section::Run("BEST RUN RESULTS".into(), best));
    sections.push(Section::Run("WORST RUN RESULTS".into(), worst));
    sections.push(Section::Aggregate(format!("AGGREGATED AVERAGE RESULTS ({} runs)", runs.len())));
    sections
}

/// Combines all runs into one: rates are the mean, and percentiles are those of all requests.
pub fn aggregate(runs: &[Report]) -> Report {
    let first = &runs[0];
    let mut total = Tally::new(first.names.len());
    runs.iter().for_each(|run| total.add(&run.total));
    let mut clients = first.clients.clone();
    for run in &runs[1..] {
        clients.iter_mut().zip(&run.clients).for_each(|(client, other)| client.add(other));
    }
    Report {
        number: 0,
        began: first.began,
        finished: runs.last().map_or(first.finished, |run| run.finished),
        seconds: runs.iter().map(Report::duration).sum(),
        names: first.names.clone(),
        meanings: first.meanings.clone(),
        total,
        series: vec![Vec::new(); first.names.len() + 1],
        outages: runs.iter().flat_map(|run| run.outages.clone()).collect(),
        clients,
        stopped: runs.iter().any(|run| run.stopped),
        gave_up: runs.iter().any(|run| run.gave_up),
        busiest_thread: runs.iter().map(|run| run.busiest_thread).fold(0.0, f64::max),
        total_requests: None,
        test_time: None,
        endless: first.endless,
        percentiles: first.percentiles.clone(),
    }
}
