//! Deterministic simulation: a worker, its clients, its shards and their agent in one thread with a
//! simulated clock. A seed determines all events and their times, so that a failure can be
//! reproduced. Clients check each reply; shards check each request.
//!
//! `SHARDBOARD_SIMULATION=SEED cargo test -p proxy simulation` runs one seed, `…=FROM..TO` runs a
//! range of seeds. `SHARDBOARD_THOROUGH=1` runs four times as many seeds as the default.

mod clients;
mod shards;

use super::{ConnectionCount, Message, Worker, clock::Clock, inbox::Inbox, io::Io, reports::Reports};
use crate::budget::Budget;
use crate::control::Database;
use crate::event::Event;
use crate::poll::Poll;
use crate::stats::Connections;
use crate::stream::Stream;
use crate::worker::{Counts, Handle};
use clients::{Client, Shared};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use shards::{PAIRS, Shards, TAGS};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// A child process holds a copy of every socket for a moment while it starts, so that closing a
/// socket does not end the connection immediately. Tests that start a process therefore exclude
/// simulations.
pub(super) static STARTING: RwLock<()> = RwLock::new(());

const CLIENTS: usize = 6;
/// Microseconds after which the owner of a slot may change again, so that pending pipelines have
/// been handled. If one request were redirected twice and a later one once or not at all, their
/// order could change.
const SETTLED: u64 = 2_000_000;
/// Time in microseconds after which requests without a reply, and later ones, must have ended.
const PATIENCE: u64 = 120_000_000;

/// Frequency of events for shards: the probability of each at every step.
#[derive(Debug, Clone, Copy)]
struct FaultRates {
    moves: f64,
    handovers: f64,
    refusals: f64,
    resets: f64,
    freezes: f64,
    kills: f64,
}

const NO_FAULTS: FaultRates =
    FaultRates { moves: 0.0, handovers: 0.0, refusals: 0.0, resets: 0.0, freezes: 0.0, kills: 0.0 };
const PLANNED: FaultRates = FaultRates { moves: 0.005, handovers: 0.0005, ..NO_FAULTS };
const ALL_FAULTS: FaultRates =
    FaultRates { refusals: 0.001, resets: 0.0005, freezes: 0.0003, kills: 0.0005, ..PLANNED };

/// A scheduled event.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The agent sends the current state.
    SendState,
    Promote(usize),
    Start(usize),
    Thaw(usize),
    Accept,
}

struct World {
    seed: u64,
    rng: SmallRng,
    time: Arc<AtomicU64>,
    worker: Worker,
    handle: Handle,
    connections: Arc<Connections>,
    version: u64,
    shards: Shards,
    /// For each pair, the time at which its primary or its slots last changed.
    changed: [u64; PAIRS],
    clients: Vec<Client>,
    next_client: u64,
    shared: Shared,
    due: BinaryHeap<Reverse<(u64, Due)>>,
    directory: PathBuf,
    _told: (Receiver<Event>, Receiver<Counts>),
}

