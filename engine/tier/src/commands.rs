//! The commands of the module. They are used by the filter and the append-only file; clients do not
//! need them.

use crate::cold;
use crate::ffi::*;
use crate::reads;
use crate::replies::{text, texts};
use crate::tier::{Command, Kind, tier};
use rustc_hash::FxHashMap;
use std::ffi::{CString, c_int};

pub fn create(ctx: *mut Ctx) -> bool {
    let commands: [(_, CommandFn, _); 8] = [
        (c"tier.get", reads::get, c"readonly fast"),
        (c"tier.hot", hot, c"write fast"),
        (c"tier.where", place, c"readonly fast"),
        (c"tier.scan", scan, c"readonly"),
        (c"tier.curve", curve, c"readonly fast"),
        (c"tier.unreadable", unreadable, c"allow-stale"),
        (c"tier.damaged", damaged, c"allow-stale"),
        (c"tier.paused", paused, c"allow-stale"),
    ];
    // The server checks whether users may access these keys. The key of tier.hot is not declared,
    // because a cluster would refuse promotions while its slot moves.
    let has_keys = |name: &std::ffi::CStr| c_int::from([c"tier.get", c"tier.where"].contains(&name));
    commands.into_iter().all(|(name, function, flags)| {
        let at = has_keys(name);
        // SAFETY: called while the module loads.
        unsafe { (api().CreateCommand)(ctx, name.as_ptr(), function, flags.as_ptr(), at, at, at) == OK }
    })
}

/// `tier.hot KEY`: promotes the value, here and where this append-only file is loaded.
unsafe extern "C" fn hot(ctx: *mut Ctx, argv: *mut *mut Str, argc: c_int) -> c_int {
    // SAFETY: the server passes a live context and `argc` arguments.
    unsafe {
        if argc != 2 {
            return (api().WrongArity)(ctx);
        }
        let name = *argv.add(1);
        let cold = Open::new(ctx, name, READ).is_some_and(|key| cold::is_cold(&key));
        if cold && cold::promote(ctx, name).is_err() {
            return (api().ReplyWithError)(ctx, UNREADABLE.as_ptr());
        }
        (api().Replicate)(ctx, c"tier.hot".as_ptr(), c"Rs".as_ptr(), name);
        (api().ReplyWithSimpleString)(ctx, c"OK".as_ptr())
    }
}

/// `tier.where KEY`: returns `ram`, `flash` or `none`, for tests and diagnosis.
unsafe extern "C" fn place(ctx: *mut Ctx, argv: *mut *mut Str, argc: c_int) -> c_int {
    // SAFETY: the server passes a live context and `argc` arguments.
    unsafe {
        if argc != 2 {
            return (api().WrongArity)(ctx);
        }
        let location = match Open::new(ctx, *argv.add(1), READ) {
            None => c"none",
            Some(key) if cold::is_cold(&key) => c"flash",
            Some(_) => c"ram",
        };
        (api().ReplyWithSimpleString)(ctx, location.as_ptr())
    }
}

pub const UNREADABLE: &std::ffi::CStr =
    c"IOERR the value is on flash and cannot be read; the command was not executed";
pub const DAMAGED: &std::ffi::CStr = c"IOERR the value on flash is damaged; the command was not executed";

/// `tier.curve`: returns the number of sampled uses, followed by pairs of a number of values and
/// the share of uses, in millionths, that would be served if RAM held that many values.
unsafe extern "C" fn curve(ctx: *mut Ctx, _: *mut *mut Str, argc: c_int) -> c_int {
    // SAFETY: the server passes a live context.
    unsafe {
        if argc != 1 {
            return (api().WrongArity)(ctx);
        }
        let reuse = &tier().reuse;
        let mut words = vec![reuse.uses().to_string()];
        words.extend(reuse.curve().iter().map(|(values, share)| format!("{values}:{share}")));
        let text = CString::new(words.join(" ")).unwrap_or_default();
        (api().ReplyWithSimpleString)(ctx, text.as_ptr())
    }
}

const PAUSED: &std::ffi::CStr =
    c"TRYAGAIN the value is on flash and clients are paused; the command was not executed";

unsafe extern "C" fn unreadable(ctx: *mut Ctx, _: *mut *mut Str, _: c_int) -> c_int {
    fail(ctx, UNREADABLE)
}

unsafe extern "C" fn damaged(ctx: *mut Ctx, _: *mut *mut Str, _: c_int) -> c_int {
    fail(ctx, DAMAGED)
}

unsafe extern "C" fn paused(ctx: *mut Ctx, _: *mut *mut Str, _: c_int) -> c_int {
    fail(ctx, PAUSED)
}

/// Returns an error to a client. A replica that cannot execute a command of its primary exits: it
/// returns with a full sync, never with different data.
fn fail(ctx: *mut Ctx, message: &std::ffi::CStr) -> c_int {
    // SAFETY: a live context.
    unsafe {
        if (api().GetContextFlags)(ctx) & CTX_REPLICATED != 0 {
            (api().Log)(ctx, c"warning".as_ptr(), c"%s: this replica exits".as_ptr(), message.as_ptr());
            libc::_exit(1);
        }
        (api().ReplyWithError)(ctx, message.as_ptr())
    }
}

