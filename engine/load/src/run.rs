//! A complete run, from arguments to exit status: checks the target, starts the threads, collects
//! their results and reports them.

use crate::client_statistics::ClientStatistics;
use crate::discovery;
use crate::options::{HELP, Options, ParsedArguments, parse};
use crate::outage::{self, Outage, OutageAccount};
use crate::probe::{self, Probe};
use crate::report::live::Live;
use crate::report::{Report, Reporter};
use crate::search::Search;
use crate::shared::Shared;
use crate::tally::Tally;
use crate::tls;
use crate::topology::Topology;
use crate::worker::{ThreadMessage, Worker};
use crate::workload::Workload;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const EXIT_INVALID: u8 = 2;
const EXIT_NOTHING_MEASURED: u8 = 3;

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options = match parse(arguments) {
        Ok(ParsedArguments::Help) => {
            print!("{HELP}");
            return ExitCode::from(EXIT_INVALID);
        }
        Ok(ParsedArguments::Version) => {
            println!("shardboard-load {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Ok(ParsedArguments::Load(options)) => *options,
        Err(message) => {
            eprintln!("shardboard-load: {message}");
            return ExitCode::from(EXIT_INVALID);
        }
    };
    let mut live = match Live::open(options.live_lines) {
        Ok(live) => live,
        Err(message) => {
            eprintln!("shardboard-load: {message}");
            return ExitCode::from(EXIT_INVALID);
        }
    };
    match measure(&options, &mut live) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("shardboard-load: nothing was measured: no request succeeded");
            ExitCode::from(EXIT_NOTHING_MEASURED)
        }
        Err(message) => {
            eprintln!("shardboard-load: {message}");
            live.write_error_line(&message);
            ExitCode::from(EXIT_INVALID)
        }
    }
}

