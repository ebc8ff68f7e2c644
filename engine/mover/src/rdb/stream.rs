//! Streams: nodes, metadata and consumer groups -> numbers and strings.
//!
//! The visitor only receives what all versions of the format contain, so that a stream is equal
//! after an engine has loaded and saved it.

use crate::error::{Error, Result};
use crate::rdb::Visitor;
use crate::rdb::input::Input;
use crate::rdb::listpack::Listpack;

const DELETED: i64 = 1;
const SAME_FIELDS: i64 = 2;

pub fn read(input: &mut Input<'_>, version: u8, visitor: &mut impl Visitor) -> Result<()> {
    for _ in 0..input.length()? {
        let mut id = None;
        input.string(|part, is_last| {
            id = if is_last { <[u8; 16]>::try_from(part).ok() } else { None };
            Ok(())
        })?;
        let id = id.ok_or_else(|| Error::corrupted("the ID of a stream node is invalid"))?;
        let blob = input.blob()?;
        node(&blob, id, visitor)?;
        input.recycle(blob);
    }
    for _ in 0..3 {
        // Number of entries, last ID.
        visitor.number(input.length()?)?;
    }
    if version >= 2 {
        for _ in 0..5 {
            // First ID, highest deleted ID, number of entries ever added.
            input.length()?;
        }
    }
    groups(input, version, visitor)
}

fn node(bytes: &[u8], id: [u8; 16], visitor: &mut impl Visitor) -> Result<()> {
    let half = |at: usize| u64::from_be_bytes(id[at..at + 8].try_into().expect("eight bytes"));
    let (time, sequence) = (half(0), half(8));
    let mut list = Listpack::new(bytes)?;
    let valid = list.number()?;
    let deleted = list.number()?;
    let count = list.number()?;
    let fields = list;
    for _ in 0..count {
        list.expect()?;
    }
    list.expect()?;
    for _ in 0..valid.saturating_add(deleted) {
        let flags = list.number()?;
        let is_kept = flags & DELETED == 0;
        let entry_time = time.wrapping_add(list.number()? as u64);
        let entry_sequence = sequence.wrapping_add(list.number()? as u64);
        if is_kept {
            visitor.entry()?;
            visitor.number(entry_time)?;
            visitor.number(entry_sequence)?;
        }
        if flags & SAME_FIELDS != 0 {
            // Read again for each entry: a list would need many times the memory of the node.
            let mut fields = fields;
            for _ in 0..count {
                let value = list.expect()?;
                let field = fields.expect()?;
                if is_kept {
                    field.visit(visitor)?;
                    value.visit(visitor)?;
                }
            }
        } else {
            for _ in 0..list.number()?.saturating_mul(2) {
                let item = list.expect()?;
                if is_kept {
                    item.visit(visitor)?;
                }
            }
        }
        list.expect()?;
    }
    match list.next()? {
        None => Ok(()),
        Some(_) => Err(Error::corrupted("a stream node has more entries than announced")),
    }
}

fn groups(input: &mut Input<'_>, version: u8, visitor: &mut impl Visitor) -> Result<()> {
    for _ in 0..input.length()? {
        input.string(|part, is_last| visitor.part(part, is_last))?;
        for _ in 0..2 {
            visitor.number(input.length()?)?;
        }
        if version >= 2 {
            // Number of entries read.
            input.length()?;
        }
        for _ in 0..input.length()? {
            entry_id(input, visitor)?;
            // Time of the delivery.
            visitor.number(u64::from_le_bytes(input.array()?))?;
            visitor.number(input.length()?)?;
        }
        for _ in 0..input.length()? {
            input.string(|part, is_last| visitor.part(part, is_last))?;
            // Times at which the consumer was seen and active.
            input.array::<8>()?;
            if version >= 3 {
                input.array::<8>()?;
            }
            for _ in 0..input.length()? {
                entry_id(input, visitor)?;
            }
        }
    }
    Ok(())
}

fn entry_id(input: &mut Input<'_>, visitor: &mut impl Visitor) -> Result<()> {
    visitor.number(u64::from_be_bytes(input.array()?))?;
    visitor.number(u64::from_be_bytes(input.array()?))
}

/// Skips the IDs by which Redis 8.6 recognizes messages that are added again.
pub fn skip_producers(input: &mut Input<'_>) -> Result<()> {
    // Duration and maximum number of IDs.
    input.length()?;
    input.length()?;
    for _ in 0..input.length()? {
        input.string(|_, _| Ok(()))?;
        for _ in 0..input.length()? {
            input.string(|_, _| Ok(()))?;
            input.length()?;
            input.length()?;
        }
    }
    // Numbers of IDs added and of duplicates.
    input.length()?;
    input.length()?;
    Ok(())
}
