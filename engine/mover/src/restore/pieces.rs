//! Large values, and values that only other engines load: elements -> commands.
//!
//! The value is written to a temporary key of the same slot, which is renamed at the end. Until
//! then it expires automatically, in case the process is stopped.

use crate::digest::ValueDigest;
use crate::error::{Error, Result};
use crate::rdb::{Entry, Kind, NEVER, Reader, Visitor};
use crate::restore::MAX_INDIVISIBLE;
use crate::restore::target::{Effect, Target};

const PIECE_BYTES: usize = 256 * 1024;
/// Space for the start of a command and for the frame of an argument.
const FRAME_BYTES: usize = 128;
const TEMPORARY_MS: &[u8] = b"3600000";

pub struct Pieces<'a> {
    target: &'a mut Target,
    digest: ValueDigest,
    kind: Kind,
    key: Vec<u8>,
    /// Arguments of the next command, encoded, and their number.
    args: Vec<u8>,
    count: usize,
    is_first: bool,
    /// An element that has not arrived completely.
    element: Vec<u8>,
    /// The complete field of a hash, or the complete member of a sorted set.
    pending: Option<Vec<u8>>,
    /// Commands that set expiry times of fields.
    expiries: Vec<u8>,
    expiry_ends: Vec<usize>,
}

impl<'a> Pieces<'a> {
    /// Reads a value and writes it to the target.
    pub fn write(reader: &mut Reader<'_>, entry: &Entry, target: &'a mut Target) -> Result<()> {
        let mut pieces = Self {
            target,
            digest: ValueDigest::new(entry.value.kind),
            kind: entry.value.kind,
            key: temporary_key(entry.slot),
            args: Vec::new(),
            count: 0,
            is_first: true,
            element: Vec::new(),
            pending: None,
            expiries: Vec::new(),
            expiry_ends: Vec::new(),
        };
        pieces.command(&[b"DEL", &pieces.key.clone()], Effect::Piece)?;
        reader.read_value(entry, &mut pieces)?;
        pieces.finish(entry)
    }

    fn finish(mut self, entry: &Entry) -> Result<()> {
        self.send()?;
        let key = std::mem::take(&mut self.key);
        match entry.expires {
            None => self.command(&[b"PERSIST", &key], Effect::Piece)?,
            Some(at) => self.command(&[b"PEXPIREAT", &key, at.to_string().as_bytes()], Effect::Piece)?,
        }
        let effect = Effect::Key { slot: entry.slot, digest: self.digest.of_key(entry) };
        self.command(&[b"RENAME", &key, &entry.key], effect)
    }

    fn command(&mut self, args: &[&[u8]], effect: Effect) -> Result<()> {
        let mut bytes = Vec::new();
        resp::encode::command(&mut bytes, args.iter().copied());
        let end = bytes.len();
        self.target.piece(bytes, &[end], effect)
    }

    fn argument(&mut self, bytes: &[u8]) {
        // Appending a frame to a large argument must not copy it.
        self.args.reserve(bytes.len() + FRAME_BYTES);
        resp::encode::bulk(&mut self.args, bytes);
        self.count += 1;
    }

    fn complete(&mut self) -> Result<()> {
        if self.args.len() + self.expiries.len() >= PIECE_BYTES { self.send() } else { Ok(()) }
    }

    /// Sends the collected arguments.
    fn send(&mut self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let name: &[u8] = match self.kind {
            Kind::String => b"APPEND",
            Kind::List => b"RPUSH",
            Kind::Set => b"SADD",
            Kind::SortedSet => b"ZADD",
            Kind::Hash => b"HSET",
            Kind::Stream | Kind::Module => unreachable!("these values are not divided"),
        };
        let mut start = Vec::new();
        resp::encode::array(&mut start, 2 + std::mem::take(&mut self.count));
        resp::encode::bulk(&mut start, name);
        resp::encode::bulk(&mut start, &self.key);
        // Without a copy, because an element can be long.
        let mut bytes = std::mem::take(&mut self.args);
        bytes.splice(0..0, start);
        let end = bytes.len();
        self.target.piece(bytes, &[end], Effect::Piece)?;
        if std::mem::take(&mut self.is_first) {
            self.command(&[b"PEXPIRE", &self.key.clone(), TEMPORARY_MS], Effect::Piece)?;
        }
        if !self.expiries.is_empty() {
            let ends = std::mem::take(&mut self.expiry_ends);
            self.target.piece(std::mem::take(&mut self.expiries), &ends, Effect::Piece)?;
        }
        Ok(())
    }

    fn element(&mut self, element: &[u8]) {
        match self.kind {
            Kind::SortedSet => self.pending = Some(element.to_vec()),
            Kind::Hash => {
                self.argument(element);
                if self.pending.is_none() {
                    self.pending = Some(element.to_vec());
                }
            }
            _ => self.argument(element),
        }
    }
}

impl Visitor for Pieces<'_> {
    fn part(&mut self, bytes: &[u8], is_last: bool) -> Result<()> {
        self.digest.part(bytes, is_last)?;
        if is_last && self.element.is_empty() {
            self.element(bytes);
        } else {
            if self.element.len() + bytes.len() > MAX_INDIVISIBLE {
                return Err(Error::general("an element of a value is larger than 512 MB"));
            }
            self.element.extend_from_slice(bytes);
            // Strings are divided too.
            if is_last || self.kind == Kind::String && self.element.len() >= PIECE_BYTES {
                let element = std::mem::take(&mut self.element);
                self.element(&element);
            }
        }
        // Other elements are complete after their score or expiry time.
        if matches!(self.kind, Kind::Hash | Kind::SortedSet) { Ok(()) } else { self.complete() }
    }

    fn score(&mut self, score: f64) -> Result<()> {
        self.digest.score(score)?;
        let member = self.pending.take().unwrap_or_default();
        self.argument(format!("{score:e}").as_bytes());
        self.argument(&member);
        self.complete()
    }

    fn expiry(&mut self, at: i64) -> Result<()> {
        self.digest.expiry(at)?;
        let field = self.pending.take().unwrap_or_default();
        if at != NEVER {
            let at = at.to_string();
            let args: [&[u8]; 6] = [b"HPEXPIREAT", &self.key, at.as_bytes(), b"FIELDS", b"1", &field];
            resp::encode::command(&mut self.expiries, args.into_iter());
            self.expiry_ends.push(self.expiries.len());
        }
        self.complete()
    }
}

/// Returns a key of this slot.
fn temporary_key(slot: u16) -> Vec<u8> {
    (0u32..)
        .map(|n| format!("shardboard-restore:{n}").into_bytes())
        .find(|key| resp::slot::of_key(key) == slot)
        .expect("every slot has such a key")
}

#[cfg(test)]
mod tests {
    use super::temporary_key;

    #[test]
    fn temporary_keys_are_in_the_slot_of_the_key() {
        for slot in [0, 1, 8191, 16383] {
            assert_eq!(resp::slot::of_key(&temporary_key(slot)), slot);
        }
    }
}
