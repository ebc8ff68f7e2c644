//! Enforces the RAM limit: selects values that have not been used for long and moves them to flash.
//! Also keeps the log small.

use crate::cold;
use crate::ffi::*;
use crate::log::State;
use crate::tier::tier;
use crate::value;
use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

const PERIOD_MS: i64 = 10;
/// Ticks without demotion after a pause of clients, so that waiting commands run first.
const QUIET_TICKS: u32 = 50;
/// Time per tick for demotion, and the time if RAM exceeds its limit by more than 1 %.
const BUDGET: Duration = Duration::from_millis(2);
const LARGE_BUDGET: Duration = Duration::from_millis(20);
/// Number of sampled keys for each selected one.
const SAMPLES: usize = 5;
const MOST_DRAWN: usize = SAMPLES * 64;
const ASK_EVERY: u64 = 16;
const VICTIMS: usize = 4096;
/// Number of victims selected in advance near the limit, because no tick runs while the server
/// handles a burst of commands.
const PREPARED: usize = 2048;
/// Number of commands after which used memory is measured between two ticks.
const MEASURE_EVERY: u32 = 16;
/// Maximum number of demotions before a command runs.
const MOST_BETWEEN: usize = 32;
const MOST_REFUSED: usize = 10_000;
/// Bytes compacted per tick, and the factor near the limit of flash.
const COMPACT_BYTES: u64 = 512 * 1024;
const HURRY: u64 = 8;

/// A key that is demoted next, unless it is used before.
pub struct Victim {
    database: u32,
    name: Owned,
    age: i64,
}

#[derive(Default)]
pub struct Compaction {
    segment: Option<u32>,
    offset: u64,
    /// Segments with an unreadable record. All other records in them have been moved.
    damaged: HashSet<u32>,
}

struct Work {
    quiet: u32,
    compaction: Compaction,
}

pub fn start(ctx: *mut Ctx) {
    let work = Box::new(Work { quiet: 0, compaction: Compaction::default() });
    // SAFETY: the timer owns the work from here on.
    unsafe { (api().CreateTimer)(ctx, PERIOD_MS, tick, Box::into_raw(work).cast()) };
}

unsafe extern "C" fn tick(ctx: *mut Ctx, work: *mut c_void) {
    // SAFETY: from `start`; only this function uses it.
    let state = unsafe { &mut *work.cast::<Work>() };
    tier().log.retry();
    // SAFETY: a live context.
    let (paused, flags) = unsafe { ((api().AvoidReplicaTraffic)() != 0, (api().GetContextFlags)(ctx)) };
    if paused || flags & CTX_LOADING != 0 {
        state.quiet = QUIET_TICKS;
        tier().victims.clear();
    }
    measure(ctx);
    tier().holds = state.quiet == 0 && flags & CTX_LOADING == 0;
    tier().has_no_candidates = false;
    let (in_ram, _) = values(ctx);
    tier().admission.tick(in_ram);
    tier().hot.bound(in_ram);
    tier().log.clean.resize(in_ram);
    tier().reuse.tick();
    if state.quiet > 0 {
        state.quiet -= 1;
    } else if flags & CTX_LOADING == 0 {
        enforce_limit(ctx);
        compact(ctx, &mut state.compaction);
    }
    tier().log.remove_empty();
    // SAFETY: the next tick owns the same work.
    unsafe { (api().CreateTimer)(ctx, PERIOD_MS, tick, work) };
}

/// Queries the server for its used memory.
pub fn measure(ctx: *mut Ctx) {
    // SAFETY: the result is freed here.
    unsafe {
        let info = (api().GetServerInfo)(ctx, c"memory".as_ptr());
        let mut error: c_int = 0;
        let used = (api().ServerInfoGetFieldUnsigned)(info, c"used_memory".as_ptr(), &mut error);
        let most = (api().ServerInfoGetFieldUnsigned)(info, c"maxmemory".as_ptr(), &mut error);
        (api().FreeServerInfo)(ctx, info);
        if error == OK {
            (tier().used, tier().max_memory, tier().unmeasured) = (used as i64, most, 0);
        }
    }
}

/// Measures used memory between two ticks, in a hundredth of the time, so that growth is detected
/// before the server refuses the next command.
fn measure_again() {
    let tier = tier();
    tier.unmeasured = 0;
    if tier.max_memory > 0 {
        // SAFETY: reads a number.
        tier.used = (unsafe { (api().GetUsedMemoryRatio)() } as f64 * tier.max_memory as f64) as i64;
    }
}

/// Whether RAM is far below its limit.
pub fn has_room() -> bool {
    excess() < -(tier().ram_limit as i64) / 20
}

