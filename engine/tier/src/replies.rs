//! Replies of the server to calls of the module.

use crate::ffi::*;

/// Returns the strings of an array.
pub fn texts(reply: *mut Reply) -> Vec<Vec<u8>> {
    if reply.is_null() {
        return Vec::new();
    }
    // SAFETY: the reply and its elements live until it is freed.
    unsafe {
        (0..(api().CallReplyLength)(reply))
            .map(|index| text((api().CallReplyArrayElement)(reply, index)))
            .collect()
    }
}

/// Returns the bytes of a string in a reply, or nothing for other types.
pub fn text(reply: *mut Reply) -> Vec<u8> {
    let mut length = 0;
    // SAFETY: the reply lives; the bytes are copied.
    unsafe {
        if reply.is_null() {
            return Vec::new();
        }
        let start = (api().CallReplyStringPtr)(reply, &mut length);
        if start.is_null() { Vec::new() } else { std::slice::from_raw_parts(start.cast(), length).to_vec() }
    }
}
