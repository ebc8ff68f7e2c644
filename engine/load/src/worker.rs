//! A thread of the load: an epoll loop that owns its clients, connections and counters.
//!
//! Each round reads ready connections (`replies.rs`), fills connections with free capacity and
//! writes once to each (`send.rs`). `connect.rs` opens and closes connections; `schedule.rs`
//! determines when requests are due.

mod connect;
mod replies;
mod schedule;
mod send;
mod values;

use crate::client::Client;
use crate::client_statistics::ClientStatistics;
use crate::connection::{Connection, State};
use crate::discovery::Hint;
use crate::outage::OutageAccount;
use crate::request::Writer;
use crate::shared::Shared;
use crate::tally::Tally;
use crate::topology::Topology;
use net::arena::{Arena, Id};
use net::poll::{Poll, Ready, Source};
use schedule::Schedule;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;
use values::Values;

/// Message from a thread to the main thread.
#[derive(Debug)]
pub enum ThreadMessage {
    /// Counters of the second with the index `number`.
    Second { thread: usize, number: u64, tally: Box<Tally> },
    /// The remaining counters, the accounts of all shards, and the statistics of all clients. No
    /// message follows.
    End {
        thread: usize,
        number: u64,
        tally: Box<Tally>,
        accounts: Vec<OutageAccount>,
        clients: Vec<ClientStatistics>,
        gave_up: bool,
    },
}

pub const SECOND: u64 = 1_000_000_000;
/// Interval at which timeouts and the topology are checked. It limits the precision of outage
/// times.
const TICK: u64 = 20_000_000;
/// Time to wait for replies after the end of the load.
const DRAIN: u64 = SECOND;
/// A run with a number of requests ends if no request succeeds for this long.
const GIVE_UP: u64 = 60 * SECOND;

#[derive(Debug)]
struct ClientState {
    client: Client,
    /// The connection of the client to each target.
    connections: Vec<Id>,
    /// A generated request for which the queue of its shard has no free capacity.
    held: Option<crate::request::Operation>,
    drawn_all: bool,
    statistics: ClientStatistics,
}

#[derive(Debug)]
pub struct Worker {
    number: usize,
    shared: Arc<Shared>,
    poll: Poll,
    seats: Vec<ClientState>,
    connections: Arena<Connection>,
    topology: Topology,
    version: u64,
    /// Index of the account of each target, for failures without a key.
    target_groups: Vec<u16>,
    writer: Writer,
    values: Values,
    schedule: Option<Schedule>,
    touched: Vec<Id>,
    /// Requests for a connection that is being served.
    deferred: Vec<(usize, crate::request::Operation)>,
    timers: BinaryHeap<Reverse<(u64, u32, u32)>>,
    buffer: Vec<u8>,
    tally: Tally,
    accounts: Vec<OutageAccount>,
    hints: Sender<Hint>,
    /// Requests sent without a reply yet, and requests that wait in queues.
    in_flight: u64,
    queued: u64,
    last_good: u64,
    stopping: Option<u64>,
    cpu_before: f64,
}

impl Worker {
    pub fn new(number: usize, shared: Arc<Shared>, hints: Sender<Hint>) -> std::io::Result<Self> {
        let poll = Poll::new()?;
        shared.register(poll.waker());
        let options = &shared.options;
        let topology = (*shared.topology()).clone();
        let seats = (0..options.clients)
            .map(|client| ClientState {
                client: Client::new(
                    options,
                    &shared.workload,
                    number * options.clients + client,
                    shared.seed,
                ),
                connections: vec![Id::NONE; topology.targets.len()],
                held: None,
                drawn_all: false,
                statistics: ClientStatistics::new(options),
            })
            .collect();
        Ok(Self {
            number,
            poll,
            seats,
            connections: Arena::default(),
            version: shared.version(),
            target_groups: Vec::new(),
            writer: Writer::new(shared.workload.templates.clone(), &options.key_prefix),
            values: Values::new(options, shared.seed.wrapping_add(number as u64)),
            schedule: Schedule::new(options, number),
            touched: Vec::new(),
            deferred: Vec::new(),
            timers: BinaryHeap::new(),
            buffer: vec![0; 256 * 1024],
            tally: Tally::new(shared.workload.names.len()),
            accounts: vec![OutageAccount::default(); shared.group_names.len()],
            hints,
            in_flight: 0,
            queued: 0,
            last_good: 0,
            stopping: None,
            cpu_before: 0.0,
            topology,
            shared,
        })
    }

