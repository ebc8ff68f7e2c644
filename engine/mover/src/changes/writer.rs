//! Writes a file of changes to memory.

use super::{END, MARK, Position, START};
use crate::compression::zstd_encoder;
use crate::error::{Error, Result};
use std::io::Write;

/// Changes that arrive within this time share a mark.
const MARK_MS: i64 = 10;

pub struct FileWriter {
    pub start: Position,
    /// Offset after the last command.
    pub end: u64,
    /// Whether there is a command other than those with which shards monitor each other.
    pub has_changes: bool,
    since: i64,
    until: i64,
    last_mark: Option<i64>,
    output: zstd::Encoder<'static, Vec<u8>>,
}

/// A complete file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub start: Position,
    pub end: u64,
    /// Unix times in ms: when this file was started, and when its last command was received.
    pub since: i64,
    pub until: i64,
    pub bytes: Vec<u8>,
}

impl FileWriter {
    pub fn new(start: Position, now: i64) -> Result<Self> {
        let output = zstd_encoder(Vec::new()).map_err(failed)?;
        let end = start.offset;
        let mut file =
            Self { end, has_changes: false, since: now, until: now, last_mark: None, output, start };
        file.line(START, &format!("{} {}", file.start.replication_id, file.start.offset))?;
        Ok(file)
    }

    /// Appends complete commands that were received at this time. The times of a file never fall, even
    /// if the clock does.
    pub fn write(&mut self, commands: &[u8], now: i64) -> Result<()> {
        self.until = self.until.max(now);
        if self.last_mark.is_none_or(|last| self.until >= last + MARK_MS) {
            self.last_mark = Some(self.until);
            self.line(MARK, &self.until.to_string())?;
        }
        self.output.write_all(commands).map_err(failed)?;
        self.end += commands.len() as u64;
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.end == self.start.offset
    }

    /// Approximate size of the compressed file.
    pub fn size(&self) -> usize {
        self.output.get_ref().len()
    }

    pub fn finish(mut self) -> Result<Finished> {
        self.line(END, &self.end.to_string())?;
        let Self { start, end, since, until, output, .. } = self;
        Ok(Finished { start, end, since, until, bytes: output.finish().map_err(failed)? })
    }

    fn line(&mut self, kind: &str, text: &str) -> Result<()> {
        self.output.write_all(format!("{kind}{text}\r\n").as_bytes()).map_err(failed)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::general(format!("changes cannot be compressed: {error}"))
}