fn excess() -> i64 {
    let tier = tier();
    let ours = tier.hot.bytes() + tier.log.clean.bytes();
    if tier.ram_limit == 0 { 0 } else { tier.used + ours as i64 - tier.ram_limit as i64 }
}

fn enforce_limit(ctx: *mut Ctx) {
    let limit = tier().ram_limit as i64;
    let budget = if excess() > limit / 100 { LARGE_BUDGET } else { BUDGET };
    let until = Instant::now() + budget;
    while excess() > 0 && Instant::now() < until {
        if tier().victims.is_empty() {
            sample(ctx);
        }
        if tier().victims.is_empty() || !demote_next() {
            return;
        }
    }
    // Prepared victims are used quickly. Having too few costs more than the time for selecting them
    // now.
    let budget = if tier().victims.len() < PREPARED / 2 { LARGE_BUDGET } else { BUDGET };
    let until = Instant::now() + budget;
    while excess() > -limit / 20 && tier().victims.len() < PREPARED && Instant::now() < until {
        let before = tier().victims.len();
        sample(ctx);
        if tier().victims.len() == before {
            return;
        }
    }
}

/// Samples random keys and selects those used longest ago (or least frequently).
fn sample(ctx: *mut Ctx) {
    let mut found = Vec::new();
    // Samples known keys in proportion to their share of all keys, and at intervals all keys, to
    // find those that grew or were renamed.
    let known = tier().hot.len() as u64 * ASK_EVERY / values(ctx).0.max(1);
    tier().samplings += 1;
    if tier().samplings % ASK_EVERY < known.min(ASK_EVERY - 1) {
        sample_known(ctx, &mut found);
    }
    if found.is_empty() {
        sample_all(ctx, &mut found);
    }
    found.sort_by_key(|(age, ..)| std::cmp::Reverse(*age));
    let keep = (found.len() / SAMPLES).max(1);
    let tier = tier();
    tier.victims.extend(found.into_iter().take(keep).map(|(age, database, name)| Victim {
        database,
        name,
        age,
    }));
    tier.victims.truncate(VICTIMS);
}

/// Samples the keys that are known to be in RAM.
fn sample_known(ctx: *mut Ctx, found: &mut Vec<(i64, u32, Owned)>) {
    for _ in 0..MOST_DRAWN {
        let Some((place, name)) = tier().hot.random_name() else { return };
        let (database, name) = (name.database, Owned::new(&name.key));
        // SAFETY: the context of the module and a valid database number.
        unsafe { (api().SelectDb)(ctx, database as c_int) };
        let hot = Open::new(ctx, name.0, READ).filter(|key| !cold::is_cold(key));
        match hot {
            // SAFETY: the name is owned here.
            Some(key) if can_demote(&key, database, unsafe { bytes(name.0) }) => {
                let age = age_of(&key);
                drop(key);
                found.push((age, database, name));
            }
            Some(_) => {}
            None => tier().hot.remove(place),
        }
    }
}

/// Samples all keys.
fn sample_all(ctx: *mut Ctx, found: &mut Vec<(i64, u32, Owned)>) {
    for database in 0..tier().databases {
        // SAFETY: a live context; each name is owned here.
        unsafe {
            (api().SelectDb)(ctx, database as c_int);
            let count = (api().DbSize)(ctx);
            if count == 0 {
                continue;
            }
            let cold = cold::COLD.load(std::sync::atomic::Ordering::Relaxed).max(0) as u64;
            let tries = (SAMPLES * 64).min(if count > cold { usize::MAX } else { 64 });
            for _ in 0..tries {
                let name = (api().RandomKey)(ctx);
                if name.is_null() {
                    break;
                }
                // Neither kind of context frees the string automatically.
                let name = Owned(name);
                let Some(key) = Open::new(ctx, name.0, READ) else { continue };
                if !can_demote(&key, database, bytes(name.0)) {
                    continue;
                }
                let age = age_of(&key);
                drop(key);
                found.push((age, database, name));
            }
        }
    }
}

/// Returns milliseconds since the last use, or the negated frequency of use. Higher values are
/// demoted first.
fn age_of(key: &Open) -> i64 {
    let mut used = 0;
    // SAFETY: the key is open.
    unsafe {
        if (api().GetLRU)(key.0, &mut used) == OK && used >= 0 {
            used
        } else if (api().GetLFU)(key.0, &mut used) == OK && used >= 0 {
            -used
        } else {
            0
        }
    }
}

