//! Estimates the memory that keys need in an engine with default settings.
//!
//! The numbers were measured with Valkey 9.1. They include the rounding of the allocator.

use crate::rdb::{Entry, Kind};

/// Object, entry of the hash table, and headers of a key.
const KEY: u64 = 80;
const EXPIRY: u64 = 64;
/// Headers of a value with elements.
const CONTAINER: u64 = 64;
/// Values with more elements or longer elements are not packed.
const MAX_PACKED: u64 = 128;
const MAX_PACKED_FIELDS: u64 = 512;
const MAX_PACKED_ELEMENT: u64 = 64;
/// Lengths of a packed element.
const PACKED_ELEMENT: u64 = 3;
const PACKED_SCORE: u64 = 20;
/// Type of a set of numbers, and the maximum size of one.
const INTSET: u8 = 11;
const NUMBER: u64 = 8;

/// `bytes` is the length of all elements together.
pub fn of_key(entry: &Entry, bytes: u64, elements: u64) -> u64 {
    let expiry = if entry.expires.is_some() { EXPIRY } else { 0 };
    KEY + expiry + entry.key.len() as u64 + of_value(entry.value.kind, entry.value.code, bytes, elements)
}

fn of_value(kind: Kind, code: u8, bytes: u64, elements: u64) -> u64 {
    let is_packed = |max| elements <= max && bytes <= 2 * elements * MAX_PACKED_ELEMENT;
    let overhead = match kind {
        Kind::String | Kind::Module => return bytes + bytes / 8,
        Kind::Set if code == INTSET => return CONTAINER + elements * NUMBER,
        Kind::List => PACKED_ELEMENT,
        Kind::Stream => 16,
        Kind::Set if is_packed(MAX_PACKED) => PACKED_ELEMENT,
        Kind::Set => 22,
        Kind::SortedSet if is_packed(MAX_PACKED) => PACKED_SCORE + PACKED_ELEMENT,
        Kind::SortedSet => 96,
        Kind::Hash if is_packed(MAX_PACKED_FIELDS) => 2 * PACKED_ELEMENT,
        Kind::Hash => 54,
    };
    CONTAINER + bytes + elements * overhead
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Growth of `used_memory` for each key in Valkey 9.1.2, without the key itself.
    #[test]
    fn estimates_are_close_to_measured_values() {
        for (kind, code, bytes, elements, measured) in [
            (Kind::String, 0, 10, 1, 15),
            (Kind::String, 0, 100, 1, 120),
            (Kind::String, 0, 100_000, 1, 115_086),
            (Kind::Hash, 16, 180, 10, 314),
            (Kind::Hash, 16, 5_400, 300, 7_257),
            (Kind::Hash, 4, 18_000, 1_000, 72_370),
            (Kind::Set, 20, 500, 50, 718),
            (Kind::Set, 2, 10_000, 1_000, 30_154),
            (Kind::Set, INTSET, 4_500, 500, 2_132),
            (Kind::SortedSet, 17, 500, 50, 1_870),
            (Kind::SortedSet, 5, 10_000, 1_000, 110_374),
            (Kind::List, 18, 1_000, 100, 1_377),
            (Kind::List, 18, 500_000, 5_000, 521_860),
        ] {
            let estimate = of_value(kind, code, bytes, elements);
            let is_close = estimate * 10 <= measured * 20 && estimate * 10 >= measured * 7;
            assert!(is_close, "{kind:?} of {elements}: {estimate} instead of {measured}");
        }
    }
}