    /// Runs the thread until the run ends.
    pub fn run(mut self, messages: &Sender<ThreadMessage>) {
        let mut ready: Vec<Ready> = Vec::new();
        let mut second = 0;
        let mut next_tick = TICK;
        if self.shared.options.pin_threads {
            self.pin();
        }
        self.group_targets();
        self.open_all();
        let gave_up = loop {
            let now = self.shared.now();
            let wait = self.patience(now, (second + 1) * SECOND, next_tick);
            if self.poll.wait(&mut ready, Duration::from_nanos(wait)).is_err() {
                break true;
            }
            for event in &ready {
                if let Source::Backend(id) = event.source {
                    self.on_ready(id, event);
                }
            }
            let now = self.shared.now();
            self.fire_timers(now);
            if self.version != self.shared.version() {
                self.apply_topology();
            }
            self.release_due(now);
            self.serve_touched();
            while now >= (second + 1) * SECOND {
                self.report(messages, second);
                second += 1;
            }
            if now >= next_tick {
                next_tick = now + TICK;
                self.tick(now);
            }
            if let Some(gave_up) = self.ended(now) {
                break gave_up;
            }
        };
        self.finish(messages, second, gave_up);
    }

    /// Pins the thread to one of the allowed cores, round-robin. On failure the thread is not
    /// pinned.
    fn pin(&self) {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
        if let Some(core) = cores.get(self.number % cores.len().max(1)) {
            let mut one = CpuSet::new();
            one.set(*core);
            let _ = sched_setaffinity(None, &one);
        }
    }

    /// Returns the number of clients that are active now.
    pub fn active(&self) -> usize {
        let stairs = self.shared.options.staircase;
        if stairs.seconds == 0 {
            return self.seats.len();
        }
        let steps = self.shared.now() / SECOND / stairs.seconds;
        (stairs.start + steps as usize * stairs.step).min(self.seats.len())
    }

    fn patience(&self, now: u64, second: u64, tick: u64) -> u64 {
        if !self.touched.is_empty() || !self.deferred.is_empty() {
            return 0;
        }
        let mut until = second.min(tick);
        if let Some(Reverse((at, ..))) = self.timers.peek() {
            until = until.min(*at);
        }
        if let Some(due) =
            self.schedule.as_ref().filter(|_| self.stopping.is_none()).and_then(Schedule::wake_at)
        {
            until = until.min(due);
        }
        until.saturating_sub(now)
    }

    /// Returns `None` while the run continues, otherwise whether it was abandoned because no
    /// request succeeded.
    fn ended(&mut self, now: u64) -> Option<bool> {
        if self.stopping.is_none() {
            let options = &self.shared.options;
            let time_is_up = options.test_time.is_some_and(|seconds| now >= seconds * SECOND);
            if time_is_up || self.shared.stop.load(Ordering::Acquire) {
                self.stopping = Some(now);
                if let Some(schedule) = &self.schedule {
                    let end = options.test_time.map_or(now, |seconds| (seconds * SECOND).min(now));
                    let unsent = schedule.due_before(end) + self.queued + self.deferred.len() as u64;
                    self.tally.failed("UNSENT", unsent);
                }
            } else if self.in_flight == 0
                && self.queued == 0
                && self.deferred.is_empty()
                && self.seats.iter().all(ClientState::is_done)
            {
                return Some(false);
            } else if options.test_time.is_none() && !options.endless && now > self.last_good + GIVE_UP {
                return Some(true);
            }
        }
        let stopping = self.stopping?;
        (self.in_flight == 0 || now >= stopping + DRAIN).then_some(false)
    }

