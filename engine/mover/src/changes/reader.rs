//! Reads files of changes that follow each other, and returns each command once.

use super::{END, LIMITS, MARK, Position, REPLICATION_ID, START};
use crate::error::{Error, Result};
use resp::{Args, RequestParser};
use std::collections::HashMap;
use std::io::{ErrorKind, Read};

const CHUNK: usize = 256 * 1024;
const MAX_LINE: usize = 128;
/// Instead of an offset: the first file may start anywhere.
const ANYWHERE: u64 = u64::MAX;
/// First bytes of a file that is compressed with zstd.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What follows in the files.
pub enum Change<'a> {
    /// The following commands were received at this time (Unix time in ms).
    Mark(i64),
    Command(Args<'a>),
    End,
}

/// Offsets at which the history of a replication id ended, because another copy became primary. Recorders of
/// the previous primary can have received more, which is not part of the history.
pub type HistoryEnds = HashMap<String, u64>;

pub struct Reader<'a> {
    source: Box<dyn Read + 'a>,
    ends: HistoryEnds,
    /// Where the history of the current file ended.
    limit: u64,
    input: Vec<u8>,
    /// Position of the next unread byte in `input`.
    at: usize,
    parser: RequestParser,
    /// Offset after the last command that was returned or is known otherwise.
    offset: u64,
    /// Offset of the next command in the current file. `None`: between files.
    in_file: Option<u64>,
    /// Where the current file started.
    start: Option<Position>,
}

/// Reads one file completely, with its checksum. Returns where its changes start and end.
pub fn check(source: impl Read) -> Result<(Position, u64)> {
    let mut reader = Reader::new(source, ANYWHERE, HistoryEnds::new())?;
    while !matches!(reader.next_change()?, Change::End) {}
    let start = reader.start.take().ok_or_else(|| reader.corrupted("have no valid start"))?;
    Ok((start, reader.offset))
}

impl<'a> Reader<'a> {
    /// Returns the commands after this offset.
    pub fn new(source: impl Read + 'a, after: u64, ends: HistoryEnds) -> Result<Self> {
        let mut source = source;
        let mut magic = [0; MAGIC.len()];
        source.read_exact(&mut magic).map_err(|error| unreadable(after, &error))?;
        if magic != MAGIC {
            return Err(Error::corrupted("the input is not a file of recorded changes"));
        }
        let source = zstd::Decoder::new(std::io::Cursor::new(magic).chain(source));
        let source = source.map_err(|error| Error::general(format!("zstd failed: {error}")))?;
        Ok(Self {
            source: Box::new(source),
            ends,
            limit: u64::MAX,
            input: Vec::new(),
            at: 0,
            parser: RequestParser::default(),
            offset: after,
            in_file: None,
            start: None,
        })
    }

    /// The offset up to which changes were read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub fn next_change(&mut self) -> Result<Change<'_>> {
        loop {
            if self.at == self.input.len() && !self.receive()? {
                return match self.in_file {
                    None => Ok(Change::End),
                    Some(_) => Err(self.corrupted("end early")),
                };
            }
            if self.input[self.at] == b'#' {
                if let Some(time) = self.line()? {
                    return Ok(Change::Mark(time));
                }
                continue;
            }
            let Some(start) = self.in_file else { return Err(self.corrupted("have no valid start")) };
            let length = self.command()?;
            let end = start + length as u64;
            self.in_file = Some(end);
            let from = self.at;
            self.at += length;
            if end <= self.offset || end > self.limit {
                continue; // also contained in the previous file, or not part of the history
            }
            if start != self.offset {
                return Err(self.corrupted("do not fit to the changes before"));
            }
            self.offset = end;
            return Ok(Change::Command(self.parser.args(&self.input[from..from + length])));
        }
    }

    /// Reads a line. Returns the time if it is a mark.
    fn line(&mut self) -> Result<Option<i64>> {
        let end = loop {
            let rest = &self.input[self.at..];
            match rest.iter().take(MAX_LINE).position(|&byte| byte == b'\n') {
                Some(end) => break end,
                None if rest.len() >= MAX_LINE => return Err(self.corrupted("contain an invalid line")),
                None if self.receive()? => {}
                None => return Err(self.corrupted("end early")),
            }
        };
        let line = String::from_utf8_lossy(&self.input[self.at..self.at + end]).into_owned();
        self.at += end + 1;
        let line = line.strip_suffix('\r').unwrap_or(&line);
        if let (Some(time), Some(_)) = (line.strip_prefix(MARK), self.in_file) {
            return time.parse().map(Some).map_err(|_| self.corrupted("contain an invalid time"));
        }
        if let (Some(text), None) = (line.strip_prefix(START), &self.in_file) {
            let start = position(text).ok_or_else(|| self.corrupted("have no valid start"))?;
            if self.offset == ANYWHERE {
                self.offset = start.offset;
            } else if start.offset > self.offset {
                return Err(Error::corrupted(format!(
                    "changes between the offsets {} and {} are missing",
                    self.offset, start.offset
                )));
            }
            self.in_file = Some(start.offset);
            self.limit = self.ends.get(&start.replication_id).copied().unwrap_or(u64::MAX);
            self.start = Some(start);
            return Ok(None);
        }
        if let (Some(end), Some(at)) = (line.strip_prefix(END), self.in_file) {
            if end.parse() != Ok(at) {
                return Err(self.corrupted("have another length than expected"));
            }
            self.in_file = None;
            return Ok(None);
        }
        Err(self.corrupted("contain an unknown line"))
    }

    /// Returns the length of the next command.
    fn command(&mut self) -> Result<usize> {
        if self.input[self.at] != b'*' {
            return Err(self.corrupted("contain something that is not a command"));
        }
        loop {
            match self.parser.parse(&self.input[self.at..], &LIMITS) {
                Ok(Some(length)) => return Ok(length),
                Ok(None) => {}
                Err(error) => return Err(self.corrupted(&format!("contain an invalid command ({error})"))),
            }
            if !self.receive()? {
                return Err(self.corrupted("end early"));
            }
        }
    }

    /// Reads more bytes. Returns whether there were any.
    fn receive(&mut self) -> Result<bool> {
        self.input.drain(..self.at);
        self.at = 0;
        let filled = self.input.len();
        self.input.resize(filled + CHUNK, 0);
        loop {
            match self.source.read(&mut self.input[filled..]) {
                Ok(read) => {
                    self.input.truncate(filled + read);
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(self.offset, &error)),
            }
        }
    }

    #[cold]
    fn corrupted(&self, what: &str) -> Error {
        Error::corrupted(format!("{} {what}", changes_after(self.offset)))
    }
}