/// Whether the value may be demoted. A value that could not be demoted is excluded until its length
/// changes: it is not used, so it would be selected again and again.
fn can_demote(key: &Open, database: u32, name: &[u8]) -> bool {
    let tier = tier();
    let Some(kind) = value::kind_of(key) else { return false };
    // SAFETY: the key is open.
    let length = unsafe { (api().ValueLength)(key.0) };
    let small = kind == value::STRING && length < tier.min_value;
    let refused = !tier.refused.is_empty() && tier.refused.get(&(database, name.to_vec())) == Some(&length);
    !small && !refused && !tier.pins.is_pinned(name)
}

/// Records the length of a value that could not be demoted.
fn exclude(ctx: *mut Ctx, database: u32, name: *mut Str) {
    let Some(key) = Open::new(ctx, name, READ) else { return };
    let tier = tier();
    if tier.refused.len() >= MOST_REFUSED {
        tier.refused.clear();
    }
    // SAFETY: key and name are live.
    let (length, name) = unsafe { ((api().ValueLength)(key.0), bytes(name)) };
    if !tier.pins.is_pinned(name) {
        tier.refused.insert((database, name.to_vec()), length);
    }
}

/// Demotes the next victim. Returns `false` if there is none or the log accepts no values.
fn demote_next() -> bool {
    let Some(Victim { database, name, age }) = tier().victims.pop_front() else { return false };
    let ctx = tier().ctx;
    // SAFETY: the context of the module.
    unsafe { (api().SelectDb)(ctx, database as c_int) };
    if Open::new(ctx, name.0, READ).is_none_or(|key| age_of(&key) < age) {
        return true; // it was deleted, or used in the meantime
    }
    if let Some(freed) = cold::demote(ctx, database, name.0) {
        tier().used -= freed as i64;
    } else if tier().log.state() == State::Ok {
        exclude(ctx, database, name.0);
    }
    tier().log.state() == State::Ok
}

/// Demotes values before the next command if the previous ones exceeded the limit.
pub fn hold_between_commands() {
    if !tier().holds || tier().ram_limit == 0 {
        return;
    }
    tier().unmeasured += 1;
    if tier().unmeasured >= MEASURE_EVERY {
        measure_again();
    }
    if excess() <= 0 {
        return;
    }
    // SAFETY: reads a flag.
    if unsafe { (api().AvoidReplicaTraffic)() } != 0 {
        return;
    }
    for _ in 0..MOST_BETWEEN {
        if excess() <= 0 {
            return;
        }
        // Prepared victims are not sufficient if ticks are late because other processes use the
        // CPU.
        if tier().victims.is_empty() && !tier().has_no_candidates {
            sample(tier().ctx);
            tier().has_no_candidates = tier().victims.is_empty();
        }
        if !demote_next() {
            return;
        }
    }
}

/// Moves live records of a mostly dead segment to the end of the log, a part in each tick.
fn compact(ctx: *mut Ctx, state: &mut Compaction) {
    let number = match state.segment {
        Some(number) => number,
        None => {
            let Some(number) = tier().log.to_compact(&state.damaged) else { return };
            (state.segment, state.offset) = (Some(number), 0);
            number
        }
    };
    let hurry = if tier().log.needs_space() { HURRY } else { 1 };
    let end = state.offset + hurry * COMPACT_BYTES;
    while state.offset < end {
        let Some((record, next)) = tier().log.walk(number, state.offset) else {
            if !tier().log.is_end(number, state.offset) {
                state.damaged.insert(number);
            }
            state.segment = None;
            return;
        };
        state.offset = next;
        let Some(database) = tier().tokens.iter().position(|&token| token == record.database) else {
            continue;
        };
        // SAFETY: a live context.
        unsafe { (api().SelectDb)(ctx, database as c_int) };
        let name = Owned::new(&record.key);
        if !cold::is_at(ctx, name.0, record.place) {
            continue;
        }
        let (kind, value) = (record.place.kind(), &record.value);
        let Some(place) = tier().log.append_moved(kind, record.database, &record.key, value) else {
            state.segment = None;
            return;
        };
        if cold::relocate(ctx, name.0, record.place, place) {
            record.place.release()
        } else {
            place.release()
        }
    }
}

/// Returns the number of hot and of cold keys in all databases.
pub fn values(ctx: *mut Ctx) -> (u64, u64) {
    let mut keys = 0;
    for database in 0..tier().databases {
        // SAFETY: the context of the module.
        unsafe {
            (api().SelectDb)(ctx, database as c_int);
            keys += (api().DbSize)(ctx);
        }
    }
    let cold = cold::COLD.load(std::sync::atomic::Ordering::Relaxed).max(0) as u64;
    (keys.saturating_sub(cold), cold)
}