/// Runs the load. Returns whether anything was measured.
fn measure(options: &Options, live: &mut Live) -> Result<bool, String> {
    raise_file_limit(options)?;
    let stopped = Arc::new(AtomicBool::new(false));
    let current: Arc<Mutex<Option<Arc<Shared>>>> = Arc::default();
    watch_signals(&stopped, &current)?;
    let step = options.find_max.map(|_| options.find_max_step);
    let mut reporter = Reporter::new(&Options { test_time: options.test_time.or(step), ..options.clone() })?;
    let session = tls::session(options)?;
    let one = |number: u32, options: &Options, live: &mut Live| -> Result<Option<Report>, String> {
        let topology = target(options, session.as_ref(), &stopped)?;
        if stopped.load(Ordering::Acquire) {
            return Ok(None);
        }
        let warning = memory(options, session.as_ref(), &topology);
        if let Some(warning) = &warning {
            eprintln!("shardboard-load: {warning}");
        }
        let seed = if options.randomize { rand::random() } else { 0x5eed };
        let shared = Shared::new(options.clone(), Workload::new(options), session.clone(), topology, seed);
        let shared = Arc::new(shared);
        *current.lock().expect("a thread that panics aborts the process") = Some(Arc::clone(&shared));
        if stopped.load(Ordering::Acquire) {
            // The signal arrived before `current` was set.
            shared.end();
        }
        let report = gather(&shared, number, live, warning, &stopped);
        *current.lock().expect("a thread that panics aborts the process") = None;
        report.map(Some)
    };
    if let Some(limit) = options.find_max {
        let mut search = Search::default();
        let mut best = None;
        while let Some(next) = search.next(options) {
            let number = search.steps.len() as u32 + 1;
            let Some(report) = one(number, &next, live)? else { break };
            if search.record_step(limit, next.rate, &report) || best.is_none() {
                best = Some(report);
            }
            if stopped.load(Ordering::Acquire) {
                break;
            }
        }
        live.found(&search);
        best.into_iter().for_each(|report| reporter.run(report));
        return reporter.finish(Some(&search));
    }
    for number in 1..=options.run_count {
        let Some(report) = one(number, options, live)? else { break };
        reporter.run(report);
        if stopped.load(Ordering::Acquire) {
            break;
        }
        if number < options.run_count {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    reporter.finish(None)
}

/// Raises the limit of open files as far as this process may, because every connection is a
/// descriptor.
fn raise_file_limit(options: &Options) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let needed = (options.all_clients() + 100) as u64;
    match limit.maximum {
        Some(allowed) if allowed < needed => Err(format!(
            "{} connections need {needed} open files, and {allowed} are allowed (ulimit -n)",
            options.all_clients()
        )),
        _ => Ok(()),
    }
}

/// Makes SIGTERM and SIGINT end the load. Results up to that time are reported.
fn watch_signals(stopped: &Arc<AtomicBool>, current: &Arc<Mutex<Option<Arc<Shared>>>>) -> Result<(), String> {
    let mut signals =
        signal_hook::iterator::Signals::new([SIGTERM, SIGINT]).map_err(|error| error.to_string())?;
    let (stopped, current) = (Arc::clone(stopped), Arc::clone(current));
    std::thread::spawn(move || {
        for _ in signals.forever() {
            stopped.store(true, Ordering::Release);
            if let Some(shared) = &*current.lock().expect("a thread that panics aborts the process") {
                shared.end();
            }
        }
    });
    Ok(())
}

/// Waits until the target is usable, as long as the options allow, and returns its topology.
fn target(
    options: &Options,
    session: Option<&tls::Session>,
    stopped: &AtomicBool,
) -> Result<Topology, String> {
    let deadline = Instant::now() + Duration::from_secs(options.connection_stage_timeout);
    let mut reported = String::new();
    loop {
        match try_target(options, session, deadline) {
            Ok(topology) => return Ok(topology),
            Err((_, message)) if options.endless && !stopped.load(Ordering::Acquire) => {
                if reported != message {
                    eprintln!("shardboard-load: {message}; retrying until the target is usable");
                    reported = message;
                }
                std::thread::sleep(Duration::from_millis(500));
            }
            Err((false, message)) => return Err(message),
            Err((true, message)) if Instant::now() >= deadline => return Err(message),
            Err((true, message)) if stopped.load(Ordering::Acquire) => return Err(message),
            Err((true, _)) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Connects to the target once. The error contains whether it is transient.
fn try_target(
    options: &Options,
    session: Option<&tls::Session>,
    deadline: Instant,
) -> Result<Topology, (bool, String)> {
    let patience = deadline
        .saturating_duration_since(Instant::now())
        .clamp(Duration::from_millis(500), Duration::from_secs(5));
    if let Some(path) = &options.unix_socket {
        let mut probe = Probe::unix(options, path, patience).map_err(|error| (false, error))?;
        usable(&mut probe, patience)?;
        return Ok(Topology::single(SocketAddr::from(([127, 0, 0, 1], 0))));
    }
    let mut addresses = Vec::new();
    let mut wrong = String::new();
    for (host, port) in std::iter::once(&(options.host.clone(), options.port)).chain(&options.seeds) {
        match probe::addresses(host, *port, options.family) {
            Ok(found) => addresses.extend(found),
            Err(error) => wrong = error,
        }
    }
    let mut is_transient = false;
    for address in addresses {
        let found = Probe::connect(options, session, address, patience)
            .map_err(|error| (is_transient_error(&error), error));
        let found = found.and_then(|mut probe| {
            usable(&mut probe, patience)
                .map_err(|(transient, error)| (transient, format!("{address}: {error}")))?;
            if !options.cluster {
                return Ok(Topology::single(address));
            }
            let topology =
                probe.topology(patience).map_err(|error| (false, format!("{address}: {error}")))?;
            match topology.is_complete() {
                true => Ok(topology),
                false => Err((true, format!("{address}: not every slot of the cluster has an owner"))),
            }
        });
        match found {
            Ok(topology) => return Ok(topology),
            Err((transient, error)) => {
                is_transient |= transient;
                wrong = error;
            }
        }
    }
    Err((is_transient, wrong))
}

/// Whether an error may be transient, unlike a wrong password, an invalid certificate or a port
/// without a listener.
fn is_transient_error(error: &str) -> bool {
    ["LOADING", "MASTERDOWN", "CLUSTERDOWN", "max number of clients"].iter().any(|word| error.contains(word))
}

fn usable(probe: &mut Probe, patience: Duration) -> Result<(), (bool, String)> {
    let reply = probe.command(&["PING"], patience).map_err(|error| (false, error))?;
    if reply.first() != Some(&b'-') {
        return Ok(());
    }
    let message = probe::error_text(&reply);
    Err((is_transient_error(&message), message))
}

/// Returns a warning if the keys do not fit into memory. There is none for servers that do not
/// report a limit.
fn memory(options: &Options, session: Option<&tls::Session>, topology: &Topology) -> Option<String> {
    let patience = Duration::from_secs(1);
    let mut probe = match &options.unix_socket {
        Some(path) => Probe::unix(options, path, patience).ok()?,
        None => Probe::connect(options, session, *topology.targets.first()?, patience).ok()?,
    };
    let reply = probe.command(&["INFO", "memory"], patience).ok()?;
    probe::memory_warning(options, &String::from_utf8_lossy(&reply), topology.primaries())
}

pub fn unix_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Runs the threads and sums their results second by second.
fn gather(
    shared: &Arc<Shared>,
    number: u32,
    live: &mut Live,
    warning: Option<String>,
    stopped: &AtomicBool,
) -> Result<Report, String> {
    let (sender, receiver) = channel();
    let (hint, hints) = channel();
    let options = &shared.options;
    let mut report = Report::new(shared, number, unix_now());
    live.begin(options, report.began, warning);
    let mut threads = Vec::new();
    for thread in 0..options.threads {
        let worker =
            Worker::new(thread, Arc::clone(shared), hint.clone()).map_err(|error| error.to_string())?;
        let sender = sender.clone();
        let run = move || worker.run(&sender);
        let spawned = std::thread::Builder::new().name(format!("load-{thread}")).spawn(run);
        threads.push(spawned.map_err(|error| format!("a thread cannot be started: {error}"))?);
    }
    drop((sender, hint));
    let discovery = {
        let shared = Arc::clone(shared);
        std::thread::spawn(move || discovery::run(&shared, &hints))
    };
    let accounts = receive(shared, &receiver, &mut report, live);
    for thread in threads {
        let _ = thread.join();
    }
    shared.end();
    let _ = discovery.join();
    report.ended(unix_now(), shared.start.elapsed().as_secs_f64());
    report.stopped = stopped.load(Ordering::Acquire);
    for (group, name) in shared.group_names.iter().enumerate() {
        let of_shard: Vec<&OutageAccount> = accounts.iter().map(|all| &all[group]).collect();
        report
            .outages
            .extend(outage::outages(&of_shard).into_iter().map(|outage: Outage| (name.clone(), outage)));
    }
    live.end(&report);
    Ok(report)
}

/// Receives results until the last thread has ended. A second is reported when the results of all
/// threads have arrived.
fn receive(
    shared: &Shared,
    receiver: &Receiver<ThreadMessage>,
    report: &mut Report,
    live: &mut Live,
) -> Vec<Vec<OutageAccount>> {
    let threads = shared.options.threads;
    let mut pending: BTreeMap<u64, Vec<Option<Box<Tally>>>> = BTreeMap::new();
    let mut ended: Vec<Option<u64>> = vec![None; threads];
    let mut accounts = Vec::new();
    let mut clients: Vec<Vec<ClientStatistics>> = vec![Vec::new(); threads];
    while let Ok(message) = receiver.recv() {
        let (thread, number, tally) = match message {
            ThreadMessage::Second { thread, number, tally } => (thread, number, tally),
            ThreadMessage::End { thread, number, tally, accounts: of_thread, clients: seats, gave_up } => {
                ended[thread] = Some(number);
                accounts.push(of_thread);
                clients[thread] = seats;
                report.gave_up |= gave_up;
                (thread, number, tally)
            }
        };
        pending.entry(number).or_insert_with(|| (0..threads).map(|_| None).collect())[thread] = Some(tally);
        while let Some(entry) = pending.first_entry() {
            let second = *entry.key();
            let missing = |thread: &usize| {
                entry.get()[*thread].is_none() && ended[*thread].is_none_or(|last| second <= last)
            };
            if (0..threads).any(|thread| missing(&thread)) {
                break;
            }
            let tallies = entry.remove();
            let is_last = ended.iter().all(Option::is_some) && pending.is_empty();
            let second = report.second(second, tallies, is_last);
            live.second(&second, report);
        }
    }
    report.clients = clients.concat();
    accounts
}
