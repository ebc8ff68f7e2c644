//! Writes the keys of a file to shards.

mod cold;
mod erase;
pub mod import_mode;
mod pieces;
mod rejection;
mod target;

use crate::clock::now_ms;
use crate::compression::decompress;
use crate::digest::ValueDigest;
use crate::error::{Code, Error, Result};
use crate::glob;
use crate::lines::{Counted, Progress};
use crate::rdb::input::Input;
use crate::rdb::{Entry, Event, Ignore, Kind, Reader, crc64};
use crate::slots::SlotSet;
use crate::statistics::add_library;
use cold::ColdValue;
pub use cold::DATA_TYPE as FLASH_DATA_TYPE;
pub use erase::Erasure;
use pieces::Pieces;
pub use rejection::{MAX_FULL, MAX_RETRY, RETRY_INTERVAL, Rejection, reason};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use target::{Effect, Target, TargetResult};

/// Larger values are written by several commands, because RESTORE blocks the shard for about 5 ms
/// per megabyte.
const MAX_PAYLOAD: usize = 4 * 1024 * 1024;
/// Values that cannot be written by several commands: the engine's default limit of an argument.
pub const MAX_INDIVISIBLE: usize = 512 * 1024 * 1024;
/// The version of the footer of values that all engines load: their types have not changed since.
const COMMON_VERSION: u32 = 11;
const NEWEST_COMMON_TYPE: u8 = 21;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetOptions {
    pub socket: PathBuf,
    /// First and last slot of each range.
    pub slots: Vec<(u16, u16)>,
}

impl TargetOptions {
    pub fn slot_set(&self) -> Result<SlotSet> {
        let mut slots = SlotSet::default();
        if !self.slots.iter().all(|&(first, last)| slots.insert(first, last)) {
            return Err(Error::general("a range of slots of a target is invalid"));
        }
        Ok(slots)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub targets: Vec<TargetOptions>,
    pub user: String,
    /// Only matching keys are restored. Empty: all.
    pub patterns: Vec<String>,
    /// Recorded changes will be made to the keys: other keys of the slots are deleted, and keys that have
    /// expired since are restored.
    pub before_changes: bool,
    /// Slots of the file.
    pub slots: SlotSet,
}

/// For each slot, the index of its target.
pub fn targets_by_slot(targets: &[TargetOptions]) -> Result<Vec<Option<usize>>> {
    let sets: Vec<SlotSet> = targets.iter().map(TargetOptions::slot_set).collect::<Result<_>>()?;
    Ok((0..resp::slot::SLOTS).map(|slot| sets.iter().position(|set| set.contains(slot))).collect())
}

#[derive(Debug, Default)]
struct Counts {
    expired: u64,
    skipped: u64,
    unsupported: BTreeMap<String, u64>,
    functions: Vec<String>,
}

pub fn run(
    options: &Options,
    password: &str,
    input: impl Read,
    progress: &Progress,
) -> Result<Map<String, Value>> {
    let source = decompress(Counted::new(input, &progress.bytes))?;
    let source = Box::new(Counted::new(source, &progress.raw_bytes));
    let mut reader = Reader::new(Input::new(source, None), SlotSet::default())?;
    std::thread::scope(|scope| {
        let mut targets = Vec::new();
        let mut threads = Vec::new();
        for target in &options.targets {
            let (target, thread) = Target::start(scope, target, options, password)?;
            targets.push(target);
            threads.push(thread);
        }
        let read = Restore::new(options, targets).run(&mut reader, progress);
        let mut total = TargetResult::default();
        for thread in threads {
            let result = thread.join().map_err(|_| Error::general("a thread ended with a panic"))?;
            // If a target failed, reading ended only because of that.
            total.merge(result?);
        }
        Ok(fields(read?, &total, &reader, progress))
    })
}

fn fields(
    mut counts: Counts,
    total: &TargetResult,
    reader: &Reader<'_>,
    progress: &Progress,
) -> Map<String, Value> {
    for (reason, keys) in &total.unsupported {
        *counts.unsupported.entry(reason.clone()).or_default() += keys;
    }
    let fields = json!({
        "restored": total.slots.keys(),
        "expired": counts.expired + total.expired,
        "skipped": counts.skipped,
        "unsupported": counts.unsupported,
        "functions": counts.functions,
        "slots": total.slots.json(),
        "raw_bytes": reader.input.position(),
        "bytes": progress.bytes.load(Ordering::Relaxed),
    });
    let Value::Object(fields) = fields else { unreachable!("it is an object") };
    fields
}

struct Restore<'a> {
    options: &'a Options,
    targets: Vec<Target>,
    /// For each slot, the index of its target.
    owners: Vec<Option<usize>>,
    counts: Counts,
    keys: u64,
}

impl<'a> Restore<'a> {
    fn new(options: &'a Options, targets: Vec<Target>) -> Self {
        let owner = |slot| targets.iter().position(|target| target.slots.contains(slot));
        let owners = (0..resp::slot::SLOTS).map(owner).collect();
        Self { options, targets, owners, counts: Counts::default(), keys: 0 }
    }

    fn run(mut self, reader: &mut Reader<'_>, progress: &Progress) -> Result<Counts> {
        loop {
            match reader.next_event()? {
                Event::Key(entry) => {
                    self.keys += 1;
                    progress.keys.store(self.keys, Ordering::Relaxed);
                    reader.input.omit()?;
                    match self.target(&entry) {
                        Some(target) => self.key(reader, &entry, target)?,
                        None => reader.read_value(&entry, &mut Ignore)?,
                    }
                }
                // Restoring some keys must not replace functions of other applications.
                Event::Function(code) if self.options.patterns.is_empty() => self.function(&code)?,
                Event::Function(_) => {}
                Event::End => break,
            }
        }
        if reader.input.has_more()? {
            return Err(Error::corrupted("the RDB file is followed by other data"));
        }
        for target in &mut self.targets {
            target.flush()?;
        }
        Ok(self.counts)
    }

