//! Runs before every command: counts the keys that it accesses, and promotes cold ones.
//!
//! The server calls the filter for each command of a client or of its primary and for each call of
//! a script, but not for queued commands when a transaction is executed. Keys of these are
//! therefore pinned when they are queued.

mod caller;
mod request;
mod sort;
mod transaction;

use crate::cold;
use crate::ffi::*;
use crate::limit;
use crate::log::ReadError;
use crate::reads;
use crate::tier::{Access, Client, Kind, tier};
use caller::{Caller, select};
use request::{Request, asks_for_type};
use sort::sort_patterns;
use std::ffi::c_int;
use transaction::{before_exec, pin, refuse};

pub unsafe extern "C" fn run(filter: *mut FilterCtx) {
    // SAFETY: the server's filter context lives during the call.
    let id = unsafe { (api().CommandFilterGetClientId)(filter) };
    if tier().last_plain_client == Some(id) && is_done_in_ram(filter) {
        return;
    }
    tier().last_plain_client = None;
    let Some(mut request) = Request::new(filter) else { return };
    let caller = Caller::new(id);
    tier().database = caller.database;
    if caller.top {
        limit::hold_between_commands();
    }
    match request.command.kind {
        Kind::Multi if caller.top => tier().clients.entry(id).or_default().in_multi = true,
        Kind::Exec if caller.top => before_exec(&request, id),
        Kind::Discard if caller.top => {
            tier().unpin(id);
            tier().clients.insert(id, Client::default());
        }
        Kind::Select => select(&request, id, caller.top),
        Kind::Scan if asks_for_type(&request) => request.become_command(b"tier.scan", true),
        Kind::Sort => {
            if let Err(fault) = sort_patterns(&request, &caller) {
                refuse(&request, &fault, caller.in_multi);
                return;
            }
            touch_keys(&mut request, &caller);
        }
        Kind::Get if caller.top && !caller.in_multi && request.argv.len() == 2 => {
            tier().last_plain_client = Some(id);
            get(&mut request, &caller);
        }
        Kind::Set if caller.top && !caller.in_multi && request.argv.len() == 3 => {
            tier().last_plain_client = Some(id);
            touch_keys(&mut request, &caller);
        }
        _ => touch_keys(&mut request, &caller),
    }
}

/// Handles the most frequent case: another GET, or SET without options, of the client that sent the
/// last command, for a key whose value is in RAM. Nothing else is checked. Returns `false` in all
/// other cases.
fn is_done_in_ram(filter: *mut FilterCtx) -> bool {
    // SAFETY: the server's filter context lives during the call, and so do its arguments.
    let (command, name, value) = unsafe {
        let argument = |index| (api().CommandFilterArgGet)(filter, index);
        match (api().CommandFilterArgsCount)(filter) {
            2 => (bytes(argument(0)), argument(1), None),
            3 => (bytes(argument(0)), argument(1), Some(bytes(argument(2)))),
            _ => return false,
        }
    };
    let expected: &[u8] = if value.is_some() { b"set" } else { b"get" };
    if !command.eq_ignore_ascii_case(expected) {
        return false;
    }
    limit::hold_between_commands();
    let database = tier().database;
    select_database(database);
    let Some(key) = Open::new(tier().ctx, name, READ) else { return value.is_none() };
    if cold::is_cold(&key) {
        return false;
    }
    if let Some(value) = value {
        // SAFETY: the key is open.
        tier().used += value.len() as i64 - unsafe { (api().ValueLength)(key.0) } as i64;
    }
    let access = if value.is_some() { Access::Write } else { Access::Fetch };
    // SAFETY: as above.
    tier().count(access, false, database, unsafe { bytes(name) });
    true
}

/// Handles the most frequent command, which reads one string.
fn get(request: &mut Request, caller: &Caller) {
    select_database(caller.database);
    let Some(key) = Open::new(tier().ctx, request.argv[1], READ) else { return };
    if !cold::is_cold(&key) {
        tier().count(Access::Fetch, false, caller.database, request.arg(1));
    } else if reads::can_wait(&key, caller.id, &mut request.argv) {
        tier().count(Access::Fetch, true, caller.database, request.arg(1));
        request.become_command(b"tier.get", true);
    } else {
        drop(key);
        touch_keys(request, caller);
    }
}

