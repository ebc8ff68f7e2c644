//! Listpack: bytes -> items.

use crate::error::{Error, Result};
use crate::rdb::Item;

#[derive(Clone, Copy)]
pub struct Listpack<'a> {
    rest: &'a [u8],
}

impl<'a> Listpack<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let rest = bytes.get(6..).ok_or_else(invalid)?;
        let total = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"));
        if total as usize != bytes.len() {
            return Err(invalid());
        }
        Ok(Self { rest })
    }

    /// Returns `None` at the end.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Item<'a>>> {
        let first = *self.rest.first().ok_or_else(invalid)?;
        if first == 0xff {
            return if self.rest.len() == 1 { Ok(None) } else { Err(invalid()) };
        }
        let (head, length) = match first {
            0..=0x7f => (1, 0),
            0x80..=0xbf => (1, usize::from(first & 63)),
            0xc0..=0xdf => (2, 0),
            0xe0..=0xef => (2, usize::from(first & 15) << 8 | self.at(1)?),
            0xf0 => (5, self.at(1)? | self.at(2)? << 8 | self.at(3)? << 16 | self.at(4)? << 24),
            0xf1..=0xf4 => (1 + usize::from([2u8, 3, 4, 8][usize::from(first - 0xf1)]), 0),
            _ => return Err(invalid()),
        };
        let size = head + length;
        let body = self.rest.get(..size).ok_or_else(invalid)?;
        self.rest = self.rest.get(size + back_length(size)..).ok_or_else(invalid)?;
        Ok(Some(match first {
            0..=0x7f => Item::Number(i64::from(first)),
            0xc0..=0xdf => {
                let value = i64::from(first & 31) << 8 | i64::from(body[1]);
                Item::Number(if value >= 1 << 12 { value - (1 << 13) } else { value })
            }
            0xf1..=0xf4 => Item::Number(little_endian(&body[1..])),
            _ => Item::Bytes(&body[head..]),
        }))
    }

    pub fn expect(&mut self) -> Result<Item<'a>> {
        self.next()?.ok_or_else(invalid)
    }

    pub fn number(&mut self) -> Result<i64> {
        match self.expect()? {
            Item::Number(number) => Ok(number),
            Item::Bytes(_) => Err(invalid()),
        }
    }

    fn at(&self, n: usize) -> Result<usize> {
        self.rest.get(n).map(|&byte| usize::from(byte)).ok_or_else(invalid)
    }
}

/// Size of the length after an entry, with which lists are read backwards.
fn back_length(size: usize) -> usize {
    match size {
        0..=127 => 1,
        128..=16_382 => 2,
        16_383..=2_097_150 => 3,
        2_097_151..=268_435_454 => 4,
        _ => 5,
    }
}

/// A signed number of at most eight bytes.
pub fn little_endian(bytes: &[u8]) -> i64 {
    let mut value = 0i64;
    for &byte in bytes.iter().rev() {
        value = value << 8 | i64::from(byte);
    }
    let unused = 64 - 8 * bytes.len() as u32;
    value << unused >> unused
}

fn invalid() -> Error {
    Error::corrupted("a packed value (listpack) is invalid")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(entries: &[u8]) -> Result<Vec<Item<'_>>> {
        let mut list = Listpack { rest: entries };
        let mut items = Vec::new();
        while let Some(item) = list.next()? {
            items.push(item);
        }
        Ok(items)
    }

    #[test]
    fn all_encodings() {
        let mut bytes = vec![5, 1, 0x82, b'h', b'i', 3, 0xdf, 0xff, 2, 0xc1, 0x00, 2];
        bytes.extend([0xf1, 0xff, 0x7f, 3, 0xf2, 0xff, 0xff, 0xff, 4, 0xf3, 0, 0, 0, 0x80, 5]);
        bytes.extend([0xf4, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0xe0, 2, b'a', b'b', 4]);
        bytes.extend([0xf0, 1, 0, 0, 0, b'x', 6, 0xff]);
        let expected = [
            Item::Number(5),
            Item::Bytes(b"hi"),
            Item::Number(-1),
            Item::Number(256),
            Item::Number(32767),
            Item::Number(-1),
            Item::Number(i64::from(i32::MIN)),
            Item::Number(1),
            Item::Bytes(b"ab"),
            Item::Bytes(b"x"),
        ];
        assert_eq!(items(&bytes).unwrap(), expected);
        for end in 0..bytes.len() {
            assert!(items(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn the_length_in_the_header_must_match() {
        assert!(Listpack::new(&[7, 0, 0, 0, 0, 0, 0xff]).is_ok());
        assert!(Listpack::new(&[8, 0, 0, 0, 0, 0, 0xff]).is_err());
        assert!(Listpack::new(&[6, 0, 0]).is_err());
    }
}
