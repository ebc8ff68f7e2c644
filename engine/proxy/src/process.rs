//! The main thread of the process: starts and stops everything, executes requests of the agent, and
//! reports every second.

mod agents;
mod control_socket;
mod measure;
mod outages;
mod recent;
mod takeover;

use crate::acceptor::{self, Acceptor};
use crate::budget::Budget;
use crate::control::{AgentRequest, Database, DatabaseError, Report, State};
use crate::event::Event;
use crate::listeners::Listeners;
use crate::resources;
use crate::tls;
use crate::worker::{self, Handle, Message};
use agents::Agents;
use control_socket::ControlSocket;
use measure::MetricsCollector;
use outages::Outages;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

struct Process {
    events: Receiver<Event>,
    sender: Sender<Event>,
    agents: Agents,
    acceptor: Acceptor,
    listeners: Listeners,
    workers: Vec<(Handle, JoinHandle<()>)>,
    /// Workers that still complete requests of their clients and still count.
    retired: Vec<(Handle, JoinHandle<()>)>,
    started: usize,
    databases: Vec<Arc<Database>>,
    measured: MetricsCollector,
    outages: Outages,
    budget: Arc<Budget>,
    memory_bytes: Option<u64>,
    draining: bool,
}

const MAX_THREADS: usize = 256;

/// Runs until the agent or SIGTERM requests draining and all clients are gone.
pub fn run(control: &Path) -> io::Result<()> {
    raise_descriptor_limit();
    let (sender, events) = channel();
    let startup_lock = control_socket::acquire_startup_lock(control)?;
    let predecessor = takeover::request_takeover(control);
    let (listener, socket) = ControlSocket::take(control)?;
    drop(startup_lock);
    agents::listen(listener, sender.clone())?;
    terminate_on_signal(sender.clone())?;
    let mut process = Process {
        events,
        sender,
        agents: Agents::default(),
        acceptor: acceptor::start()?,
        listeners: Listeners::default(),
        workers: Vec::new(),
        retired: Vec::new(),
        started: 0,
        databases: Vec::new(),
        measured: MetricsCollector::new(),
        outages: Outages::default(),
        budget: Budget::new(),
        memory_bytes: None,
        draining: false,
    };
    process.set_threads(1)?;
    if let Some(predecessor) = predecessor {
        process.take_over(predecessor);
    }
    process.serve();
    // It is no error if the path has already been removed.
    let _ = socket.remove();
    Ok(())
}

/// Returns the time just after the start of the next second. Reports describe the past second, so
/// that samples taken on the second find the current values.
fn next_second() -> Instant {
    Instant::now() + Duration::from_millis(1_001 - resources::unix_millis() % 1_000)
}

/// Raises the soft limit of descriptors, which is often 1024, because each client needs one.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Without permission to raise it, the limit stays. The acceptor logs an error when it is
    // reached.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn terminate_on_signal(sender: Sender<Event>) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            if sender.send(Event::Terminate).is_err() {
                return;
            }
        }
    })?;
    Ok(())
}