    fn report(&mut self, messages: &Sender<ThreadMessage>, second: u64) {
        let tally = self.take_tally();
        let _ = messages.send(ThreadMessage::Second { thread: self.number, number: second, tally });
    }

    fn take_tally(&mut self) -> Box<Tally> {
        let mut tally = std::mem::replace(&mut self.tally, Tally::new(self.shared.workload.names.len()));
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let cpu = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
        tally.cpu_seconds = cpu - self.cpu_before;
        tally.in_flight = self.in_flight;
        self.cpu_before = cpu;
        Box::new(tally)
    }

    fn finish(mut self, messages: &Sender<ThreadMessage>, second: u64, gave_up: bool) {
        let now = self.shared.now();
        let mut oldest: Vec<Option<u64>> = vec![None; self.accounts.len()];
        for id in self.connections.ids() {
            let Some(connection) = self.connections.take(id) else { continue };
            for operation in &connection.in_flight {
                let group = self.group_of(operation);
                let account = &mut oldest[usize::from(group)];
                *account = Some(account.unwrap_or(now).min(operation.sent));
            }
        }
        self.tally.failed("UNANSWERED", self.in_flight);
        let until = self.stopping.unwrap_or(now);
        for (account, oldest) in self.accounts.iter_mut().zip(oldest) {
            account.finish(until, oldest);
        }
        let tally = self.take_tally();
        let accounts = std::mem::take(&mut self.accounts);
        let clients = self.seats.into_iter().map(|seat| seat.statistics).collect();
        let _ = messages.send(ThreadMessage::End {
            thread: self.number,
            number: second,
            tally,
            accounts,
            clients,
            gave_up,
        });
    }

    /// Runs at each tick: checks timeouts, and closes connections to servers that own no slots.
    fn tick(&mut self, now: u64) {
        let limit = self.shared.options.request_timeout * 1_000_000;
        if self.shared.options.staircase.seconds > 0 && self.stopping.is_none() {
            self.open_all();
        }
        for id in self.connections.ids() {
            let Some(connection) = self.connections.get(id) else { continue };
            let age = connection.in_flight.front().map_or(0, |oldest| now.saturating_sub(oldest.sent));
            let target = connection.target;
            let useless = self.shared.options.cluster && !self.topology.owns(target);
            let late = match connection.state {
                State::Connecting { deadline } | State::Greeting { deadline, .. } => now > deadline,
                _ => false,
            };
            if late || age > limit {
                self.handle_loss(id, "TIMEOUT");
            } else if useless && (age > SECOND || connection.in_flight.is_empty()) {
                self.retire(id);
            } else if age > SECOND || !connection.is_ready() {
                self.suspect(target);
                self.expire_queue(id, now);
            }
        }
    }

    fn touch(&mut self, id: Id) {
        if let Some(connection) = self.connections.get_mut(id) {
            if !connection.touched {
                connection.touched = true;
                self.touched.push(id);
            }
        }
    }

    fn fire_timers(&mut self, now: u64) {
        while let Some(&Reverse((at, index, generation))) = self.timers.peek() {
            if at > now {
                return;
            }
            self.timers.pop();
            let id = Id { index, generation };
            match self.connections.get(id).map(|connection| &connection.state) {
                Some(State::Down { retry_at }) if *retry_at <= now && self.stopping.is_none() => {
                    self.open(id)
                }
                Some(_) => self.touch(id),
                None => {}
            }
        }
    }

    fn set_timer(&mut self, at: u64, id: Id) {
        self.timers.push(Reverse((at, id.index, id.generation)));
    }

    fn suspect(&self, target: u16) {
        if self.shared.options.cluster {
            let _ = self.hints.send(Hint::Suspect(self.topology.targets[usize::from(target)]));
        }
    }
}

impl ClientState {
    fn is_done(&self) -> bool {
        self.drawn_all && self.held.is_none()
    }
}