/// `tier.scan CURSOR … TYPE type …`: SCAN with the types of cold values.
unsafe extern "C" fn scan(ctx: *mut Ctx, argv: *mut *mut Str, argc: c_int) -> c_int {
    // SAFETY: the server passes a live context and `argc` arguments; each reply is freed.
    unsafe {
        let args = std::slice::from_raw_parts(argv, argc as usize);
        let mut rest = Vec::new();
        let mut type_name = Vec::new();
        let mut index = 1;
        while index < args.len() {
            if index > 1 && bytes(args[index]).eq_ignore_ascii_case(b"type") && index + 1 < args.len() {
                type_name = bytes(args[index + 1]).to_ascii_lowercase();
                index += 2;
            } else {
                rest.push(args[index]);
                index += 1;
            }
        }
        let known: [&[u8]; 6] = [b"string", b"list", b"hash", b"set", b"zset", b"stream"];
        let plain = !known.contains(&type_name.as_slice());
        let passed = if plain { &args[1..] } else { &rest[..] };
        let reply = (api().Call)(ctx, c"SCAN".as_ptr(), c"vE".as_ptr(), passed.as_ptr(), passed.len());
        if reply.is_null() {
            return (api().ReplyWithError)(ctx, c"ERR SCAN cannot be called".as_ptr());
        }
        if plain || (api().CallReplyType)(reply) != REPLY_ARRAY {
            let result = (api().ReplyWithCallReply)(ctx, reply);
            (api().FreeCallReply)(reply);
            return result;
        }
        let cursor = text((api().CallReplyArrayElement)(reply, 0));
        let mut found = texts((api().CallReplyArrayElement)(reply, 1));
        (api().FreeCallReply)(reply);
        found.retain(|name| type_of(ctx, name) == Some(type_name.as_slice()));
        (api().ReplyWithArray)(ctx, 2);
        (api().ReplyWithStringBuffer)(ctx, cursor.as_ptr().cast(), cursor.len());
        (api().ReplyWithArray)(ctx, found.len() as i64);
        for name in found {
            (api().ReplyWithStringBuffer)(ctx, name.as_ptr().cast(), name.len());
        }
        OK
    }
}

/// Returns the type of the value as in TYPE, hot or cold.
fn type_of(ctx: *mut Ctx, name: &[u8]) -> Option<&'static [u8]> {
    let name = Owned::new(name);
    let key = Open::new(ctx, name.0, READ)?;
    if cold::is_cold(&key) {
        return Some(match cold::kind_at(&key) {
            crate::value::STRING => b"string",
            crate::value::LIST => b"list",
            crate::value::HASH => b"hash",
            _ => b"zset",
        });
    }
    // SAFETY: the key is open.
    Some(match unsafe { (api().KeyType)(key.0) } {
        KEYTYPE_STRING => b"string",
        KEYTYPE_LIST => b"list",
        KEYTYPE_HASH => b"hash",
        KEYTYPE_SET => b"set",
        KEYTYPE_ZSET => b"zset",
        KEYTYPE_STREAM => b"stream",
        _ => b"module",
    })
}

/// Queries the server for its commands and their flags.
pub fn table(ctx: *mut Ctx) -> FxHashMap<Vec<u8>, Command> {
    let mut table = FxHashMap::default();
    // SAFETY: the reply lives until it is freed.
    unsafe {
        let reply = (api().Call)(ctx, c"COMMAND".as_ptr(), c"".as_ptr());
        if !reply.is_null() {
            add_commands(reply, &mut table);
            (api().FreeCallReply)(reply);
        }
    }
    table
}

/// # Safety
/// The reply is live.
unsafe fn add_commands(reply: *mut Reply, table: &mut FxHashMap<Vec<u8>, Command>) {
    // SAFETY: elements live as long as the reply.
    unsafe {
        for index in 0..(api().CallReplyLength)(reply) {
            let entry = (api().CallReplyArrayElement)(reply, index);
            let name = text((api().CallReplyArrayElement)(entry, 0));
            let flags = texts((api().CallReplyArrayElement)(entry, 2));
            let inner = (api().CallReplyArrayElement)(entry, 9);
            let container = !inner.is_null()
                && (api().CallReplyType)(inner) == REPLY_ARRAY
                && (api().CallReplyLength)(inner) > 0;
            let has = |flag: &[u8]| flags.iter().any(|found| found == flag);
            let name = name.to_ascii_lowercase();
            let (write, blocking) = (has(b"write"), has(b"blocking"));
            let kind = Kind::of(&name);
            table.insert(name, Command { kind, write, blocking, container });
            if container {
                add_commands(inner, table);
            }
        }
    }
}