    /// Returns the index of the target. Counts the key if it is not restored.
    fn target(&mut self, entry: &Entry) -> Option<usize> {
        let patterns = &self.options.patterns;
        let is_selected = patterns.is_empty()
            || patterns.iter().any(|pattern| glob::matches(pattern.as_bytes(), &entry.key));
        let owner = self.owners[usize::from(entry.slot)].filter(|_| is_selected && !entry.is_importing);
        if owner.is_none() {
            self.counts.skipped += 1;
            return None;
        }
        if entry.database != 0 {
            self.unsupported("key of a database other than 0");
            return None;
        }
        if !self.options.before_changes && entry.expires.is_some_and(|at| at <= now_ms()) {
            self.counts.expired += 1;
            return None;
        }
        owner
    }

    fn unsupported(&mut self, reason: &str) {
        *self.counts.unsupported.entry(reason.to_owned()).or_default() += 1;
    }

    fn function(&mut self, code: &[u8]) -> Result<()> {
        add_library(&mut self.counts.functions, code)?;
        for target in &mut self.targets {
            target.single(&[b"FUNCTION", b"LOAD", b"REPLACE", code], Effect::Function)?;
        }
        Ok(())
    }

    fn key(&mut self, reader: &mut Reader<'_>, entry: &Entry, target: usize) -> Result<()> {
        if entry.value.kind == Kind::Module && !self.targets[target].has_flash_module {
            return self.cold_value(reader, entry, target);
        }
        let target = &mut self.targets[target];
        let max = if entry.value.is_divisible() { MAX_PAYLOAD } else { MAX_INDIVISIBLE };
        reader.input.hold(max);
        if let Some(code) = entry.value.loadable_code() {
            let mut digest = ValueDigest::new(entry.value.kind);
            match entry.value.read_body(&mut reader.input, &mut digest) {
                Ok(()) if reader.input.held().len() <= max => {
                    let effect = Effect::Key { slot: entry.slot, digest: digest.of_key(entry) };
                    let version = if code <= NEWEST_COMMON_TYPE { COMMON_VERSION } else { reader.version };
                    let value = reader.input.held();
                    target.push(effect, |out| restore(out, entry, code, value, version))?;
                    reader.input.omit()?;
                    return entry.value.skip_tail(&mut reader.input);
                }
                Ok(()) => {}
                Err(error) if error.code == Code::TooLongToHold => {}
                Err(error) => return Err(error),
            }
            reader.input.rewind();
        }
        reader.input.omit()?;
        if entry.value.is_divisible() {
            return Pieces::write(reader, entry, target);
        }
        self.unsupported("value larger than 512 MB");
        reader.read_value(entry, &mut Ignore)
    }

    /// Restores a value of the flash module to a shard without it.
    fn cold_value(&mut self, reader: &mut Reader<'_>, entry: &Entry, target: usize) -> Result<()> {
        let mut value = ColdValue::new(entry);
        reader.read_value(entry, &mut value)?;
        let effect = Effect::Key { slot: entry.slot, digest: value.digest.of_key(entry) };
        let Some((code, value)) = value.into_plain() else {
            self.unsupported("value of a module");
            return Ok(());
        };
        self.targets[target].push(effect, |out| restore(out, entry, code, &value, COMMON_VERSION))
    }
}

/// Appends a RESTORE command.
fn restore(out: &mut Vec<u8>, entry: &Entry, code: u8, value: &[u8], version: u32) {
    let mut decimal = Vec::new();
    let mut number = |value: u64| {
        decimal.clear();
        resp::encode::decimal(&mut decimal, value);
        decimal.clone()
    };
    let usage = match (entry.frequency, entry.idle_seconds) {
        (Some(frequency), _) => Some((&b"FREQ"[..], number(u64::from(frequency)))),
        (None, Some(seconds)) => Some((&b"IDLETIME"[..], number(seconds))),
        (None, None) => None,
    };
    let expires = number(entry.expires.map_or(0, |at| at.max(1) as u64));
    resp::encode::array(out, if usage.is_some() { 8 } else { 6 });
    resp::encode::bulk(out, b"RESTORE");
    resp::encode::bulk(out, &entry.key);
    resp::encode::bulk(out, &expires);
    payload(out, code, value, version);
    resp::encode::bulk(out, b"REPLACE");
    resp::encode::bulk(out, b"ABSTTL");
    if let Some((name, value)) = usage {
        resp::encode::bulk(out, name);
        resp::encode::bulk(out, &value);
    }
}

/// Appends type, value, version and checksum as a bulk string.
fn payload(out: &mut Vec<u8>, code: u8, value: &[u8], version: u32) {
    let version = u16::try_from(version).unwrap_or(u16::MAX).to_le_bytes();
    let length = 1 + value.len() + 2 + 8;
    out.reserve(length + 128);
    out.push(b'$');
    resp::encode::decimal(out, length as u64);
    out.extend_from_slice(b"\r\n");
    let start = out.len();
    out.push(code);
    out.extend_from_slice(value);
    out.extend_from_slice(&version);
    let crc = crc64::update(0, &out[start..]);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(b"\r\n");
}
