//! A worker, its clients, its shards and their agent in one thread and a time of their own. What happens, and when, follows from a
//! seed, so that what goes wrong once goes wrong again. Clients judge each reply, shards what they are asked.
//!
//! `SHARDBOARD_SIMULATION=SEED cargo test -p proxy simulation` runs one seed; `…=FROM..TO` all of these.

mod clients;
mod shards;

use super::{Message, Seat, Shared as Links, Worker, clock::Clock};
use crate::budget::Budget;
use crate::control::Database;
use crate::poll::Poll;
use crate::process::Event;
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

/// A process that is being started has a copy of every socket for a moment, so that one that is closed here is not at its end yet:
/// whoever starts one excludes simulations meanwhile.
pub(super) static STARTING: RwLock<()> = RwLock::new(());

const CLIENTS: usize = 6;
/// Slots change their owner again only when the pipelines that were on their way have come through: where one request is sent away
/// twice and the one behind it once, or not at all, their order may change.
const SETTLED: u64 = 2_000_000;
/// A request that nobody answers is over by then, and what comes after it as well: microseconds.
const PATIENCE: u64 = 120_000_000;

/// How much happens to shards, as the chance of it at each step.
#[derive(Debug, Clone, Copy)]
struct Weather {
    moves: f64,
    handovers: f64,
    refusals: f64,
    resets: f64,
    freezes: f64,
    kills: f64,
}

const CALM: Weather =
    Weather { moves: 0.0, handovers: 0.0, refusals: 0.0, resets: 0.0, freezes: 0.0, kills: 0.0 };
const PLANNED: Weather = Weather { moves: 0.005, handovers: 0.0005, ..CALM };
const STORM: Weather = Weather { refusals: 0.001, resets: 0.0005, freezes: 0.0003, kills: 0.0005, ..PLANNED };

/// What is to happen at a certain time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The agent tells how it is by then.
    Tell,
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
    /// By pair, when its primary or its slots changed last.
    changed: [u64; PAIRS],
    clients: Vec<Client>,
    next_client: u64,
    shared: Shared,
    due: BinaryHeap<Reverse<(u64, Due)>>,
    directory: PathBuf,
    _told: (Receiver<Event>, Receiver<Counts>),
}

impl World {
    fn new(seed: u64, weather: Weather) -> Self {
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
        let links =
            Links { handle: handle.clone(), messages, events, counts, budget: Budget::new(), number: 1 };
        let worker = Worker::new(poll, links, Clock::simulated(Arc::clone(&time)));
        let shared = Shared::new(weather.moves == 0.0);
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
        world.tell();
        for _ in 0..CLIENTS {
            world.accept();
        }
        world
    }

    fn now(&self) -> u64 {
        self.time.load(Relaxed)
    }

    /// The agent says how it is.
    fn tell(&mut self) {
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
        let seat = Seat::take(&self.connections, &self.handle);
        let stream = Box::new(Stream::plain(theirs.into()));
        self.handle.send(Message::Accepted { uid: 1, stream, peer: None, number, seat });
        self.clients.push(Client::new(ours, number));
    }

    fn in_millis(&mut self, from: u64, to: u64, due: Due) {
        let at = self.now() + self.rng.random_range(from * 1_000..to * 1_000);
        self.due.push(Reverse((at, due)));
    }

