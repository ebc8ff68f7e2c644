//! Takes a snapshot of a shard as a replica would: handshake, RDB file, end mark.

mod output;

use crate::compression::Compression;
use crate::connection::Connection;
use crate::digest::ValueDigest;
use crate::error::{Error, Result};
use crate::lines::{Counted, Progress};
use crate::pace::{self, Paced};
use crate::rdb::input::Input;
use crate::rdb::{Event, Ignore, Reader};
use crate::slots::SlotSet;
use crate::statistics::Statistics;
use output::Output;
use serde_json::{Map, Value};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

const MARK: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub socket: PathBuf,
    pub user: String,
    pub slots: SlotSet,
    pub compression: Compression,
    pub pace: pace::Options,
}

/// How the shard delimits the file.
enum Framing {
    /// The mark follows the file.
    Mark(String),
    Length(u64),
}

pub fn run(
    options: &Options,
    password: &str,
    output: impl Write + Send,
    progress: &Progress,
) -> Result<Map<String, Value>> {
    let mut connection = Connection::open(&options.socket, &options.user, password)?;
    let framing = request(&mut connection)?;
    std::thread::scope(|scope| {
        let compressed = Counted::new(output, &progress.bytes);
        let (output, writer) = Output::start(scope, options.compression, compressed)?;
        let read = copy(options, connection, &framing, output, progress);
        let written =
            writer.join().map_err(|_| Error::general("the thread that writes ended with a panic"))?;
        // If writing failed, reading failed only because of that.
        written?;
        let mut fields = read?;
        fields.insert("bytes".into(), progress.bytes.load(Ordering::Relaxed).into());
        Ok(fields)
    })
}

/// Requests a snapshot. Without its version, the shard would send an older format, in which some
/// values cannot be written.
fn request(connection: &mut Connection) -> Result<Framing> {
    let version = engine_version(connection)?;
    connection.command(&[b"REPLCONF", b"capa", b"eof"])?;
    connection.command(&[b"REPLCONF", b"version", version.as_bytes()])?;
    connection.command(&[b"REPLCONF", b"rdb-only", b"1"])?;
    connection.send(b"*1\r\n$4\r\nSYNC\r\n")?;
    let line = connection.line()?;
    if let Some(mark) = line.strip_prefix("$EOF:").filter(|mark| mark.len() == MARK) {
        return Ok(Framing::Mark(mark.to_owned()));
    }
    if let Some(length) = line.strip_prefix('$').and_then(|length| length.parse().ok()) {
        return Ok(Framing::Length(length));
    }
    Err(Error::unavailable(match line.strip_prefix('-') {
        Some(error) if error.starts_with("NOMASTERLINK") => {
            "the replica is not connected to its primary; take the snapshot from another copy".to_owned()
        }
        Some(error) => format!("the shard rejected SYNC: {error}"),
        None => format!("the shard sent an invalid reply to SYNC: {line}"),
    }))
}

fn engine_version(connection: &mut Connection) -> Result<String> {
    let info = connection.command(&[b"INFO", b"server"])?;
    let info = String::from_utf8_lossy(&info);
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let version = field("valkey_version:").or_else(|| field("redis_version:"));
    version.map(str::to_owned).ok_or_else(|| Error::unavailable("the shard does not report its version"))
}

fn copy(
    options: &Options,
    connection: Connection,
    framing: &Framing,
    output: Output,
    progress: &Progress,
) -> Result<Map<String, Value>> {
    let source = Paced::new(Counted::new(connection, &progress.raw_bytes), &options.pace)?;
    let source: Box<dyn Read + '_> = match framing {
        Framing::Mark(_) => Box::new(source),
        Framing::Length(length) => Box::new(source.take(*length)),
    };
    let mut reader = Reader::new(Input::new(source, Some(Box::new(output))), options.slots.clone())?;
    let mut statistics = Statistics::default();
    loop {
        match reader.next_event()? {
            Event::Key(entry) if entry.is_importing || !options.slots.contains(entry.slot) => {
                reader.input.omit()?;
                reader.read_value(&entry, &mut Ignore)?;
            }
            Event::Key(entry) => {
                reader.input.copy();
                let mut digest = ValueDigest::new(entry.value.kind);
                reader.read_value(&entry, &mut digest)?;
                statistics.add(&entry, &digest, reader.input.position() - entry.start);
                progress.keys.store(statistics.keys, Ordering::Relaxed);
            }
            Event::Function(code) => statistics.add_function(&code)?,
            Event::End => break,
        }
    }
    if let Framing::Mark(mark) = framing {
        if reader.input.array::<MARK>()? != mark.as_bytes() {
            return Err(Error::unavailable("the snapshot of the shard has no valid end"));
        }
    }
    Ok(fields(&reader, &statistics, reader.input.output_bytes()))
}

/// Fields of the result, except the number of compressed bytes.
pub fn fields(reader: &Reader<'_>, statistics: &Statistics, raw_bytes: u64) -> Map<String, Value> {
    let mut fields = statistics.json();
    fields.insert("raw_bytes".into(), raw_bytes.into());
    fields.insert("rdb_version".into(), reader.version.into());
    fields.insert("replication_id".into(), reader.replication_id.clone().into());
    fields.insert("replication_offset".into(), reader.replication_offset.into());
    fields
}
