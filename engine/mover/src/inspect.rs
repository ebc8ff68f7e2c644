//! Reads a file and reports its contents, and what a restore of it can lose.

mod memory;

use crate::clock::now_ms;
use crate::compression::decompress;
use crate::digest::ValueDigest;
use crate::error::{Error, Result};
use crate::lines::{Counted, Progress};
use crate::rdb::input::Input;
use crate::rdb::{Entry, Event, Ignore, Kind, NEVER, Reader, Visitor};
use crate::restore::{FLASH_DATA_TYPE, MAX_INDIVISIBLE};
use crate::slots::SlotSet;
use crate::snapshot;
use crate::statistics::Statistics;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::atomic::Ordering;

const MAX_DATABASES: usize = 1_000;
const MAX_MODULES: usize = 100;

pub fn run(input: impl Read, progress: &Progress) -> Result<Map<String, Value>> {
    let source = decompress(Counted::new(input, &progress.bytes))?;
    let source = Box::new(Counted::new(source, &progress.raw_bytes));
    let mut reader = Reader::new(Input::new(source, None), SlotSet::default())?;
    let mut statistics = Statistics::default();
    let mut inspection = Inspection { now: now_ms(), ..Inspection::default() };
    loop {
        match reader.next_event()? {
            // Restores and snapshots leave these keys out too.
            Event::Key(entry) if entry.is_importing => {
                reader.input.omit()?;
                reader.read_value(&entry, &mut Ignore)?;
                inspection.importing += 1;
            }
            Event::Key(entry) => {
                reader.input.omit()?;
                let mut contents = Contents::new(entry.value.kind);
                reader.read_value(&entry, &mut contents)?;
                let bytes = reader.input.position() - entry.start;
                statistics.add(&entry, &contents.digest, bytes);
                inspection.add(&entry, &contents, bytes)?;
                progress.keys.store(statistics.keys, Ordering::Relaxed);
            }
            Event::Function(code) => statistics.add_function(&code)?,
            Event::End => break,
        }
    }
    if reader.input.has_more()? {
        return Err(Error::corrupted("the RDB file is followed by other data"));
    }
    let mut fields = snapshot::fields(&reader, &statistics, reader.input.position());
    fields.insert("bytes".into(), progress.bytes.load(Ordering::Relaxed).into());
    fields.insert("family".into(), reader.family.name().into());
    fields.insert("engine_version".into(), reader.engine_version.clone().into());
    inspection.write(&mut fields);
    Ok(fields)
}

/// What decides whether keys can be restored.
#[derive(Default)]
struct Inspection {
    now: i64,
    expired: u64,
    databases: BTreeMap<u64, u64>,
    modules: BTreeMap<String, u64>,
    field_expiry: u64,
    importing: u64,
    too_large: u64,
    memory_bytes: u64,
}

impl Inspection {
    fn add(&mut self, entry: &Entry, contents: &Contents, bytes: u64) -> Result<()> {
        *self.databases.entry(entry.database).or_default() += 1;
        if self.databases.len() > MAX_DATABASES {
            return Err(Error::corrupted(format!(
                "the file has more than {MAX_DATABASES} logical databases"
            )));
        }
        self.expired += u64::from(entry.expires.is_some_and(|at| at <= self.now));
        self.field_expiry += u64::from(contents.has_field_expiry);
        self.too_large += u64::from(entry.value.kind == Kind::Stream && bytes > MAX_INDIVISIBLE as u64);
        self.memory_bytes += memory::of_key(entry, contents.bytes, contents.digest.elements());
        if let Some(id) = contents.module.filter(|&id| id != FLASH_DATA_TYPE) {
            let name = module_name(id);
            let is_known = self.modules.contains_key(&name) || self.modules.len() < MAX_MODULES;
            *self.modules.entry(if is_known { name } else { "other".into() }).or_default() += 1;
        }
        Ok(())
    }

    fn write(self, fields: &mut Map<String, Value>) {
        let databases: Map<String, Value> =
            self.databases.iter().map(|(number, &keys)| (number.to_string(), keys.into())).collect();
        let modules: Map<String, Value> =
            self.modules.into_iter().map(|(name, keys)| (name, keys.into())).collect();
        fields.insert("databases".into(), databases.into());
        fields.insert("modules".into(), modules.into());
        for (name, value) in [
            ("expired", self.expired),
            ("field_expiry", self.field_expiry),
            ("importing", self.importing),
            ("too_large", self.too_large),
            ("memory_bytes", self.memory_bytes),
        ] {
            fields.insert(name.into(), value.into());
        }
    }
}

/// Contents of one value.
struct Contents {
    digest: ValueDigest,
    is_module: bool,
    /// Of all elements, without compression.
    bytes: u64,
    has_field_expiry: bool,
    /// Id of the data type of a module.
    module: Option<u64>,
}

impl Contents {
    fn new(kind: Kind) -> Self {
        Self {
            digest: ValueDigest::new(kind),
            is_module: kind == Kind::Module,
            bytes: 0,
            has_field_expiry: false,
            module: None,
        }
    }
}

impl Visitor for Contents {
    fn part(&mut self, bytes: &[u8], is_last: bool) -> Result<()> {
        self.bytes += bytes.len() as u64;
        self.digest.part(bytes, is_last)
    }

    fn score(&mut self, score: f64) -> Result<()> {
        self.digest.score(score)
    }

    fn expiry(&mut self, at: i64) -> Result<()> {
        self.has_field_expiry |= at != NEVER;
        self.digest.expiry(at)
    }

    fn entry(&mut self) -> Result<()> {
        self.digest.entry()
    }

    fn number(&mut self, value: u64) -> Result<()> {
        if self.is_module && self.module.is_none() {
            self.module = Some(value);
        }
        self.digest.number(value)
    }
}

/// The name of a data type: nine characters of six bits, followed by ten bits of the version.
fn module_name(id: u64) -> String {
    const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..9).rev().map(|n| char::from(CHARACTERS[(id >> (10 + 6 * n) & 63) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::module_name;
    use crate::restore::FLASH_DATA_TYPE;

    #[test]
    fn names_of_modules() {
        assert_eq!(module_name(FLASH_DATA_TYPE), "shardtier");
    }
}