fn position(text: &str) -> Option<Position> {
    let (id, offset) = text.split_once(' ')?;
    let is_id = id.len() == REPLICATION_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(Position { replication_id: id.to_owned(), offset: offset.parse().ok()? })
}

fn unreadable(offset: u64, error: &std::io::Error) -> Error {
    Error::corrupted(format!("{} cannot be read: {error}", changes_after(offset)))
}

fn changes_after(offset: u64) -> String {
    if offset == ANYWHERE { "the changes".into() } else { format!("the changes after offset {offset}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::FileWriter;

    fn file(id: char, start: u64, commands: &[&str]) -> (Vec<u8>, u64) {
        let start = Position { replication_id: id.to_string().repeat(REPLICATION_ID), offset: start };
        let mut writer = FileWriter::new(start, 1).unwrap();
        for command in commands {
            let mut bytes = Vec::new();
            resp::encode::command(
                &mut bytes,
                command.split(' ').map(str::as_bytes).collect::<Vec<_>>().into_iter(),
            );
            writer.write(&bytes, 1).unwrap();
        }
        let finished = writer.finish().unwrap();
        (finished.bytes, finished.end)
    }

    fn commands(input: &[u8], after: u64, ends: HistoryEnds) -> Result<Vec<String>> {
        let mut reader = Reader::new(input, after, ends)?;
        let mut found = Vec::new();
        loop {
            match reader.next_change()? {
                Change::Command(args) => {
                    found.push(args.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(" "));
                }
                Change::Mark(_) => {}
                Change::End => return Ok(found),
            }
        }
    }

    #[test]
    fn each_command_is_returned_once() {
        let (first, middle) = file('a', 100, &["SET a 1", "SET b 1"]);
        let (again, end) = file('a', 100, &["SET a 1", "SET b 1", "SET c 1"]);
        let (last, _) = file('a', end, &["SET d 1"]);
        let all = [&first[..], &again, &last].concat();
        let expected = ["SET a 1", "SET b 1", "SET c 1", "SET d 1"];
        assert_eq!(commands(&all, 100, HashMap::new()).unwrap(), expected);
        assert_eq!(commands(&all, middle, HashMap::new()).unwrap(), expected[2..]);
        let error = commands(&last, middle, HashMap::new()).unwrap_err();
        assert!(error.message.contains("are missing"), "{error}");
        assert!(commands(&all, 101, HashMap::new()).is_err(), "not the end of a command");
    }

    #[test]
    fn a_file_is_checked_completely() {
        let (file, end) = file('a', 100, &["SET a 1", "SET b 1", "SET c 1"]);
        let (start, checked) = check(&file[..]).unwrap();
        assert_eq!((start.replication_id, start.offset), ("a".repeat(REPLICATION_ID), 100));
        assert_eq!(checked, end);
        assert!(check(&file[..file.len() - 1]).is_err());
        for index in 0..file.len() {
            let mut damaged = file.clone();
            damaged[index] ^= 1;
            // Byte 5 is the size of the window, which can be larger than necessary.
            assert!(index == 5 || check(&damaged[..]).is_err(), "byte {index}");
        }
        let error = check(&zstd::encode_all(&b""[..], 1).unwrap()[..]).unwrap_err();
        assert_eq!(error.message, "the changes have no valid start");
    }

    #[test]
    fn changes_that_the_next_primary_does_not_have_are_left_out() {
        let (kept, middle) = file('a', 0, &["SET a 1"]);
        let (old, _) = file('a', middle, &["SET lost 1", "SET lost 2"]);
        let (new, _) = file('b', middle, &["SET kept 1"]);
        let ends = HashMap::from([("a".repeat(REPLICATION_ID), middle)]);
        let all = [&kept[..], &old, &new].concat();
        assert_eq!(commands(&all, 0, ends).unwrap(), ["SET a 1", "SET kept 1"]);
    }
}