impl Process {
    fn serve(&mut self) {
        let mut next = next_second();
        loop {
            match self.events.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(event) => self.react(event),
                Err(RecvTimeoutError::Timeout) => {
                    self.report();
                    next = next_second();
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.draining
                && self.workers.iter().chain(&self.retired).all(|(_, thread)| thread.is_finished())
            {
                self.report();
                return;
            }
        }
    }

    fn react(&mut self, event: Event) {
        match event {
            Event::Connected { agent, stream } => {
                self.agents.add(agent, stream);
                for outage in self.outages.latest_reports() {
                    self.agents.send(agent, &Report::Outage(outage.clone()));
                }
            }
            Event::Disconnected { agent } => self.agents.remove(agent),
            Event::LineReceived { agent, line } => match serde_json::from_str(&line) {
                Ok(request) => self.execute_request(agent, request),
                Err(error) => self.agents.send(agent, &Report::Error { message: error.to_string() }),
            },
            Event::Report(report) => self.agents.broadcast(&report),
            Event::Outage(part) => {
                if let Some(outage) = self.outages.add(part) {
                    self.agents.broadcast(&Report::Outage(outage));
                }
            }
            Event::List(listing) => self.send_to_workers(|| Message::List(Arc::clone(&listing))),
            Event::Terminate => self.drain(Duration::ZERO),
        }
    }

    fn execute_request(&mut self, agent: u64, request: AgentRequest) {
        match request {
            // A draining process would never stop what it starts now.
            AgentRequest::Apply(_) | AgentRequest::Threads { .. } if self.draining => {
                self.agents.send(agent, &Report::Error { message: "this process is stopping".into() });
            }
            AgentRequest::Apply(state) => {
                let failures = self.apply(state);
                self.applied(agent, failures);
            }
            AgentRequest::Threads { threads } => {
                if let Err(error) = self.set_threads(threads) {
                    self.agents.send(agent, &Report::Error { message: error.to_string() });
                }
                self.applied(agent, Vec::new());
            }
            AgentRequest::Drain { seconds } => self.drain(Duration::from_secs(seconds)),
            AgentRequest::Commands { uids } => {
                let all = || self.databases.iter().map(|database| database.uid).collect();
                let (seconds, databases) =
                    self.measured.recent.commands_of(&uids.unwrap_or_else(all), Instant::now());
                self.agents.send(agent, &Report::Commands { seconds, databases });
            }
            AgentRequest::Takeover => self.hand_over(agent),
        }
    }

    fn applied(&mut self, agent: u64, failures: Vec<DatabaseError>) {
        let databases = self.databases.iter().map(|database| database.uid).collect();
        self.agents.send(agent, &Report::Applied { threads: self.workers.len(), databases, failures });
    }

    fn apply(&mut self, state: State) -> Vec<DatabaseError> {
        let mut failures = Vec::new();
        if let Some(Err(error)) = state.threads.map(|threads| self.set_threads(threads)) {
            failures.push(DatabaseError { uid: 0, message: error.to_string() });
        }
        let databases: Vec<_> = state.databases.into_iter().map(Arc::new).collect();
        for old in &self.databases {
            if !databases.iter().any(|new| new.uid == old.uid) {
                self.outages.remove(old.uid);
                self.measured.recent.remove(old.uid);
                self.send_to_workers(|| Message::Remove { uid: old.uid });
            }
        }
        self.databases = databases;
        self.memory_bytes = state.memory_bytes;
        self.budget.divide(self.memory_bytes, self.databases.len());
        for database in &self.databases {
            if let Some(Err(message)) = database.shard_tls.as_ref().map(tls::shard_config) {
                failures.push(DatabaseError { uid: database.uid, message });
            }
            let connections = self.listeners.connections(database.uid);
            self.send_to_workers(|| Message::Apply {
                database: Arc::clone(database),
                connections: Arc::clone(&connections),
            });
        }
        failures.extend(self.listeners.apply(&self.databases));
        self.acceptor.listen(self.listeners.current());
        failures
    }

    fn send_to_workers(&self, message: impl Fn() -> Message) {
        for (worker, _) in self.workers.iter().chain(&self.retired) {
            worker.send(message());
        }
    }

    /// Starts or retires workers. Retired workers pass their clients to the others.
    fn set_threads(&mut self, threads: usize) -> io::Result<()> {
        let threads = threads.clamp(1, MAX_THREADS);
        let before = self.workers.len();
        while self.workers.len() < threads {
            self.started += 1;
            let (handle, thread) = worker::start(
                self.started,
                self.sender.clone(),
                self.measured.counts.clone(),
                Arc::clone(&self.budget),
            )?;
            for database in &self.databases {
                let connections = self.listeners.connections(database.uid);
                handle.send(Message::Apply { database: Arc::clone(database), connections });
            }
            self.workers.push((handle, thread));
        }
        let retiring = self.workers.split_off(threads);
        let all: Vec<_> = self.workers.iter().map(|(handle, _)| handle.clone()).collect();
        self.acceptor.assign_to(all.clone());
        if before > 0 && before < threads {
            let fresh = all[before..].to_vec();
            for (handle, _) in &self.workers[..before] {
                handle.send(Message::Share { with: fresh.clone(), of: threads });
            }
        }
        for (handle, thread) in retiring {
            handle.send(Message::Retire { to: all.clone() });
            self.retired.push((handle, thread));
        }
        Ok(())
    }

    /// Starts to serve the databases of the predecessor before the predecessor stops.
    fn take_over(&mut self, mut predecessor: takeover::Predecessor) {
        self.listeners.inherit(std::mem::take(&mut predecessor.sockets));
        for failure in self.apply(std::mem::take(&mut predecessor.state)) {
            eprintln!("takeover: database {}: {}", failure.uid, failure.message);
        }
        self.listeners.inherit(BTreeMap::new());
        predecessor.send_drain();
    }

    fn hand_over(&mut self, successor: u64) {
        let databases = self.databases.iter().map(|database| Database::clone(database)).collect();
        let state = State { threads: Some(self.workers.len()), memory_bytes: self.memory_bytes, databases };
        let sockets = self.listeners.sockets();
        self.agents.hand_over(successor, &sockets, state);
    }

    fn drain(&mut self, patience: Duration) {
        self.send_to_workers(|| Message::Drain { patience });
        if std::mem::replace(&mut self.draining, true) {
            return;
        }
        self.listeners.close();
        self.acceptor.listen(Vec::new());
        let connections = self.databases.iter().map(|database| self.listeners.connections(database.uid));
        let connections = connections.map(|c| c.now.load(std::sync::atomic::Ordering::Relaxed)).sum();
        self.agents.broadcast(&Report::Draining { connections });
    }

    fn report(&mut self) {
        self.retired.retain(|(_, thread)| !thread.is_finished());
        let all: Vec<_> =
            self.workers.iter().chain(&self.retired).map(|(handle, _)| handle.clone()).collect();
        self.measured.collect(&all);
        let metrics =
            self.measured.metrics(self.workers.len(), &self.databases, &mut self.listeners, self.draining);
        self.agents.broadcast(&Report::Metrics(Box::new(metrics)));
        self.renew_certificates();
    }

    /// Loads certificate files that were replaced in place, without a request of the agent.
    fn renew_certificates(&mut self) {
        if self.draining || !self.listeners.are_renewed(&self.databases) {
            return;
        }
        for failure in self.listeners.apply(&self.databases) {
            eprintln!("certificates: database {}: {}", failure.uid, failure.message);
        }
        self.acceptor.listen(self.listeners.current());
    }
}
