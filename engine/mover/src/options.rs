//! The command line.

use crate::changes::{HistoryEnds, Position, REPLICATION_ID};
use crate::compression::Compression;
use crate::restore::import_mode;
use crate::slots::SlotSet;
use crate::{pace, record, replay, restore, snapshot};
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

pub const HELP: &str = "\
Usage: shardboard-mover snapshot --socket=PATH --user=NAME --slots=RANGES --compression=none|zstd|gzip
                                 [--pace=gentle|fast] [--pace-file=PATH] [--max-bytes-per-second=N]
                                 --live-lines=FD
       shardboard-mover restore --targets=FILE --user=NAME [--pattern=GLOB]...
                                [--before-changes [--slots=RANGES]] --live-lines=FD
       shardboard-mover inspect --live-lines=FD
       shardboard-mover record --socket=PATH --user=NAME --segment-seconds=N
                               [--replication-id=ID --offset=N] [--memory-bytes=N] [--spool-bytes=N]
                               [--retry-seconds=N] --live-lines=FD
       shardboard-mover replay --targets=FILE --user=NAME --after=OFFSET [--until=MS] [--slots=RANGES]
                               [--pattern=GLOB]... [--end-of=ID:OFFSET]... --live-lines=FD
       shardboard-mover check-changes --live-lines=FD
       shardboard-mover end-import --targets=FILE --user=NAME --live-lines=FD

snapshot  writes the keys of these slots (0-5460,6000) of a shard as an RDB file to standard output
restore   reads an RDB file from standard input and writes its keys to the shards in FILE:
          [{\"socket\": PATH, \"slots\": [[FIRST, LAST], ...]}, ...]
inspect   reads an RDB file from standard input and reports its contents
record    follows the changes of a shard, after this position or from now on, and writes files with them to
          standard output, as requested on standard input (lines `next`, `stored`, `stop`)
replay    reads such files from standard input, and makes their changes to the shards in FILE. With --end-of,
          changes with this replication id after the offset are left out
check-changes  reads one of these files from standard input, and reports an error if it is damaged
end-import  ends the import mode of the shards in FILE

With --before-changes, keys that have expired are restored, and other keys of the slots are deleted. Then,
and for replay, the shards are in import mode, in which no key expires, until end-import.

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
    Record(record::Options),
    Replay(replay::Options),
    CheckChanges,
    EndImport(import_mode::Options),
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
    before_changes: bool,
    segment_seconds: Option<u64>,
    replication_id: Option<String>,
    offset: Option<u64>,
    memory_bytes: Option<u64>,
    spool_bytes: Option<u64>,
    retry_seconds: Option<u64>,
    after: Option<u64>,
    ends: HistoryEnds,
    until: Option<i64>,
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
            Long("before-changes") => values.before_changes = true,
            Long(name) => {
                let name = name.to_owned();
                let value = parser.value().map_err(|error| error.to_string())?;
                set(&mut values, &name, value)?;
            }
            other => return Err(other.unexpected().to_string()),
        }
    }
    let live_lines = values.live_lines.ok_or("--live-lines is required")?;
    let command = command.as_ref().and_then(|command| command.to_str()).unwrap_or_default();
    Ok(ParsedArguments::Run { task: task(command, values)?, live_lines })
}

fn task(command: &str, values: Values) -> Result<Task, String> {
    Ok(match command {
        "snapshot" => Task::Snapshot(snapshot::Options {
            socket: values.socket.ok_or("--socket is required")?,
            user: values.user.ok_or("--user is required")?,
            slots: values.slots.ok_or("--slots is required")?,
            compression: values.compression.ok_or("--compression is required")?,
            pace: values.pace,
        }),
        "restore" => Task::Restore(restore::Options {
            targets: read_targets(&values.targets.ok_or("--targets is required")?)?,
            user: values.user.ok_or("--user is required")?,
            patterns: values.patterns,
            before_changes: values.before_changes,
            slots: values.slots.unwrap_or_else(SlotSet::all),
        }),
        "inspect" => Task::Inspect,
        "record" => Task::Record(record::Options {
            socket: values.socket.ok_or("--socket is required")?,
            user: values.user.ok_or("--user is required")?,
            position: match (values.replication_id, values.offset) {
                (Some(replication_id), Some(offset)) => Some(Position { replication_id, offset }),
                (None, None) => None,
                _ => return Err("--replication-id and --offset must be used together".into()),
            },
            segment_seconds: values.segment_seconds.ok_or("--segment-seconds is required")?,
            memory_bytes: values.memory_bytes.unwrap_or(64 << 20),
            spool_bytes: values.spool_bytes.unwrap_or(4 << 30),
            retry_seconds: values.retry_seconds.unwrap_or(15),
        }),
        "replay" => Task::Replay(replay::Options {
            targets: read_targets(&values.targets.ok_or("--targets is required")?)?,
            user: values.user.ok_or("--user is required")?,
            patterns: values.patterns,
            slots: values.slots.unwrap_or_else(SlotSet::all),
            after: values.after.ok_or("--after is required")?,
            ends: values.ends,
            until: values.until,
        }),
        "check-changes" => Task::CheckChanges,
        "end-import" => Task::EndImport(import_mode::Options {
            targets: read_targets(&values.targets.ok_or("--targets is required")?)?,
            user: values.user.ok_or("--user is required")?,
        }),
        _ => return Err("the first argument is not a command; see --help".into()),
    })
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
        "segment-seconds" => {
            values.segment_seconds = Some(number(&text).filter(|&n| n > 0).ok_or_else(invalid)?)
        }
        "replication-id" => {
            let id = Some(text.clone()).filter(|id| id.len() == REPLICATION_ID);
            values.replication_id = Some(id.ok_or_else(invalid)?);
        }
        "offset" => values.offset = Some(number(&text).ok_or_else(invalid)?),
        "memory-bytes" => values.memory_bytes = Some(number(&text).ok_or_else(invalid)?),
        "spool-bytes" => values.spool_bytes = Some(number(&text).ok_or_else(invalid)?),
        "retry-seconds" => values.retry_seconds = Some(number(&text).ok_or_else(invalid)?),
        "end-of" => {
            let (id, offset) = text.split_once(':').ok_or_else(invalid)?;
            values.ends.insert(id.to_owned(), number(offset).ok_or_else(invalid)?);
        }
        "after" => values.after = Some(number(&text).ok_or_else(invalid)?),
        "until" => values.until = Some(text.parse().map_err(|_| invalid())?),
        "pattern" => values.patterns.push(text),
        "live-lines" => values.live_lines = Some(text.parse().map_err(|_| invalid())?),
        _ => return Err(format!("--{name} is not an option")),
    }
    Ok(())
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
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
            "record --socket=a --user=u --segment-seconds=0 --live-lines=3",
            "record --socket=a --user=u --segment-seconds=5 --offset=7 --live-lines=3",
            "record --socket=a --user=u --segment-seconds=5 --replication-id=a --offset=7 --live-lines=3",
            "replay --targets=/nonexistent --user=u --after=0 --live-lines=3",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
