//! `tier.get`, which replaces GET if the value is a string on flash. The client waits for the read;
//! the server does not.
//!
//! The value that was read is valid if the key still refers to the same record. Otherwise the
//! present value of the key is returned, as for a GET that arrived a moment later. If the slot
//! has moved to another shard in the meantime, the value that was read is returned.

use crate::cold;
use crate::commands::{DAMAGED, UNREADABLE};
use crate::ffi::*;
use crate::filter;
use crate::limit;
use crate::log::{Place, ReadError};
use crate::ring::Ring;
use crate::tier::tier;
use crate::value::STRING;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// A client that waits for a read.
pub struct Waiting {
    client: *mut Blocked,
    place: Place,
    key: Vec<u8>,
}

/// Result of a read.
struct ReadResult {
    place: Place,
    value: Result<Vec<u8>, ReadError>,
}

const WRONG_TYPE: &std::ffi::CStr = c"WRONGTYPE Operation against a key holding the wrong kind of value";
/// Flags of contexts in which a client cannot wait: in a script or a transaction.
const CANNOT_WAIT: c_int = CTX_LUA | CTX_MULTI | CTX_DENY_BLOCKING | CTX_REPLICATED;

/// Enables reads in the background if the system supports them.
pub fn start(ctx: *mut Ctx) {
    match Ring::new() {
        // SAFETY: the ring lives as long as the module, and therefore as long as the server.
        Ok(ring) => unsafe {
            (api().EventLoopAdd)(ring.event(), EVENTLOOP_READABLE, on_reads_completed, null_mut());
            tier().ring = Some(ring);
        },
        Err(error) => {
            let reason = std::ffi::CString::new(error.to_string()).unwrap_or_default();
            let message = c"io_uring is not available (%s): the server waits for each read from flash";
            // SAFETY: a live context and texts that end with a zero byte.
            unsafe { (api().Log)(ctx, c"notice".as_ptr(), message.as_ptr(), reason.as_ptr()) };
        }
    }
}

/// Whether GET of the open, cold key can be replaced with `tier.get`: its value is a string in a
/// file, and the user may execute both commands.
pub fn can_wait(key: &Open, id: u64, argv: &mut [*mut Str]) -> bool {
    tier().ring.is_some()
        && cold::kind_at(key) == STRING
        && cold::place_of(key).is_some_and(|place| tier().log.file_of(place).is_some())
        && may_run(id, argv)
}

fn may_run(id: u64, argv: &mut [*mut Str]) -> bool {
    // SAFETY: the context of the module; name and user are freed, the arguments live during the
    // call.
    unsafe {
        let name = (api().GetClientUserNameById)(tier().ctx, id);
        if name.is_null() {
            return false;
        }
        let name = Owned(name);
        let user = (api().GetModuleUserFromUserName)(name.0);
        if user.is_null() {
            return false;
        }
        let ours = Owned::new(b"tier.get");
        let mut as_ours = [ours.0, argv[1]];
        let may = (api().ACLCheckCommandPermissions)(user, argv.as_mut_ptr(), argv.len() as c_int) == OK
            && (api().ACLCheckCommandPermissions)(user, as_ours.as_mut_ptr(), 2) == OK;
        (api().FreeModuleUser)(user);
        may
    }
}

/// `tier.get KEY`
pub unsafe extern "C" fn get(ctx: *mut Ctx, argv: *mut *mut Str, argc: c_int) -> c_int {
    // SAFETY: the server passes a live context and `argc` arguments.
    unsafe {
        if argc != 2 {
            return (api().WrongArity)(ctx);
        }
        answer(ctx, *argv.add(1), None)
    }
}

/// Answers a client after the read. The result is its private data.
unsafe extern "C" fn reply(ctx: *mut Ctx, argv: *mut *mut Str, _: c_int) -> c_int {
    // SAFETY: the server passes the client's arguments and the value passed to `UnblockClient`,
    // which `forget` frees later.
    unsafe {
        let found = &*(api().GetBlockedClientPrivateData)(ctx).cast::<ReadResult>();
        answer(ctx, *argv.add(1), Some(found))
    }
}

unsafe extern "C" fn forget(_: *mut Ctx, found: *mut c_void) {
    // SAFETY: made in `on_reads_completed`, freed once.
    drop(unsafe { Box::from_raw(found.cast::<ReadResult>()) });
}

