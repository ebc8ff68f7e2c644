//! The state of the module: a single instance, used by the main thread (and by a forked child,
//! which has a copy).

use crate::admission::Admission;
use crate::ffi::*;
use crate::hot::HotNames;
use crate::limit::Victim;
use crate::log::Log;
use crate::reads::Waiting;
use crate::reuse::ReuseDistance;
use crate::ring::Ring;
use rustc_hash::FxHashMap;
use std::cell::UnsafeCell;
use std::collections::{HashMap, VecDeque};

/// Kind of access to a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Fetch,
    Write,
    Delete,
}

/// Number of accesses to keys whose value was in RAM, and on flash.
#[derive(Default, Clone, Copy)]
pub struct Accesses {
    pub ram: [u64; 3],
    pub flash: [u64; 3],
}

impl Accesses {
    pub fn count(&mut self, access: Access, cold: bool) {
        let place = if cold { &mut self.flash } else { &mut self.ram };
        place[access as usize] += 1;
    }
}

/// Names of keys that queued or blocked commands of a client will use. They stay in RAM in all
/// databases, because databases may be swapped in the meantime.
#[derive(Default)]
pub struct Pins(HashMap<Vec<u8>, u32>);

impl Pins {
    pub fn add(&mut self, key: &[u8]) {
        *self.0.entry(key.to_vec()).or_default() += 1;
    }
    pub fn remove(&mut self, key: &[u8]) {
        if let Some(count) = self.0.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(key);
            }
        }
    }
    pub fn is_pinned(&self, key: &[u8]) -> bool {
        !self.0.is_empty() && self.0.contains_key(key)
    }
}

/// A key that a client pins, and its state when the command was queued.
pub struct Pinned {
    pub database: u32,
    pub key: Vec<u8>,
    pub access: Access,
    pub was_cold: bool,
}

/// State of a client between its commands.
#[derive(Default)]
pub struct Client {
    pub database: Option<u32>,
    pub in_multi: bool,
    /// Whether the server has confirmed MULTI.
    pub confirmed: bool,
    pub pinned: Vec<Pinned>,
}

/// Kind of a command for the filter.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Kind {
    Get,
    Set,
    /// Removes keys.
    Delete,
    /// Does not read values, so they may stay cold.
    KeysOnly,
    Multi,
    Exec,
    /// Ends a transaction without executing it.
    Discard,
    Select,
    Scan,
    Sort,
    /// Accesses keys through commands that are filtered individually.
    Script,
    /// A command of this module.
    Module,
    Other,
    /// Not in the server's command table.
    #[default]
    Unknown,
}

impl Kind {
    pub fn of(name: &[u8]) -> Self {
        match name {
            b"get" => Self::Get,
            b"set" => Self::Set,
            b"del" | b"unlink" => Self::Delete,
            b"exists" | b"ttl" | b"pttl" | b"expire" | b"pexpire" | b"expireat" | b"pexpireat"
            | b"expiretime" | b"pexpiretime" | b"persist" | b"touch" | b"watch" | b"randomkey" => {
                Self::KeysOnly
            }
            b"multi" => Self::Multi,
            b"exec" => Self::Exec,
            b"discard" | b"reset" => Self::Discard,
            b"select" => Self::Select,
            b"scan" => Self::Scan,
            b"sort" | b"sort_ro" => Self::Sort,
            b"eval" | b"evalsha" | b"eval_ro" | b"evalsha_ro" | b"fcall" | b"fcall_ro" => Self::Script,
            _ if name.starts_with(b"tier.") => Self::Module,
            _ => Self::Other,
        }
    }
}

/// Properties of a command from the server's command table.
#[derive(Clone, Copy)]
pub struct Command {
    pub kind: Kind,
    pub write: bool,
    pub blocking: bool,
    pub container: bool,
}

impl Default for Command {
    fn default() -> Self {
        Self { kind: Kind::Unknown, write: true, blocking: false, container: false }
    }
}

pub struct Tier {
    pub ctx: *mut Ctx,
    pub data_type: *mut Type,
    pub log: Log,
    /// Reads that clients wait for. `None`: io_uring is not available.
    pub ring: Option<Ring<Waiting>>,
    pub admission: Admission,
    pub databases: u32,
    /// Database number in records, which follows the data through SWAPDB.
    pub tokens: Vec<u32>,
    pub ram_limit: u64,
    pub min_value: usize,
    /// Memory for the next request of the filter.
    pub spare_arguments: Vec<*mut Str>,
    pub clients: FxHashMap<u64, Client>,
    /// The client that sent the last command, if that was GET or SET outside a transaction. Its
    /// state has not changed since.
    pub last_plain_client: Option<u64>,
    pub pins: Pins,
    pub commands: FxHashMap<Vec<u8>, Command>,
    /// The database of the client whose command runs, for calls of scripts.
    pub database: u32,
    /// Used memory of the server: the last measured value, plus the estimated change since.
    pub used: i64,
    /// `maxmemory` of the server; 0: none.
    pub max_memory: u64,
    /// Number of commands since the last measurement.
    pub unmeasured: u32,
    /// Whether values may be demoted now.
    pub holds: bool,
    pub hot: HotNames,
    /// Number of samplings of victims.
    pub samplings: u64,
    pub victims: VecDeque<Victim>,
    /// Whether no value to demote has been found since the last tick.
    pub has_no_candidates: bool,
    /// Values that could not be demoted, by database and key, with their lengths at that time.
    pub refused: HashMap<(u32, Vec<u8>), usize>,
    pub accesses: Accesses,
    pub reuse: ReuseDistance,
    pub promotions: u64,
    /// Demotions that reused a record, and demotions that wrote one.
    pub demotions_clean: u64,
    pub demotions_dirty: u64,
}

impl Tier {
    /// Counts an access to an existing key.
    pub fn count(&mut self, access: Access, cold: bool, database: u32, key: &[u8]) {
        self.accesses.count(access, cold);
        if access != Access::Delete {
            self.reuse.record_use(database, key);
        }
    }

    /// Releases the keys that a client pinned.
    pub fn unpin(&mut self, client: u64) -> Vec<Pinned> {
        let Some(state) = self.clients.get_mut(&client) else { return Vec::new() };
        let pinned = std::mem::take(&mut state.pinned);
        for pin in &pinned {
            self.pins.remove(&pin.key);
        }
        pinned
    }
}

struct StateCell(UnsafeCell<Option<Tier>>);

// SAFETY: the server calls the module only on its main thread, except `free`, which does not use
// the state.
unsafe impl Sync for StateCell {}

static ONLY: StateCell = StateCell(UnsafeCell::new(None));

/// Sets the state. Called once, while the module loads.
pub fn set(tier: Tier) {
    // SAFETY: no references exist yet.
    unsafe { *ONLY.0.get() = Some(tier) }
}

/// Returns the state. References must be short-lived: none may be held during a call into the
/// server that may call back.
pub fn tier() -> &'static mut Tier {
    // SAFETY: see `StateCell`; set before any callback is registered.
    unsafe { (*ONLY.0.get()).as_mut().expect("the module is loaded") }
}
