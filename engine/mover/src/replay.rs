//! Makes recorded changes to shards, in the order in which they were made.

mod applier;
mod commands;

use crate::changes::{Change, HistoryEnds, Reader};
use crate::error::{Error, Result};
use crate::glob;
use crate::lines::{Counted, Progress};
use crate::restore::{TargetOptions, targets_by_slot};
use crate::slots::SlotSet;
use applier::Applier;
use commands::CommandTable;
use resp::Args;
use serde_json::{Map, Value, json};
use std::io::Read;
use std::sync::atomic::Ordering;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub targets: Vec<TargetOptions>,
    pub user: String,
    /// Only changes of matching keys are made. Empty: all.
    pub patterns: Vec<String>,
    /// Slots whose changes are in the files.
    pub slots: SlotSet,
    /// Changes up to this offset are already part of the data.
    pub after: u64,
    pub ends: HistoryEnds,
    /// Unix time in ms: later changes are left out. `None`: none are.
    pub until: Option<i64>,
}

pub fn run(
    options: &Options,
    password: &str,
    input: impl Read,
    progress: &Progress,
) -> Result<Map<String, Value>> {
    let input = Counted::new(input, &progress.bytes);
    let mut reader = Reader::new(input, options.after, options.ends.clone())?;
    let replayed = std::thread::scope(|scope| {
        let mut appliers = Vec::new();
        let mut threads = Vec::new();
        for target in &options.targets {
            let (applier, thread) = Applier::start(scope, target, options, password)?;
            appliers.push(applier);
            threads.push(thread);
        }
        let table = CommandTable::open(&options.targets[0].socket, &options.user, password)?;
        let read = Replay::new(options, appliers, table)?.run(&mut reader, progress);
        for thread in threads {
            // If a target failed, reading ended only because of that.
            thread.join().map_err(|_| Error::general("a thread ended with a panic"))??;
        }
        read
    })?;
    let fields = json!({
        "replayed": replayed,
        "offset": reader.offset(),
        "raw_bytes": reader.offset() - options.after,
        "bytes": progress.bytes.load(Ordering::Relaxed),
    });
    let Value::Object(fields) = fields else { unreachable!("it is an object") };
    Ok(fields)
}

/// Where a command belongs.
enum Place {
    Target(usize),
    /// It changes only keys that are not selected.
    Nowhere,
    /// It changes keys of several slots, or not only keys that are selected.
    Divided,
}

struct Replay<'a> {
    options: &'a Options,
    appliers: Vec<Applier>,
    /// For each slot, the index of its target.
    owners: Vec<Option<usize>>,
    table: CommandTable,
    replayed: u64,
    /// Indexes of the keys of a command; kept to avoid allocations.
    keys: Vec<usize>,
}

impl<'a> Replay<'a> {
    fn new(options: &'a Options, appliers: Vec<Applier>, table: CommandTable) -> Result<Self> {
        let owners = targets_by_slot(&options.targets)?;
        let owners = owners.into_iter().zip(0u16..);
        let owners = owners.map(|(owner, slot)| owner.filter(|_| options.slots.contains(slot))).collect();
        Ok(Self { options, appliers, owners, table, replayed: 0, keys: Vec::new() })
    }

    fn run(mut self, reader: &mut Reader<'_>, progress: &Progress) -> Result<u64> {
        loop {
            match reader.next_change()? {
                Change::Mark(time) if self.options.until.is_some_and(|until| time > until) => break,
                Change::Mark(_) => {}
                Change::Command(args) => {
                    progress.raw_bytes.fetch_add(args.raw.len() as u64, Ordering::Relaxed);
                    self.command(args)?;
                }
                Change::End => break,
            }
        }
        for applier in &mut self.appliers {
            applier.flush()?;
        }
        Ok(self.replayed)
    }

