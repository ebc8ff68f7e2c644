//! The command line.

use crate::compression::Compression;
use crate::slots::SlotSet;
use crate::{pace, restore, snapshot};
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

pub const HELP: &str = "\
Usage: shardboard-mover snapshot --socket=PATH --user=NAME --slots=RANGES --compression=none|zstd|gzip
                                 [--pace=gentle|fast] [--pace-file=PATH] [--max-bytes-per-second=N]
                                 --live-lines=FD
       shardboard-mover restore --targets=FILE --user=NAME [--pattern=GLOB]... --live-lines=FD
       shardboard-mover inspect --live-lines=FD

snapshot  writes the keys of these slots (0-5460,6000) of a shard as an RDB file to standard output
restore   reads an RDB file from standard input and writes its keys to the shards in FILE:
          [{\"socket\": PATH, \"slots\": [[FIRST, LAST], ...]}, ...]
inspect   reads an RDB file from standard input and reports its contents

With --pace=gentle, the rate follows the CPU time that other processes leave. Movers with the same
--pace-file share one rate.
Input may be compressed with zstd or gzip. The password is taken from SHARDBOARD_MOVER_PASSWORD. Progress, and
then the result or an error, are written as lines of JSON to the descriptor FD.
";

#[derive(Debug, PartialEq, Eq)]
pub enum Task {
    Snapshot(snapshot::Options),
    Restore(restore::Options),
    Inspect,
}

#[derive(Debug, PartialEq, Eq)]
pub enum ParsedArguments {
    Help,
    Version,
    Run { task: Task, live_lines: u32 },
}

#[derive(Default)]
struct Values {
    socket: Option<PathBuf>,
    user: Option<String>,
    slots: Option<SlotSet>,
    compression: Option<Compression>,
    pace: pace::Options,
    targets: Option<PathBuf>,
    patterns: Vec<String>,
    live_lines: Option<u32>,
}

pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<ParsedArguments, String> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut command = None;
    let mut values = Values::default();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Long("help") | Short('h') => return Ok(ParsedArguments::Help),
            Long("version") => return Ok(ParsedArguments::Version),
            Value(value) if command.is_none() => command = Some(value),
            Long(name) => {
                let name = name.to_owned();
                let value = parser.value().map_err(|error| error.to_string())?;
                set(&mut values, &name, value)?;
            }
            other => return Err(other.unexpected().to_string()),
        }
    }
    let live_lines = values.live_lines.ok_or("--live-lines is required")?;
    let task = match command.as_ref().and_then(|command| command.to_str()) {
        Some("snapshot") => Task::Snapshot(snapshot::Options {
            socket: values.socket.ok_or("--socket is required")?,
            user: values.user.ok_or("--user is required")?,
            slots: values.slots.ok_or("--slots is required")?,
            compression: values.compression.ok_or("--compression is required")?,
            pace: values.pace,
        }),
        Some("restore") => Task::Restore(restore::Options {
            targets: read_targets(&values.targets.ok_or("--targets is required")?)?,
            user: values.user.ok_or("--user is required")?,
            patterns: values.patterns,
        }),
        Some("inspect") => Task::Inspect,
        _ => return Err("the first argument must be snapshot, restore or inspect".into()),
    };
    Ok(ParsedArguments::Run { task, live_lines })
}

fn set(values: &mut Values, name: &str, value: OsString) -> Result<(), String> {
    let path = match name {
        "socket" => Some(&mut values.socket),
        "targets" => Some(&mut values.targets),
        "pace-file" => Some(&mut values.pace.file),
        _ => None,
    };
    if let Some(path) = path {
        *path = Some(value.into());
        return Ok(());
    }
    let text = value.into_string().map_err(|_| format!("--{name}: the value is not UTF-8"))?;
    let invalid = || format!("--{name}: {text:?} is invalid");
    match name {
        "user" => values.user = Some(text),
        "slots" => values.slots = Some(SlotSet::parse(&text).ok_or_else(invalid)?),
        "compression" => values.compression = Some(Compression::parse(&text).ok_or_else(invalid)?),
        "pace" => {
            values.pace.is_gentle = match text.as_str() {
                "gentle" => true,
                "fast" => false,
                _ => return Err(invalid()),
            }
        }
        "max-bytes-per-second" => {
            let rate = text.parse().ok().filter(|&rate| rate > 0);
            values.pace.max_bytes_per_second = Some(rate.ok_or_else(invalid)?);
        }
        "pattern" => values.patterns.push(text),
        "live-lines" => values.live_lines = Some(text.parse().map_err(|_| invalid())?),
        _ => return Err(format!("--{name} is not an option")),
    }
    Ok(())
}

fn read_targets(path: &PathBuf) -> Result<Vec<restore::TargetOptions>, String> {
    let text = std::fs::read(path)
        .map_err(|error| format!("--targets: {} cannot be read: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("--targets: {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<ParsedArguments, String> {
        parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn snapshot() {
        let line = "snapshot --socket=a/b --user=u --slots=0-16383 --compression=gzip --pace=gentle --pace-file=p --max-bytes-per-second=9 --live-lines=3";
        let expected = snapshot::Options {
            socket: "a/b".into(),
            user: "u".into(),
            slots: SlotSet::all(),
            compression: Compression::Gzip,
            pace: pace::Options { is_gentle: true, file: Some("p".into()), max_bytes_per_second: Some(9) },
        };
        assert_eq!(parsed(line), Ok(ParsedArguments::Run { task: Task::Snapshot(expected), live_lines: 3 }));
    }

    #[test]
    fn invalid_options_are_rejected() {
        for line in [
            "inspect",
            "snapshot --live-lines=3",
            "verify --live-lines=3",
            "inspect --live-lines=x",
            "inspect --live-lines=3 more",
            "inspect --live-lines=3 --other=1",
            "snapshot --socket=a --user=u --slots=0-16384 --compression=zstd --live-lines=3",
            "snapshot --socket=a --user=u --slots=0 --compression=lz4 --live-lines=3",
            "snapshot --socket=a --user=u --slots=0 --compression=zstd --pace=slow --live-lines=3",
            "restore --targets=/nonexistent --user=u --live-lines=3",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
