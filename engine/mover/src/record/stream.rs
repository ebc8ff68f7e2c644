//! Divides a replication stream into parts that can be the end of a file: single commands, and
//! transactions.

use crate::changes::LIMITS;
use crate::error::{Error, Result};
use resp::RequestParser;

/// Bytes of the stream that were received.
#[derive(Default)]
pub struct Stream {
    input: Vec<u8>,
    parser: RequestParser,
    /// End of the last complete command.
    at: usize,
    /// End of the last command outside of a transaction.
    complete: usize,
    is_in_transaction: bool,
    has_changes: bool,
    /// Slots move to or from this shard: its data is no longer described by its stream alone.
    moves_slots: bool,
}

/// Commands that can be stored.
pub struct Complete<'a> {
    pub commands: &'a [u8],
    /// Whether there is a command other than those with which shards monitor each other.
    pub has_changes: bool,
}

impl Stream {
    /// Adds bytes.
    pub fn extend(&mut self, bytes: &[u8]) -> Result<()> {
        self.input.extend_from_slice(bytes);
        while !self.moves_slots && self.at < self.input.len() {
            let rest = &self.input[self.at..];
            if rest[0] == b'\n' {
                return Err(Error::unavailable("the shard sent an empty line in its stream"));
            }
            let parsed = self.parser.parse(rest, &LIMITS);
            let parsed = parsed.map_err(|error| Error::unavailable(format!("the shard sent {error}")))?;
            let Some(length) = parsed else { break };
            let args = self.parser.args(rest);
            let name = args.get(0).unwrap_or_default();
            let is = |expected: &str| name.eq_ignore_ascii_case(expected.as_bytes());
            let second = args.get(1).unwrap_or_default();
            if is("CLUSTER") && second.eq_ignore_ascii_case(b"SYNCSLOTS") {
                self.moves_slots = true;
                break;
            }
            if is("MULTI") {
                self.is_in_transaction = true;
            } else if is("EXEC") {
                self.is_in_transaction = false;
            } else {
                self.has_changes |= !(is("PING") || is("REPLCONF") || is("SELECT"));
            }
            self.at += length;
            if !self.is_in_transaction {
                self.complete = self.at;
            }
        }
        Ok(())
    }

    pub fn complete(&self) -> Complete<'_> {
        Complete { commands: &self.input[..self.complete], has_changes: self.has_changes }
    }

    /// Removes the complete commands.
    pub fn take(&mut self) {
        self.input.drain(..self.complete);
        self.at -= self.complete;
        self.complete = 0;
        self.has_changes = self.is_in_transaction && self.has_changes;
    }

    pub fn moves_slots(&self) -> bool {
        self.moves_slots
    }

    /// Bytes that are not complete.
    pub fn pending(&self) -> usize {
        self.input.len() - self.complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(args: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        resp::encode::command(&mut out, args.iter().map(|arg| arg.as_bytes()));
        out
    }

    #[test]
    fn transactions_are_not_divided() {
        let commands = [
            command(&["SET", "a", "1"]),
            command(&["multi"]),
            command(&["SET", "a", "2"]),
            command(&["INCR", "a"]),
            command(&["EXEC"]),
            command(&["PING"]),
        ];
        let bytes = commands.concat();
        let ends: Vec<usize> = commands
            .iter()
            .scan(0, |end, one| {
                *end += one.len();
                Some(*end)
            })
            .collect();
        let allowed = [0, ends[0], ends[4], ends[5]];
        for chunk in 1..bytes.len() {
            let mut stream = Stream::default();
            let mut taken = Vec::new();
            for part in bytes.chunks(chunk) {
                stream.extend(part).unwrap();
                taken.extend_from_slice(stream.complete().commands);
                stream.take();
                assert!(allowed.contains(&taken.len()), "{} with chunks of {chunk}", taken.len());
            }
            assert!(taken == bytes && stream.pending() == 0);
        }
    }

    #[test]
    fn monitoring_is_not_a_change() {
        let mut stream = Stream::default();
        stream.extend(&[command(&["PING"]), command(&["REPLCONF", "GETACK", "*"])].concat()).unwrap();
        assert!(!stream.complete().has_changes);
        stream.extend(&command(&["DEL", "a"])).unwrap();
        assert!(stream.complete().has_changes);
        stream.take();
        assert!(!stream.complete().has_changes);
    }

    #[test]
    fn the_stream_ends_when_slots_move() {
        let mut stream = Stream::default();
        let set = command(&["SET", "a", "1"]);
        stream.extend(&[&set[..], &command(&["CLUSTER", "SYNCSLOTS", "ESTABLISH"]), &set].concat()).unwrap();
        assert!(stream.moves_slots() && stream.complete().commands == set);
    }
}
