//! Values as bytes: read from an open key, restored into a key, and emitted as commands.

use crate::ffi::*;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

pub const STRING: u8 = 1;
pub const LIST: u8 = 2;
pub const HASH: u8 = 3;
pub const ZSET: u8 = 4;

/// Returns the kind of a value that can be cold, by the type of the key.
///
/// Sets and streams stay in RAM: the module API provides no way to build a set, or a stream with
/// its groups, that also works on a replica. Hashes stay in RAM with Valkey 9 and later, because
/// their fields may expire individually and the API does not expose this.
pub fn kind_of(key: &Open) -> Option<u8> {
    // SAFETY: the key is open.
    match unsafe { (api().KeyType)(key.0) } {
        KEYTYPE_STRING => Some(STRING),
        KEYTYPE_LIST => Some(LIST),
        KEYTYPE_HASH if hashes_are_plain() => Some(HASH),
        KEYTYPE_ZSET => Some(ZSET),
        _ => None,
    }
}

fn hashes_are_plain() -> bool {
    // SAFETY: reads a constant.
    unsafe { (api().GetServerVersion)() < 0x0009_0000 }
}

fn write_part(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Splits off length-prefixed parts. Ends at the end, or if a length is invalid.
struct Parts<'a>(&'a [u8]);

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.0 = rest;
        Some(part)
    }
}

/// Returns the value as bytes, or `None` if it is smaller than `least` or larger than `most`.
pub fn serialize(key: &Open, kind: u8, least: usize, most: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    // SAFETY: the key is open and of that kind; every string that the API returns is freed.
    unsafe {
        let length = (api().ValueLength)(key.0);
        match kind {
            STRING => {
                if length < least.max(64) || length > most {
                    return None;
                }
                let mut size = 0;
                let start = (api().StringDMA)(key.0, &mut size, READ);
                out.extend_from_slice(std::slice::from_raw_parts(start.cast(), size));
            }
            LIST => {
                for index in 0..length {
                    if out.len() > most {
                        return None;
                    }
                    let element = (api().ListGet)(key.0, index as i64);
                    if element.is_null() {
                        return None;
                    }
                    write_part(&mut out, bytes(element));
                    (api().FreeString)(null_mut(), element);
                }
            }
            HASH => {
                let cursor = (api().ScanCursorCreate)();
                while (api().ScanKey)(key.0, cursor, add_field, (&raw mut out).cast()) != 0 {}
                (api().ScanCursorDestroy)(cursor);
            }
            ZSET => {
                (api().ZsetFirstInScoreRange)(key.0, f64::NEG_INFINITY, f64::INFINITY, 0, 0);
                while (api().ZsetRangeEndReached)(key.0) == 0 && out.len() <= most {
                    let mut score = 0.0;
                    let element = (api().ZsetRangeCurrentElement)(key.0, &mut score);
                    if element.is_null() {
                        break;
                    }
                    write_part(&mut out, bytes(element));
                    write_part(&mut out, &score.to_le_bytes());
                    (api().FreeString)(null_mut(), element);
                    (api().ZsetRangeNext)(key.0);
                }
                (api().ZsetRangeStop)(key.0);
            }
            _ => return None,
        }
    }
    (out.len() >= least && out.len() <= most).then_some(out)
}

unsafe extern "C" fn add_field(_: *mut Key, field: *mut Str, value: *mut Str, out: *mut c_void) {
    if value.is_null() {
        return;
    }
    // SAFETY: `out` is the vector that `take` passed; the strings live during this call.
    unsafe {
        let out = &mut *out.cast::<Vec<u8>>();
        write_part(out, bytes(field));
        write_part(out, bytes(value));
    }
}

/// Replaces the value of an open, writable key. Its time to live is lost.
pub fn restore(key: &Open, kind: u8, value: &[u8]) {
    // SAFETY: the key is open for writing; the strings live until the API has copied or shared them.
    unsafe {
        if kind == STRING {
            let string = Owned::new(value);
            (api().StringSet)(key.0, string.0);
            return;
        }
        (api().DeleteKey)(key.0);
        let mut parts = Parts(value);
        while let Some(first) = parts.next() {
            let first = Owned::new(first);
            match kind {
                LIST => {
                    (api().ListPush)(key.0, LIST_TAIL, first.0);
                }
                HASH => {
                    let second = Owned::new(parts.next().unwrap_or_default());
                    let end: *mut c_void = null_mut();
                    (api().HashSet)(key.0, HASH_NONE, first.0, second.0, end);
                }
                _ => {
                    let score = parts.next().and_then(|part| part.try_into().ok()).unwrap_or_default();
                    (api().ZsetAdd)(key.0, f64::from_le_bytes(score), first.0, null_mut());
                }
            }
        }
    }
}

/// Emits the value as commands that create it, for an append-only file without RDB preamble or for
/// a slot that moves.
pub fn emit(io: *mut Io, name: *mut Str, kind: u8, value: &[u8]) {
    let pointer = |bytes: &[u8]| bytes.as_ptr().cast::<c_char>();
    // SAFETY: the format names the types of the arguments that follow.
    unsafe {
        if kind == STRING {
            (api().EmitAOF)(io, c"SET".as_ptr(), c"sb".as_ptr(), name, pointer(value), value.len());
            return;
        }
        let mut parts = Parts(value);
        while let Some(first) = parts.next() {
            if kind == LIST {
                (api().EmitAOF)(io, c"RPUSH".as_ptr(), c"sb".as_ptr(), name, pointer(first), first.len());
                continue;
            }
            let second = parts.next().unwrap_or_default();
            if kind == HASH {
                (api().EmitAOF)(
                    io,
                    c"HSET".as_ptr(),
                    c"sbb".as_ptr(),
                    name,
                    pointer(first),
                    first.len(),
                    pointer(second),
                    second.len(),
                );
            } else {
                // The shortest text that is parsed as the same number.
                let score = f64::from_le_bytes(second.try_into().unwrap_or_default()).to_string();
                (api().EmitAOF)(
                    io,
                    c"ZADD".as_ptr(),
                    c"sbb".as_ptr(),
                    name,
                    pointer(score.as_bytes()),
                    score.len(),
                    pointer(first),
                    first.len(),
                );
            }
        }
    }
}
