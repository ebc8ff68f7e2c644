//! A record: a header with a keyed checksum, the key, and the value.

use super::place::{Place, UNIT};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;
use std::ops::Range;

pub const HEADER: usize = 48;
/// Offset of the checksum.
const SUM: usize = 32;
const MAGIC: u32 = 0x5349_4552;

/// Returns the length with header and padding.
pub fn length(key: usize, value: usize) -> u64 {
    ((HEADER + key + value) as u64).next_multiple_of(UNIT)
}

/// Appends the record for this place.
pub fn compose(
    secret: (u64, u64),
    place: Place,
    database: u32,
    key: &[u8],
    value: &[u8],
    into: &mut Vec<u8>,
) {
    into.extend_from_slice(&start(place, database, key, value));
    into.extend_from_slice(&sum(secret, place, database, key, value));
    into.extend_from_slice(key);
    into.extend_from_slice(value);
    into.resize(into.len().next_multiple_of(UNIT as usize), 0);
}

/// Returns the checksum of a record at this place.
pub fn sum(secret: (u64, u64), place: Place, database: u32, key: &[u8], value: &[u8]) -> [u8; 16] {
    checksum(secret, &start(place, database, key, value), key, value)
}

/// Returns the header up to the checksum.
fn start(place: Place, database: u32, key: &[u8], value: &[u8]) -> [u8; SUM] {
    let mut header = [0; SUM];
    header[..4].copy_from_slice(&MAGIC.to_le_bytes());
    header[4..8].copy_from_slice(&database.to_le_bytes());
    header[8..12].copy_from_slice(&(key.len() as u32).to_le_bytes());
    header[12..16].copy_from_slice(&(value.len() as u32).to_le_bytes());
    header[16..24].copy_from_slice(&place.word().to_le_bytes());
    header
}

fn checksum(secret: (u64, u64), header: &[u8], key: &[u8], value: &[u8]) -> [u8; 16] {
    let mut hasher = SipHasher13::new_with_keys(secret.0, secret.1);
    hasher.write(header);
    hasher.write(key);
    hasher.write(value);
    hasher.finish128().as_bytes()
}

/// Returns database, key and position of the value, if the record is intact and belongs to this
/// place.
pub fn parse(secret: (u64, u64), place: Place, record: &[u8]) -> Option<(u32, &[u8], Range<usize>)> {
    let word = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    if word(0)? != MAGIC || record.get(16..24)? != place.word().to_le_bytes() {
        return None;
    }
    let (database, key_length, value_length) = (word(4)?, word(8)? as usize, word(12)? as usize);
    let value_start = HEADER.checked_add(key_length)?;
    let value_end = value_start.checked_add(value_length)?;
    let key = record.get(HEADER..value_start)?;
    let value = record.get(value_start..value_end)?;
    (checksum(secret, &record[..SUM], key, value) == record[SUM..HEADER]).then_some((
        database,
        key,
        value_start..value_end,
    ))
}
