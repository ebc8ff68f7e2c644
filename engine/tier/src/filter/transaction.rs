//! Keys of queued commands stay in RAM until EXEC. If a value is unavailable, the command or the
//! entire transaction is refused.

use super::request::Request;
use super::touch;
use crate::ffi::*;
use crate::log::ReadError;
use crate::replies::text;
use crate::tier::{Access, Client, Pinned, tier};
use std::ptr::null_mut;

fn is_replica() -> bool {
    // SAFETY: the context of the module.
    unsafe { (api().GetContextFlags)(tier().ctx) & CTX_REPLICA != 0 }
}

pub(super) fn refuse(request: &Request, fault: &ReadError, in_multi: bool) {
    request.become_command(
        match fault {
            ReadError::Io => b"tier.unreadable",
            ReadError::Checksum => b"tier.damaged",
            // This command does not exist: the server refuses to queue it and aborts the
            // transaction.
            ReadError::Paused if in_multi && !is_replica() => b"tier.paused-in-transaction",
            ReadError::Paused => b"tier.paused",
        },
        false,
    );
}

pub(super) fn pin(id: u64, database: u32, name: *mut Str, access: Access, was_cold: bool) {
    // SAFETY: the name lives during the call.
    let key = unsafe { bytes(name) }.to_vec();
    let tier = tier();
    tier.pins.add(&key);
    tier.clients.entry(id).or_default().pinned.push(Pinned { database, key, access, was_cold });
}

/// Promotes pinned keys again, because a resync may have made them cold after their commands were
/// queued.
pub(super) fn before_exec(request: &Request, id: u64) {
    let pinned = tier().unpin(id);
    tier().clients.insert(id, Client::default());
    for pin in pinned {
        let name = Owned::new(&pin.key);
        tier().database = pin.database;
        match touch(None, name.0, true, request, Access::Fetch) {
            Ok(Some(cold)) => tier().count(pin.access, cold || pin.was_cold, pin.database, &pin.key),
            Ok(None) => {}
            Err(fault) => {
                abort(request, id, &fault);
                return;
            }
        }
    }
}

/// Aborts a transaction. EXEC of a client receives a surplus argument, so that the server returns
/// EXECABORT and executes nothing. A replica that cannot execute a transaction of its primary
/// exits.
fn abort(request: &Request, id: u64, fault: &ReadError) {
    // SAFETY: live contexts; the filter context takes ownership of the new string.
    unsafe {
        if is_replica() && is_primary_link(id) {
            let message = c"a transaction needs a value on flash that is not available: this replica exits";
            (api().Log)(tier().ctx, c"warning".as_ptr(), c"%s".as_ptr(), message.as_ptr());
            libc::_exit(1);
        }
        let why = match fault {
            ReadError::Io => c"unreadable",
            ReadError::Checksum => c"damaged",
            ReadError::Paused => c"paused",
        };
        let why = (api().CreateString)(null_mut(), why.as_ptr(), why.to_bytes().len());
        (api().CommandFilterArgInsert)(request.filter, 1, why);
    }
}

/// Whether the client is the link to the primary. Returns `true` if this is unknown.
fn is_primary_link(id: u64) -> bool {
    let id = Owned::new(id.to_string().as_bytes());
    // SAFETY: the format names the types of the arguments; the reply is freed.
    unsafe {
        let (list, by) = (c"LIST", c"ID");
        let ctx = tier().ctx;
        let reply = (api().Call)(ctx, c"CLIENT".as_ptr(), c"ccs".as_ptr(), list.as_ptr(), by.as_ptr(), id.0);
        let line = text(reply);
        if !reply.is_null() {
            (api().FreeCallReply)(reply);
        }
        let line = String::from_utf8_lossy(&line);
        line.split(' ').find_map(|word| word.strip_prefix("flags=")).is_none_or(|flags| flags.contains('M'))
    }
}