impl World {
    fn new(seed: u64, faults: FaultRates) -> Self {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let number = WORLDS.fetch_add(1, Relaxed);
        let directory = std::env::temp_dir().join(format!("shardboard-sim-{}-{number}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let time = Arc::new(AtomicU64::new(1));
        let (events, event_receiver) = channel();
        let (counts, count_receiver) = channel();
        let (sender, messages) = channel();
        let poll = Poll::new().unwrap();
        let handle = Handle { messages: sender, waker: poll.waker(), clients: Arc::default() };
        let reports = Reports { number: 1, events, counts, budget: Budget::new() };
        let inbox = Inbox { handle: handle.clone(), messages };
        let worker = Worker::new(Io::new(poll, Clock::simulated(Arc::clone(&time))), inbox, reports);
        let shared = Shared::new(faults.moves == 0.0);
        let mut world = Self {
            seed,
            rng: SmallRng::seed_from_u64(seed),
            time,
            worker,
            handle,
            connections: Arc::default(),
            version: 0,
            // Every other seed.
            shards: Shards::new(&directory, seed % 2 == 0),
            changed: [0; PAIRS],
            clients: Vec::new(),
            next_client: 0,
            shared,
            due: BinaryHeap::new(),
            directory,
            _told: (event_receiver, count_receiver),
        };
        world.send_state();
        for _ in 0..CLIENTS {
            world.accept();
        }
        world
    }

    fn now(&self) -> u64 {
        self.time.load(Relaxed)
    }

    /// Sends the current state as the agent.
    fn send_state(&mut self) {
        self.version += 1;
        let shards: Vec<_> = (0..PAIRS * 2)
            .map(|number| {
                let (address, port) = Shards::address(number);
                let is_primary = self.shards.primary(number / 2) == number;
                json!({"id": number.to_string(), "role": if is_primary { "primary" } else { "replica" },
                       "address": address, "port": port, "unix_socket": self.shards.path(number),
                       "slots": self.shards.slots_of(number)})
            })
            .collect();
        let database: Database = serde_json::from_value(json!({
            "uid": 1, "address": "127.0.0.1", "port": 1, "mode": "hidden", "version": self.version,
            "failover_wait_ms": 2_000, "request_timeout_ms": 3_000, "shards": shards,
            "canary": {"user": "canary", "password": "canary", "interval_ms": 100}
        }))
        .unwrap();
        let connections = Arc::clone(&self.connections);
        self.handle.send(Message::Apply { database: Arc::new(database), connections });
    }

    fn accept(&mut self) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        self.next_client += 1;
        let number = self.next_client;
        let connection_count = ConnectionCount::take(&self.connections, &self.handle.clients);
        let stream = Box::new(Stream::plain(theirs.into()));
        self.handle.send(Message::Accepted { uid: 1, stream, peer: None, number, connection_count });
        self.clients.push(Client::new(ours, number));
    }

    fn in_millis(&mut self, from: u64, to: u64, due: Due) {
        let at = self.now() + self.rng.random_range(from * 1_000..to * 1_000);
        self.due.push(Reverse((at, due)));
    }

    fn step(&mut self, faults: FaultRates) {
        let pause = match self.rng.random_range(0..1000) {
            // A former primary that owes replies for half a second is disconnected, which is a
            // failure.
            0 if faults.freezes > 0.0 => self.rng.random_range(0..100_000),
            0..20 => self.rng.random_range(0..20_000),
            _ => self.rng.random_range(0..50),
        };
        self.time.fetch_add(pause, Relaxed);
        self.trigger_events(faults);
        let which = self.rng.random_range(0..self.clients.len().max(1));
        match self.rng.random_range(0..100) {
            0..15 => self.with_client(which, |client, shared, rng| client.send_random_request(shared, rng)),
            15..35 => self.with_client(which, |client, _, rng| client.send(rng)),
            35..55 => self.listen(which),
            _ => {
                let number = self.rng.random_range(0..PAIRS * 2);
                self.shards.step(number, &mut self.rng);
            }
        }
        if self.rng.random_bool(0.5) {
            self.round();
        }
    }

    fn round(&mut self) {
        self.worker.round(&mut Vec::new(), Duration::ZERO).unwrap();
    }

    fn with_client(&mut self, which: usize, act: impl FnOnce(&mut Client, &mut Shared, &mut SmallRng)) {
        if let Some(client) = self.clients.get_mut(which) {
            act(client, &mut self.shared, &mut self.rng);
        }
    }

    fn listen(&mut self, which: usize) {
        let Some(client) = self.clients.get_mut(which) else { return };
        if client.is_reading && !client.receive(&mut self.shared, &mut self.rng) {
            self.replace(which);
        }
    }

    /// Replaces a client by a new one.
    fn replace(&mut self, which: usize) {
        let client = self.clients.swap_remove(which);
        self.shards.forget(&client.suffix());
        self.in_millis(1, 200, Due::Accept);
    }

    /// Handles scheduled events and triggers random ones.
    fn trigger_events(&mut self, faults: FaultRates) {
        while self.due.peek().is_some_and(|Reverse((at, _))| *at <= self.time.load(Relaxed)) {
            let Some(Reverse((_, due))) = self.due.pop() else { break };
            self.execute(due);
        }
        let pair = self.rng.random_range(0..PAIRS);
        let primary = self.shards.primary(pair);
        let is_well = |world: &Self| {
            let is_well = |number: usize| {
                let process = &world.shards.processes[number];
                process.is_alive() && !process.is_frozen
            };
            is_well(primary) && is_well(primary ^ 1) && !world.shards.is_moving(pair)
        };
        if self.rng.random_bool(faults.moves) {
            if self.shards.has_moving() {
                if let Some(pairs) = self.shards.move_on() {
                    pairs.into_iter().for_each(|pair| self.changed[pair] = self.now());
                    self.in_millis(1, 500, Due::SendState);
                }
            } else if (0..PAIRS).all(|pair| self.shards.processes[self.shards.primary(pair)].is_alive()) {
                let slot = shards::slot_of_tag(self.rng.random_range(0..TAGS));
                if self.is_settled(pair) && self.is_settled(self.shards.owner(slot) / 2) {
                    self.shards.begin_to_move(slot, pair);
                }
            }
        }
        if self.rng.random_bool(faults.handovers) && is_well(self) && self.promoted(pair) {
            self.in_millis(1, 1_500, Due::SendState);
        }
        if self.rng.random_bool(faults.refusals) {
            let words = [
                "LOADING the dataset is being loaded",
                "CLUSTERDOWN The cluster is down",
                "READONLY this is a replica",
            ];
            let word = words[self.rng.random_range(0..words.len())];
            let process = &mut self.shards.processes[primary];
            process.refuses_with = process.is_alive().then_some(word);
            self.in_millis(1, 3_000, Due::Thaw(primary));
        }
        if self.rng.random_bool(faults.resets) {
            self.shards.processes[primary].reset_one(&mut self.rng);
        }
        if self.rng.random_bool(faults.freezes) && is_well(self) {
            self.shards.processes[primary].is_frozen = true;
            self.in_millis(10, 6_000, Due::Thaw(primary));
            if self.rng.random_bool(0.5) {
                self.in_millis(200, 1_000, Due::Promote(pair));
            }
        }
        if self.rng.random_bool(faults.kills) && is_well(self) {
            self.shards.processes[primary].kill();
            self.in_millis(100, 3_000, Due::Promote(pair));
            self.in_millis(3_000, 6_000, Due::Start(primary));
        }
        if faults.moves > 0.0 && self.rng.random_bool(0.001) {
            self.random_client_event();
        }
    }

    /// Promotes the replica of the pair, if allowed.
    fn promoted(&mut self, pair: usize) -> bool {
        let may = !self.shards.is_moving(pair) && self.is_settled(pair);
        if may {
            self.changed[pair] = self.now();
            self.shards.promote_other(pair);
        }
        may
    }

    fn is_settled(&self, pair: usize) -> bool {
        self.changed[pair] + SETTLED < self.now()
    }

    fn random_client_event(&mut self) {
        let which = self.rng.random_range(0..self.clients.len().max(1));
        let Some(client) = self.clients.get_mut(which) else { return };
        match self.rng.random_range(0..6) {
            0 => self.replace(which),
            1 => client.hang_up(),
            _ => client.is_reading = !client.is_reading,
        }
    }

    fn execute(&mut self, due: Due) {
        match due {
            Due::SendState => self.send_state(),
            Due::Accept => self.accept(),
            Due::Start(number) => self.shards.start(number),
            Due::Thaw(number) => {
                let process = &mut self.shards.processes[number];
                (process.is_frozen, process.refuses_with) = (false, None);
            }
            Due::Promote(pair) => {
                let primary = self.shards.primary(pair);
                let process = &self.shards.processes[primary];
                let is_gone = !process.is_alive() || process.is_frozen;
                if is_gone && self.shards.processes[primary ^ 1].is_alive() && self.promoted(pair) {
                    self.in_millis(1, 1_000, Due::SendState);
                }
            }
        }
    }

    /// Ends all events, and checks that all requests are answered and all acknowledged writes are
    /// present.
    fn finish_and_check(&mut self) {
        while let Some(Reverse((at, due))) = self.due.pop() {
            self.time.fetch_max(at, Relaxed);
            self.execute(due);
        }
        while self.shards.has_moving() {
            self.shards.move_on();
        }
        self.send_state();
        self.clients.iter_mut().for_each(|client| client.is_reading = true);
        self.until("all requests are answered", |world| world.clients.iter().all(Client::is_done));
        self.shared.is_calm = true;
        self.clients.iter_mut().filter(|client| !client.has_hung_up).for_each(Client::ask_for_all);
        self.until("all values are read", |world| world.clients.iter().all(Client::is_done));
        self.clients.clear();
        self.until("all clients are closed", |world| world.worker.clients.arena.is_empty());
        // The resources that they used are freed within some seconds.
        let until = self.now() + 15_000_000;
        while self.now() < until {
            self.time.fetch_add(10_000, Relaxed);
            self.serve();
        }
        let db = &self.worker.upstream.dbs[0];
        assert!(db.parked.is_empty(), "parked requests without a client");
        assert!(
            db.identities.iter().all(|identity| identity.clients == 0),
            "identities in use without a client"
        );
        assert_eq!(self.handle.clients.load(Relaxed), 0);
        let weight = self.connections.memory.bytes();
        assert!(weight < 2 << 20, "{weight} bytes have not been released");
        let backends = self.worker.upstream.backends.arena.ids().len();
        assert!(backends <= PAIRS * 2 * 2, "{backends} connections have not been closed");
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let limit = self.now() + PATIENCE;
        while !is_so(self) {
            assert!(self.now() < limit, "waited too long until {what}");
            self.time.fetch_add(200, Relaxed);
            for which in (0..self.clients.len()).rev() {
                self.with_client(which, |client, _, rng| client.send(rng));
                self.listen(which);
            }
            self.serve();
        }
    }

    fn serve(&mut self) {
        for number in 0..PAIRS * 2 {
            self.shards.step(number, &mut self.rng);
        }
        self.round();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {} after {} us", self.seed, self.now());
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Result of one seed, sufficient to recognise an identical run.
#[derive(Debug, PartialEq)]
struct Outcome {
    digest: u64,
    /// Errors that clients received.
    words: Vec<String>,
}

fn run(seed: u64, faults: FaultRates, steps: u64) -> Outcome {
    let _nobody_starts = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let mut world = World::new(seed, faults);
    for _ in 0..steps {
        world.step(faults);
    }
    world.finish_and_check();
    let Shared { answered, errors, digest, .. } = &world.shared;
    let (Shards { executed, redirected, .. }, seconds) = (&world.shards, world.now() as f64 / 1e6);
    println!(
        "seed {seed}: {answered} replies, {executed} executed, {redirected} redirected, {seconds:.1} s; {errors:?}"
    );
    Outcome { digest: *digest, words: errors.keys().cloned().collect() }
}

/// Returns the seeds of the environment variable, or the first `some` seeds.
fn seeds(some: u64) -> std::ops::Range<u64> {
    let factor = if std::env::var_os("SHARDBOARD_THOROUGH").is_some() { 4 } else { 1 };
    let Ok(text) = std::env::var("SHARDBOARD_SIMULATION") else { return 0..some * factor };
    let number = |text: &str| text.parse().expect("SHARDBOARD_SIMULATION must be SEED or FROM..TO");
    match text.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => number(&text)..number(&text) + 1,
    }
}

#[test]
fn without_events_all_requests_succeed() {
    for seed in seeds(4) {
        run(seed, NO_FAULTS, 20_000);
    }
}

#[test]
fn during_planned_changes_each_request_is_answered_once_and_executed_at_most_once() {
    for seed in seeds(10) {
        let words = run(seed, PLANNED, 20_000).words;
        // Only clients whose keys moved during a transaction receive an error.
        let is_allowed = |word: &String| {
            word.starts_with("-EXECABORT")
                || word.starts_with("-TRYAGAIN the keys of this transaction have moved")
        };
        assert!(words.iter().all(is_allowed), "seed {seed}: {words:?}");
    }
}

#[test]
fn during_failures_each_request_is_answered_once_and_executed_at_most_once() {
    // In seed 639, a primary is replaced while an earlier request waits on the old one and a later one is
    // sent again.
    for seed in seeds(20).chain(std::env::var("SHARDBOARD_SIMULATION").is_err().then_some(639)) {
        run(seed, ALL_FAULTS, 20_000);
    }
}

/// Each request is sent when it arrives. While all are refused, only one is sent again in each
/// retry round.
#[test]
fn a_shard_that_refuses_requests_receives_few() {
    let _nobody_starts = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let mut world = World::new(1, ALL_FAULTS);
    let primary = world.shards.primary(0);
    world.shards.processes[primary].refuses_with = Some("LOADING the dataset is being loaded");
    for which in (0..CLIENTS).flat_map(|which| [which; 50]) {
        world.with_client(which, |client, shared, rng| client.send_random_request(shared, rng));
    }
    let until = world.now() + 1_000_000;
    while world.now() < until {
        world.time.fetch_add(200, Relaxed);
        for which in 0..CLIENTS {
            world.with_client(which, |client, _, rng| client.send(rng));
            world.listen(which);
        }
        world.serve();
    }
    let refused = world.shards.refused;
    assert!(world.worker.upstream.dbs[0].parked.len() > 20);
    assert!((40..200).contains(&refused), "the shard refused {refused} requests within a second");
    // When it executes one, the others follow immediately.
    world.shards.processes[primary].refuses_with = None;
    let then = world.now();
    world.until("all requests are answered", |world| world.clients.iter().all(Client::is_done));
    assert!(world.now() < then + 200_000, "{} us", world.now() - then);
    assert!(world.shared.errors.is_empty(), "{:?}", world.shared.errors);
    world.finish_and_check();
}

#[test]
fn a_seed_is_reproducible() {
    assert_eq!(run(1, ALL_FAULTS, 5_000), run(1, ALL_FAULTS, 5_000));
}
