//! Values that were on flash: bytes of the flash module -> bytes of a value that every shard loads.

use crate::digest::ValueDigest;
use crate::error::Result;
use crate::rdb::{Entry, Visitor};

/// Id of the data type `shardtier` with version 1: nine characters of six bits, and ten bits.
pub const DATA_TYPE: u64 = {
    let (name, mut id, mut n) = (b"shardtier", 0, 0);
    while n < name.len() {
        id = id << 6 | (name[n] - b'a' + 26) as u64;
        n += 1;
    }
    id << 10 | 1
};
/// Kinds of values in the module, and the types of RDB files in which elements follow each other.
const TYPES: [(u64, u8); 4] = [(1, 0), (2, 1), (3, 4), (4, 5)];
/// Longer values are not kept in memory.
const MAX_BYTES: usize = super::MAX_INDIVISIBLE;
const STRING: u8 = 0;
const SORTED_SET: u8 = 5;

/// Computes the digest of a value of a module, and keeps the value if it is one of the flash module.
pub struct ColdValue {
    pub digest: ValueDigest,
    numbers: usize,
    is_cold: bool,
    code: Option<u8>,
    bytes: Vec<u8>,
}

impl ColdValue {
    pub fn new(entry: &Entry) -> Self {
        let digest = ValueDigest::new(entry.value.kind);
        Self { digest, numbers: 0, is_cold: false, code: None, bytes: Vec::new() }
    }

    /// Returns the type and the bytes of the value. `None`: it is a value of another module, or damaged.
    pub fn into_plain(self) -> Option<(u8, Vec<u8>)> {
        let code = self.code?;
        let mut out = Vec::with_capacity(self.bytes.len() + 16);
        if code == STRING {
            string(&mut out, &self.bytes);
            return Some((code, out));
        }
        let parts = parts(&self.bytes)?;
        let per_element = if code == 1 { 1 } else { 2 };
        if parts.is_empty() || parts.len() % per_element != 0 {
            return None;
        }
        length(&mut out, parts.len() / per_element);
        for (n, part) in parts.iter().enumerate() {
            if code == SORTED_SET && n % 2 == 1 {
                out.extend_from_slice(&<[u8; 8]>::try_from(*part).ok()?);
            } else {
                string(&mut out, part);
            }
        }
        Some((code, out))
    }
}

impl Visitor for ColdValue {
    fn part(&mut self, bytes: &[u8], is_last: bool) -> Result<()> {
        if self.is_cold && self.bytes.len() + bytes.len() > MAX_BYTES {
            (self.is_cold, self.code, self.bytes) = (false, None, Vec::new());
        } else if self.is_cold {
            self.bytes.extend_from_slice(bytes);
        }
        self.digest.part(bytes, is_last)
    }

    fn number(&mut self, value: u64) -> Result<()> {
        match self.numbers {
            0 => self.is_cold = value == DATA_TYPE,
            1 if self.is_cold => {
                self.code = TYPES.iter().find(|(kind, _)| *kind == value).map(|(_, code)| *code);
            }
            _ => self.code = None,
        }
        self.numbers += 1;
        self.digest.number(value)
    }
}

/// Splits off parts that follow their lengths.
fn parts(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        parts.push(part);
        bytes = rest;
    }
    Some(parts)
}

fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    length(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn length(out: &mut Vec<u8>, length: usize) {
    match u32::try_from(length) {
        Ok(length @ 0..=63) => out.push(length as u8),
        Ok(length) => {
            out.push(0x80);
            out.extend_from_slice(&length.to_be_bytes());
        }
        Err(_) => {
            out.push(0x81);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}
