//! Data that all threads of a run read, and the few values that they change.

use crate::options::Options;
use crate::tls::Session;
use crate::topology::{NO_OWNER, Topology};
use crate::workload::Workload;
use net::poll::Waker;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

#[derive(Debug)]
pub struct Shared {
    pub options: Options,
    pub workload: Workload,
    pub tls: Option<Session>,
    /// Requests that are sent first on each connection, and the number of their replies.
    pub greeting: (Vec<u8>, usize),
    /// Origin of the run's clock.
    pub start: Instant,
    pub seed: u64,
    /// Index of the account of each slot. It remains that of the first owner when the slot moves.
    pub groups: Box<[u16]>,
    pub group_names: Vec<String>,
    pub stop: AtomicBool,
    topology: Mutex<Arc<Topology>>,
    version: AtomicU64,
    wakers: Mutex<Vec<Waker>>,
}

impl Shared {
    pub fn new(
        options: Options,
        workload: Workload,
        tls: Option<Session>,
        topology: Topology,
        seed: u64,
    ) -> Self {
        let unowned = |slot: u16| if slot == NO_OWNER { 0 } else { slot };
        let groups: Box<[u16]> = topology.slots.iter().copied().map(unowned).collect();
        let group_names = topology.targets.iter().map(SocketAddr::to_string).collect();
        Self {
            greeting: crate::probe::preparation_commands(&options),
            options,
            workload,
            tls,
            start: Instant::now(),
            seed,
            groups,
            group_names,
            stop: AtomicBool::new(false),
            topology: Mutex::new(Arc::new(topology)),
            version: AtomicU64::new(1),
            wakers: Mutex::new(Vec::new()),
        }
    }

    /// Returns nanoseconds since the start of the run. Never 0, which means "not yet".
    #[inline]
    pub fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64 + 1
    }

    pub fn register(&self, waker: Waker) {
        lock(&self.wakers).push(waker);
    }

    pub fn end(&self) {
        self.stop.store(true, Ordering::Release);
        lock(&self.wakers).iter().for_each(Waker::wake);
    }

    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn topology(&self) -> Arc<Topology> {
        Arc::clone(&lock(&self.topology))
    }

    pub fn publish(&self, topology: Topology) {
        *lock(&self.topology) = Arc::new(topology);
        self.version.fetch_add(1, Ordering::AcqRel);
        lock(&self.wakers).iter().for_each(Waker::wake);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a thread that panics aborts the process")
}
