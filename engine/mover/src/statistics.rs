//! Counts and digests of the keys of a file, by slot and type.

use crate::analysis::Analysis;
use crate::digest::ValueDigest;
use crate::error::{Error, Result};
use crate::rdb::{Entry, Kind};
use resp::slot::SLOTS;
use serde_json::{Map, Value, json};

const MAX_LIBRARIES: usize = 10_000;
const MAX_LIBRARY_NAME: usize = 100;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SlotTotal {
    pub keys: u64,
    /// Sum of the digests of the keys.
    pub digest: u64,
}

/// Contents of all slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotTotals(Vec<SlotTotal>);

impl Default for SlotTotals {
    fn default() -> Self {
        Self(vec![SlotTotal::default(); usize::from(SLOTS)])
    }
}

impl SlotTotals {
    pub fn add(&mut self, slot: u16, keys: u64, digest: u64) {
        let total = &mut self.0[usize::from(slot)];
        total.keys += keys;
        total.digest = total.digest.wrapping_add(digest);
    }

    pub fn merge(&mut self, other: &Self) {
        for (slot, total) in (0..).zip(&other.0) {
            self.add(slot, total.keys, total.digest);
        }
    }

    pub fn keys(&self) -> u64 {
        self.0.iter().map(|total| total.keys).sum()
    }

    /// The slots that have keys.
    pub fn json(&self) -> Value {
        let slots = (0..).zip(&self.0).filter(|(_, total)| total.keys > 0);
        slots
            .map(|(slot, total): (u16, _)| {
                json!({"slot": slot, "keys": total.keys, "digest": format!("{:016x}", total.digest)})
            })
            .collect()
    }
}

#[derive(Default)]
pub struct Statistics {
    pub slots: SlotTotals,
    pub keys: u64,
    expires: u64,
    types: [u64; Kind::ALL.len()],
    functions: Vec<String>,
    analysis: Analysis,
}

impl Statistics {
    /// Adds a key of which `bytes` serialized bytes were read.
    pub fn add(&mut self, entry: &Entry, value: &ValueDigest, bytes: u64) {
        self.keys += 1;
        self.expires += u64::from(entry.expires.is_some());
        self.types[entry.value.kind as usize] += 1;
        self.slots.add(entry.slot, 1, value.of_key(entry));
        self.analysis.add(entry, value.elements(), bytes);
    }

    pub fn add_function(&mut self, code: &[u8]) -> Result<()> {
        add_library(&mut self.functions, code)
    }

    /// Fields of the result of a snapshot or an inspection.
    pub fn json(&self) -> Map<String, Value> {
        let types: Map<String, Value> = Kind::ALL
            .iter()
            .filter(|&&kind| self.types[kind as usize] > 0)
            .map(|&kind| (kind.name().to_owned(), self.types[kind as usize].into()))
            .collect();
        let mut fields = Map::new();
        fields.insert("keys".into(), self.keys.into());
        fields.insert("expires".into(), self.expires.into());
        fields.insert("types".into(), types.into());
        fields.insert("functions".into(), self.functions.clone().into());
        fields.insert("slots".into(), self.slots.json());
        fields.insert("analysis".into(), self.analysis.json());
        fields
    }
}

/// Adds the name of a function library.
pub fn add_library(names: &mut Vec<String>, code: &[u8]) -> Result<()> {
    if names.len() >= MAX_LIBRARIES {
        return Err(Error::corrupted(format!("the file has more than {MAX_LIBRARIES} function libraries")));
    }
    names.push(library_name(code).chars().take(MAX_LIBRARY_NAME).collect());
    Ok(())
}

/// The name in the first line of a function library, `#!lua name=NAME`.
fn library_name(code: &[u8]) -> String {
    let line = code.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    line.split_whitespace().find_map(|word| word.strip_prefix("name=")).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_function_libraries() {
        assert_eq!(library_name(b"#!lua name=mylib\nredis.register_function('f', ...)"), "mylib");
        assert_eq!(library_name(b"#!lua"), "");
    }

    #[test]
    fn totals_are_merged() {
        let (mut all, mut other) = (SlotTotals::default(), SlotTotals::default());
        all.add(1, 1, u64::MAX);
        other.add(1, 2, 3);
        other.add(16383, 1, 16);
        all.merge(&other);
        assert_eq!(all.keys(), 4);
        let expected = json!([
            {"slot": 1, "keys": 3, "digest": "0000000000000002"},
            {"slot": 16383, "keys": 1, "digest": "0000000000000010"},
        ]);
        assert_eq!(all.json(), expected);
    }
}