fn touch_keys(request: &mut Request, caller: &Caller) {
    let keys = request.keys();
    if keys.is_empty() {
        return;
    }
    let access = request.access();
    let in_multi = caller.in_multi;
    let needs_values = request.needs_values();
    for &at in &keys {
        let Some(&name) = request.argv.get(at) else { continue };
        // A command that runs later may use other databases.
        let now = caller.top && !in_multi && !request.command.blocking;
        let database = if now { Some(caller.database) } else { None };
        match touch(database, name, needs_values, request, access) {
            Ok(found) => {
                if !in_multi && let Some(cold) = found {
                    tier().count(access, cold, tier().database, request.arg(at));
                }
                if in_multi || (caller.top && request.command.blocking) {
                    pin(caller.id, tier().database, name, access, found == Some(true));
                }
            }
            Err(fault) => {
                refuse(request, &fault, in_multi);
                return;
            }
        }
    }
}

fn select_database(number: u32) {
    if tier().databases > 1 {
        // SAFETY: the context of the module and a valid database number.
        unsafe { (api().SelectDb)(tier().ctx, number as c_int) };
    }
}

/// Checks one key and promotes it if necessary. Returns whether it was cold, or `None` if it does
/// not exist. Scripts and transactions may select any database, so their keys are promoted in all
/// of them.
fn touch(
    database: Option<u32>,
    name: *mut Str,
    needs_value: bool,
    request: &Request,
    access: Access,
) -> Result<Option<bool>, ReadError> {
    let mut result = None;
    let current = tier().database;
    let range =
        if database.is_some() || tier().databases == 1 { current..current + 1 } else { 0..tier().databases };
    for number in range {
        let ctx = tier().ctx;
        select_database(number);
        let Some(key) = Open::new(ctx, name, READ) else {
            if access == Access::Write && number == current {
                estimate_growth(request, None);
                // SAFETY: the name lives during the call.
                tier().reuse.record_creation(number, unsafe { bytes(name) });
                become_hot(name, request);
            }
            continue;
        };
        let cold = cold::is_cold(&key);
        if access == Access::Write && number == current {
            estimate_growth(request, Some(&key));
            if cold && !needs_value {
                become_hot(name, request);
            }
        }
        drop(key);
        if number == current {
            result = Some(cold);
        }
        if cold && needs_value {
            if must_not_propagate(ctx) {
                return Err(ReadError::Paused);
            }
            let size = cold::promote(ctx, name)?;
            tier().used += size as i64;
            propagate_promotion(ctx, name);
        }
    }
    Ok(result)
}

/// Adds a key whose value this write creates to the candidates for demotion.
fn become_hot(name: *mut Str, request: &Request) {
    let size: usize = (2..request.argv.len()).map(|index| request.arg(index).len()).sum();
    if size >= tier().min_value {
        let database = tier().database;
        // SAFETY: the name lives during the call.
        tier().hot.add(database, unsafe { bytes(name) });
    }
}

/// Estimates the growth of used memory until the next measurement.
fn estimate_growth(request: &Request, key: Option<&Open>) {
    let mut size: i64 = (2..request.argv.len()).map(|index| request.arg(index).len() as i64).sum();
    if let Some(key) = key
        && request.command.kind == Kind::Set
        && !cold::is_cold(key)
    {
        // SAFETY: the key is open.
        size -= unsafe { (api().ValueLength)(key.0) } as i64;
    }
    tier().used += size;
}

/// Writes a promotion to the append-only file, because no filter runs when the file is loaded.
pub fn propagate_promotion(ctx: *mut Ctx, name: *mut Str) {
    // SAFETY: the context of the module; the call flushes what it propagates when it ends.
    unsafe {
        if (api().GetContextFlags)(ctx) & CTX_AOF != 0 {
            let reply = (api().Call)(ctx, c"tier.hot".as_ptr(), c"!s".as_ptr(), name);
            if !reply.is_null() {
                (api().FreeCallReply)(reply);
            }
        }
    }
}

/// Whether a promotion must not be propagated now: the server aborts if something is propagated
/// while clients are paused.
pub fn must_not_propagate(ctx: *mut Ctx) -> bool {
    // SAFETY: the context of the module; both calls read flags.
    unsafe { (api().GetContextFlags)(ctx) & CTX_AOF != 0 && (api().AvoidReplicaTraffic)() != 0 }
}
