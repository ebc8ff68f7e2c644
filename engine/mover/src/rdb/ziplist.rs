//! Ziplist, the packed form of engines before Redis 7: bytes -> items.

use crate::error::{Error, Result};
use crate::rdb::listpack::little_endian;
use crate::rdb::{Item, take};

pub struct Ziplist<'a> {
    rest: &'a [u8],
}

impl<'a> Ziplist<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let rest = bytes.get(10..).ok_or_else(invalid)?;
        let total = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"));
        if total as usize != bytes.len() {
            return Err(invalid());
        }
        Ok(Self { rest })
    }

    /// Returns `None` at the end.
    pub fn next(&mut self) -> Result<Option<Item<'a>>> {
        let first = *self.rest.first().ok_or_else(invalid)?;
        if first == 0xff {
            return if self.rest.len() == 1 { Ok(None) } else { Err(invalid()) };
        }
        self.take(if first == 0xfe { 5 } else { 1 })?;
        let encoding = self.take(1)?[0];
        Ok(Some(match encoding >> 6 {
            0 => Item::Bytes(self.take(usize::from(encoding & 63))?),
            1 => {
                let length = usize::from(encoding & 63) << 8 | usize::from(self.take(1)?[0]);
                Item::Bytes(self.take(length)?)
            }
            2 => {
                let length = u32::from_be_bytes(self.take(4)?.try_into().expect("four bytes"));
                Item::Bytes(self.take(length as usize)?)
            }
            _ => match encoding {
                0xc0 => Item::Number(little_endian(self.take(2)?)),
                0xd0 => Item::Number(little_endian(self.take(4)?)),
                0xe0 => Item::Number(little_endian(self.take(8)?)),
                0xf0 => Item::Number(little_endian(self.take(3)?)),
                0xfe => Item::Number(little_endian(self.take(1)?)),
                0xf1..=0xfd => Item::Number(i64::from(encoding & 15) - 1),
                _ => return Err(invalid()),
            },
        }))
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        take(&mut self.rest, n).ok_or_else(invalid)
    }
}

fn invalid() -> Error {
    Error::corrupted("a packed value (ziplist) is invalid")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(entries: &[u8]) -> Result<Vec<Item<'_>>> {
        let mut list = Ziplist { rest: entries };
        let mut items = Vec::new();
        while let Some(item) = list.next()? {
            items.push(item);
        }
        Ok(items)
    }

    #[test]
    fn all_encodings() {
        let mut bytes = vec![0, 2, b'h', b'i', 4, 0x40, 1, b'x', 3, 0x80, 0, 0, 0, 1, b'y'];
        bytes.extend([7, 0xc0, 0xff, 0x7f, 4, 0xd0, 0, 0, 0, 0x80, 6, 0xe0, 1, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0xfe, 0, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff, 5, 0xfe, 0x80, 3, 0xf1, 2, 0xfd, 0xff]);
        let expected = [
            Item::Bytes(b"hi"),
            Item::Bytes(b"x"),
            Item::Bytes(b"y"),
            Item::Number(32767),
            Item::Number(i64::from(i32::MIN)),
            Item::Number(1),
            Item::Number(-1),
            Item::Number(-128),
            Item::Number(0),
            Item::Number(12),
        ];
        assert_eq!(items(&bytes).unwrap(), expected);
        for end in 0..bytes.len() {
            assert!(items(&bytes[..end]).is_err());
        }
    }
}
