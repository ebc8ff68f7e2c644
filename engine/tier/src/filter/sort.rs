//! SORT reads keys that are not arguments.

use super::caller::Caller;
use super::request::Request;
use super::touch;
use super::transaction::pin;
use crate::ffi::*;
use crate::log::ReadError;
use crate::tier::{Access, tier};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Promotes the keys that SORT can read by its patterns and the elements of its key.
pub(super) fn sort_patterns(request: &Request, caller: &Caller) -> Result<(), ReadError> {
    let patterns: Vec<Vec<u8>> = (2..request.argv.len().saturating_sub(1))
        .filter(|&index| {
            request.arg(index).eq_ignore_ascii_case(b"by") || request.arg(index).eq_ignore_ascii_case(b"get")
        })
        .map(|index| request.arg(index + 1).to_vec())
        .filter(|pattern| pattern.contains(&b'*'))
        .collect();
    if patterns.is_empty() || request.argv.len() < 2 {
        return Ok(());
    }
    touch(Some(caller.database), request.argv[1], true, request, Access::Fetch)?;
    let ctx = tier().ctx;
    for element in elements(ctx, request.argv[1]) {
        for pattern in &patterns {
            let star = pattern.iter().position(|&byte| byte == b'*').unwrap_or(0);
            let end = pattern.windows(2).position(|pair| pair == b"->").filter(|&at| at > star);
            let mut name = pattern[..star].to_vec();
            name.extend_from_slice(&element);
            name.extend_from_slice(&pattern[star + 1..end.unwrap_or(pattern.len())]);
            let name = Owned::new(&name);
            let found = touch(Some(caller.database), name.0, true, request, Access::Fetch)?;
            if caller.in_multi {
                pin(caller.id, caller.database, name.0, Access::Fetch, found == Some(true));
            }
        }
    }
    Ok(())
}

/// Returns the elements of a list, set or sorted set. Uses the key API, because a replica of a
/// cluster would refuse a command.
fn elements(ctx: *mut Ctx, name: *mut Str) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    let Some(key) = Open::new(ctx, name, READ) else { return found };
    // SAFETY: the key is open and of that type; every string that the API returns is freed.
    unsafe {
        match (api().KeyType)(key.0) {
            KEYTYPE_LIST => {
                for index in 0..(api().ValueLength)(key.0) {
                    let element = (api().ListGet)(key.0, index as i64);
                    if element.is_null() {
                        break;
                    }
                    found.push(bytes(element).to_vec());
                    (api().FreeString)(null_mut(), element);
                }
            }
            KEYTYPE_SET | KEYTYPE_ZSET => {
                let cursor = (api().ScanCursorCreate)();
                while (api().ScanKey)(key.0, cursor, add_element, (&raw mut found).cast()) != 0 {}
                (api().ScanCursorDestroy)(cursor);
            }
            _ => {}
        }
    }
    found
}

unsafe extern "C" fn add_element(_: *mut Key, element: *mut Str, _: *mut Str, found: *mut c_void) {
    // SAFETY: `found` is the vector that `elements` passed; the string lives during this call.
    unsafe { (*found.cast::<Vec<Vec<u8>>>()).push(bytes(element).to_vec()) }
}