    fn step(&mut self, weather: Weather) {
        let pause = match self.rng.random_range(0..1000) {
            // Who leads no more and owes answers for half a second is given up: that is a failure.
            0 if weather.freezes > 0.0 => self.rng.random_range(0..100_000),
            0..20 => self.rng.random_range(0..20_000),
            _ => self.rng.random_range(0..50),
        };
        self.time.fetch_add(pause, Relaxed);
        self.happen(weather);
        let which = self.rng.random_range(0..self.clients.len().max(1));
        match self.rng.random_range(0..100) {
            0..15 => self.with_client(which, |client, shared, rng| client.ask(shared, rng)),
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

    /// A client goes, and another one comes.
    fn replace(&mut self, which: usize) {
        let client = self.clients.swap_remove(which);
        self.shards.forget(&client.suffix());
        self.in_millis(1, 200, Due::Accept);
    }

    /// What is due, and what the weather brings.
    fn happen(&mut self, weather: Weather) {
        while self.due.peek().is_some_and(|Reverse((at, _))| *at <= self.time.load(Relaxed)) {
            let Some(Reverse((_, due))) = self.due.pop() else { break };
            self.bring_about(due);
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
        if self.rng.random_bool(weather.moves) {
            if self.shards.has_moving() {
                if let Some(pairs) = self.shards.move_on() {
                    pairs.into_iter().for_each(|pair| self.changed[pair] = self.now());
                    self.in_millis(1, 500, Due::Tell);
                }
            } else if (0..PAIRS).all(|pair| self.shards.processes[self.shards.primary(pair)].is_alive()) {
                let slot = shards::slot_of_tag(self.rng.random_range(0..TAGS));
                if self.is_settled(pair) && self.is_settled(self.shards.owner(slot) / 2) {
                    self.shards.begin_to_move(slot, pair);
                }
            }
        }
        if self.rng.random_bool(weather.handovers) && is_well(self) && self.promoted(pair) {
            self.in_millis(1, 1_500, Due::Tell);
        }
        if self.rng.random_bool(weather.refusals) {
            let words =
                ["LOADING it reads its file", "CLUSTERDOWN The cluster is down", "READONLY a replica"];
            let word = words[self.rng.random_range(0..words.len())];
            let process = &mut self.shards.processes[primary];
            process.refuses_with = process.is_alive().then_some(word);
            self.in_millis(1, 3_000, Due::Thaw(primary));
        }
        if self.rng.random_bool(weather.resets) {
            self.shards.processes[primary].reset_one(&mut self.rng);
        }
        if self.rng.random_bool(weather.freezes) && is_well(self) {
            self.shards.processes[primary].is_frozen = true;
            self.in_millis(10, 6_000, Due::Thaw(primary));
            if self.rng.random_bool(0.5) {
                self.in_millis(200, 1_000, Due::Promote(pair));
            }
        }
        if self.rng.random_bool(weather.kills) && is_well(self) {
            self.shards.processes[primary].kill();
            self.in_millis(100, 3_000, Due::Promote(pair));
            self.in_millis(3_000, 6_000, Due::Start(primary));
        }
        if weather.moves > 0.0 && self.rng.random_bool(0.001) {
            self.client_whim();
        }
    }

    /// The other half of the pair takes over, if it may.
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

    fn client_whim(&mut self) {
        let which = self.rng.random_range(0..self.clients.len().max(1));
        let Some(client) = self.clients.get_mut(which) else { return };
        match self.rng.random_range(0..6) {
            0 => self.replace(which),
            1 => client.hang_up(),
            _ => client.is_reading = !client.is_reading,
        }
    }

    fn bring_about(&mut self, due: Due) {
        match due {
            Due::Tell => self.tell(),
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
                    self.in_millis(1, 1_000, Due::Tell);
                }
            }
        }
    }

    /// Nothing happens any more; all that was asked is answered, and all that was acknowledged is there.
    fn end_well(&mut self) {
        while let Some(Reverse((at, due))) = self.due.pop() {
            self.time.fetch_max(at, Relaxed);
            self.bring_about(due);
        }
        while self.shards.has_moving() {
            self.shards.move_on();
        }
        self.tell();
        self.clients.iter_mut().for_each(|client| client.is_reading = true);
        self.until("all is answered", |world| world.clients.iter().all(Client::is_done));
        self.shared.is_calm = true;
        self.clients.iter_mut().filter(|client| !client.has_hung_up).for_each(Client::ask_for_all);
        self.until("all is read", |world| world.clients.iter().all(Client::is_done));
        self.clients.clear();
        self.until("all clients are gone", |world| world.worker.clients.is_empty());
        // What they needed is given back within some seconds.
        let until = self.now() + 15_000_000;
        while self.now() < until {
            self.time.fetch_add(10_000, Relaxed);
            self.serve();
        }
        let db = &self.worker.dbs[0];
        assert!(db.parked.is_empty(), "requests of nobody");
        assert!(db.identities.iter().all(|identity| identity.clients == 0), "places of nobody");
        assert_eq!(self.handle.clients.load(Relaxed), 0);
        let weight = self.connections.memory.bytes();
        assert!(weight < 2 << 20, "{weight} bytes of nobody");
        let backends = self.worker.backends.ids().len();
        assert!(backends <= PAIRS * 2 * 2, "{backends} connections of nobody");
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

/// What one seed came to: enough to see that it comes to the same again.
#[derive(Debug, PartialEq)]
struct Outcome {
    digest: u64,
    /// Errors that clients were told.
    words: Vec<String>,
}

fn run(seed: u64, weather: Weather, steps: u64) -> Outcome {
    let _nobody_starts = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let mut world = World::new(seed, weather);
    for _ in 0..steps {
        world.step(weather);
    }
    world.end_well();
    let Shared { answered, errors, digest, .. } = &world.shared;
    let (Shards { executed, redirected, .. }, seconds) = (&world.shards, world.now() as f64 / 1e6);
    println!(
        "seed {seed}: {answered} replies, {executed} executed, {redirected} redirected, {seconds:.1} s; {errors:?}"
    );
    Outcome { digest: *digest, words: errors.keys().cloned().collect() }
}

/// Those that were asked for, or some.
fn seeds(some: u64) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("SHARDBOARD_SIMULATION") else { return 0..some };
    let number = |text: &str| text.parse().expect("SHARDBOARD_SIMULATION is SEED or FROM..TO");
    match text.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => number(&text)..number(&text) + 1,
    }
}

#[test]
fn where_nothing_happens_all_is_answered_without_an_error() {
    for seed in seeds(10) {
        run(seed, CALM, 20_000);
    }
}

#[test]
fn while_slots_and_roles_move_each_request_is_answered_once_and_executed_at_most_once() {
    for seed in seeds(40) {
        let words = run(seed, PLANNED, 20_000).words;
        // Nobody but those whose keys moved while they were in a transaction hears of it.
        let is_allowed = |word: &String| {
            word.starts_with("-EXECABORT")
                || word.starts_with("-TRYAGAIN the keys of this transaction have moved")
        };
        assert!(words.iter().all(is_allowed), "seed {seed}: {words:?}");
    }
}

#[test]
fn while_shards_fail_each_request_is_answered_once_and_executed_at_most_once() {
    for seed in seeds(80) {
        run(seed, STORM, 20_000);
    }
}

/// Each request asks when it comes; while all are refused, one asks for all of them in a round.
#[test]
fn a_shard_that_refuses_is_asked_by_few() {
    let _nobody_starts = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let mut world = World::new(1, STORM);
    let primary = world.shards.primary(0);
    world.shards.processes[primary].refuses_with = Some("LOADING it reads its file");
    for which in (0..CLIENTS).flat_map(|which| [which; 50]) {
        world.with_client(which, |client, shared, rng| client.ask(shared, rng));
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
    assert!(world.worker.dbs[0].parked.len() > 20);
    assert!((40..200).contains(&refused), "it refused {refused} requests in a second");
    // It takes one of them: the others follow at once.
    world.shards.processes[primary].refuses_with = None;
    let then = world.now();
    world.until("all is answered", |world| world.clients.iter().all(Client::is_done));
    assert!(world.now() < then + 200_000, "{} us", world.now() - then);
    assert!(world.shared.errors.is_empty(), "{:?}", world.shared.errors);
    world.end_well();
}

#[test]
fn a_seed_comes_to_the_same_again() {
    assert_eq!(run(1, STORM, 5_000), run(1, STORM, 5_000));
}