/// # Safety
/// Context and name are live.
unsafe fn answer(ctx: *mut Ctx, name: *mut Str, found: Option<&ReadResult>) -> c_int {
    // The first access is that of the client: it is counted and updates the last use. The second is
    // internal.
    let open = if found.is_none() { Open::noticed(ctx, name) } else { Open::new(ctx, name, READ) };
    // SAFETY: see above; the reply is copied while the key is open.
    unsafe {
        let Some(key) = open else {
            if let Some(found) = found
                && slot_has_moved(ctx, name)
            {
                return reply_value(ctx, found.value.as_deref());
            }
            return (api().ReplyWithNull)(ctx);
        };
        if !cold::is_cold(&key) {
            if (api().KeyType)(key.0) != KEYTYPE_STRING {
                return (api().ReplyWithError)(ctx, WRONG_TYPE.as_ptr());
            }
            let mut length = 0;
            let start = (api().StringDMA)(key.0, &mut length, READ);
            return (api().ReplyWithStringBuffer)(ctx, start, length);
        }
        if cold::kind_at(&key) != STRING {
            return (api().ReplyWithError)(ctx, WRONG_TYPE.as_ptr());
        }
        let place = cold::place_of(&key);
        if let Some(found) = found
            && place == Some(found.place)
        {
            drop(key);
            if let Ok(value) = &found.value {
                admit(ctx, name, value);
            }
            return reply_value(ctx, found.value.as_deref());
        }
        if found.is_none()
            && let Some(place) = place
            && (api().GetContextFlags)(ctx) & CANNOT_WAIT == 0
            && wait(ctx, name, place)
        {
            return OK;
        }
        let value = cold::read_at(&key, bytes(name));
        reply_value(ctx, value.as_deref())
    }
}

/// Whether a key that no longer exists here belongs to another shard now. The server does not check
/// the slot again when a blocked client continues.
///
/// # Safety
/// Context and name are live.
unsafe fn slot_has_moved(ctx: *mut Ctx, name: *mut Str) -> bool {
    // SAFETY: see above; the reply is freed.
    unsafe {
        let reply = (api().Call)(ctx, c"EXISTS".as_ptr(), c"sE".as_ptr(), name);
        let is_refused = reply.is_null() || (api().CallReplyType)(reply) == REPLY_ERROR;
        if !reply.is_null() {
            (api().FreeCallReply)(reply);
        }
        is_refused
    }
}

/// # Safety
/// The context is live.
unsafe fn reply_value(ctx: *mut Ctx, value: Result<&[u8], &ReadError>) -> c_int {
    // SAFETY: see above; the server copies the bytes.
    unsafe {
        match value {
            Ok(value) => (api().ReplyWithStringBuffer)(ctx, value.as_ptr().cast(), value.len()),
            Err(ReadError::Checksum) => (api().ReplyWithError)(ctx, DAMAGED.as_ptr()),
            Err(_) => (api().ReplyWithError)(ctx, UNREADABLE.as_ptr()),
        }
    }
}

/// Queues the read and blocks the client. Returns `false` if this is not possible.
///
/// # Safety
/// Context and name are live.
unsafe fn wait(ctx: *mut Ctx, name: *mut Str, place: Place) -> bool {
    let tier = tier();
    let (Some(ring), Some(file)) = (tier.ring.as_mut(), tier.log.file_of(place)) else { return false };
    if ring.is_full() {
        return false;
    }
    // SAFETY: see above; the callbacks are static.
    unsafe {
        let client = (api().BlockClient)(ctx, reply, None, forget, 0);
        if client.is_null() {
            return false;
        }
        let waiting = Waiting { client, place, key: bytes(name).to_vec() };
        ring.read(file, place.offset(), place.length() as usize, waiting);
    }
    true
}

/// Handles completed reads. Their clients continue at the end of this event loop iteration.
unsafe extern "C" fn on_reads_completed(_: c_int, _: *mut c_void, _: c_int) {
    let state = tier();
    let Some(mut ring) = state.ring.take() else { return };
    ring.complete_reads(|waiting, bytes, took| {
        let value = state.log.check(waiting.place, &waiting.key, bytes, took).map(<[u8]>::to_vec);
        let found = Box::new(ReadResult { place: waiting.place, value });
        // SAFETY: blocked in `wait`, unblocked once; the server frees the result with `forget`.
        unsafe { (api().UnblockClient)(waiting.client, Box::into_raw(found).cast()) };
    });
    ring.submit();
    state.ring = Some(ring);
}

pub fn before_sleep() {
    if let Some(ring) = &mut tier().ring {
        ring.submit();
    }
}

pub fn after_sleep() {
    if let Some(ring) = &mut tier().ring {
        ring.start_iteration();
    }
}

/// Promotes a value that was read, if admission allows it.
///
/// # Safety
/// Context and name are live.
unsafe fn admit(ctx: *mut Ctx, name: *mut Str, value: &[u8]) {
    // SAFETY: see above.
    let (database, key) = unsafe { ((api().GetSelectedDb)(ctx), bytes(name)) };
    let ours = tier().ctx;
    if (tier().admission.admits(database as u32, key) || limit::has_room())
        && !filter::must_not_propagate(ours)
    {
        // SAFETY: the context of the module.
        unsafe { (api().SelectDb)(ours, database) };
        cold::promote_string(ours, name, value);
        tier().used += value.len() as i64;
        filter::propagate_promotion(ours, name);
    }
}