    fn command(&mut self, args: Args<'_>) -> Result<()> {
        let name = args.get(0).unwrap_or_default().to_ascii_uppercase();
        match &name[..] {
            // Their effects are separate commands, or they have no lasting effect.
            b"PING" | b"REPLCONF" | b"MULTI" | b"EXEC" | b"PUBLISH" | b"SPUBLISH" | b"SCRIPT" => Ok(()),
            b"SELECT" if args.get(1) == Some(b"0") => Ok(()),
            b"SELECT" => Err(cannot("changes of a database other than 0")),
            b"FLUSHALL" | b"FLUSHDB" => self.appliers.iter_mut().try_for_each(Applier::erase),
            b"FUNCTION" => self.function(args),
            _ => self.keys(&name, args),
        }
    }

    /// Functions exist on each shard. Restoring some keys must not replace those of other applications.
    fn function(&mut self, args: Args<'_>) -> Result<()> {
        if !self.options.patterns.is_empty() {
            return Ok(());
        }
        let args = commands::function(args);
        self.replayed += 1;
        for applier in &mut self.appliers {
            applier.push(|out| resp::encode::command(out, args.iter().copied()))?;
        }
        Ok(())
    }

    fn keys(&mut self, name: &[u8], args: Args<'_>) -> Result<()> {
        let mut keys = std::mem::take(&mut self.keys);
        self.table.keys(name, args, &mut keys)?;
        let place = self.place(args, &keys);
        match place {
            Place::Nowhere => {}
            Place::Target(target) => {
                self.replayed += 1;
                self.appliers[target].push(|out| out.extend_from_slice(args.raw))?;
            }
            Place::Divided => self.divided(name, args, &keys)?,
        }
        self.keys = keys;
        Ok(())
    }

    fn place(&self, args: Args<'_>, keys: &[usize]) -> Place {
        let (mut slot, mut owner) = (None, None);
        let (mut selected, mut of_one_slot, mut of_one_target) = (0, true, true);
        for key in keys.iter().filter_map(|&index| args.get(index)) {
            let of_key = resp::slot::of_key(key);
            of_one_slot &= *slot.get_or_insert(of_key) == of_key;
            if let Some(of_key) = self.owner(key) {
                of_one_target &= *owner.get_or_insert(of_key) == of_key;
                selected += 1;
            }
        }
        match owner {
            None => Place::Nowhere,
            // Without a cluster, a shard executes commands with keys of any slots.
            Some(owner)
                if selected == keys.len()
                    && of_one_target
                    && (of_one_slot || !self.appliers[owner].is_cluster) =>
            {
                Place::Target(owner)
            }
            Some(_) => Place::Divided,
        }
    }

    /// Returns the target of a key; `None` if the key is not selected.
    fn owner(&self, key: &[u8]) -> Option<usize> {
        let patterns = &self.options.patterns;
        let is_selected =
            patterns.is_empty() || patterns.iter().any(|pattern| glob::matches(pattern.as_bytes(), key));
        self.owners[usize::from(resp::slot::of_key(key))].filter(|_| is_selected)
    }

    fn divided(&mut self, name: &[u8], args: Args<'_>, keys: &[usize]) -> Result<()> {
        let Some((single, values)) = commands::single(name) else {
            return Err(cannot(&format!(
                "{} with keys of several slots, or with other keys than those to be restored,",
                String::from_utf8_lossy(name)
            )));
        };
        self.replayed += 1;
        for &index in keys {
            let (Some(key), value) = (args.get(index), args.get(index + 1)) else { continue };
            let Some(owner) = self.owner(key) else { continue };
            let parts = [single, key, value.unwrap_or_default()];
            self.appliers[owner]
                .push(|out| resp::encode::command(out, parts[..2 + values].iter().copied()))?;
        }
        Ok(())
    }
}

fn cannot(what: &str) -> Error {
    Error::general(format!(
        "{what} cannot be replayed. Restore a backup, or a point in time before this change."
    ))
}
