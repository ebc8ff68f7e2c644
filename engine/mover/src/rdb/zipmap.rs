//! Zipmap, the packed hash of Redis 2: bytes -> fields and values.

use crate::error::{Error, Result};
use crate::rdb::take;

pub struct Zipmap<'a> {
    rest: &'a [u8],
}

impl<'a> Zipmap<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        Ok(Self { rest: bytes.get(1..).ok_or_else(invalid)? })
    }

    /// Returns `None` at the end.
    pub fn next(&mut self) -> Result<Option<(&'a [u8], &'a [u8])>> {
        if self.rest == [0xff] {
            return Ok(None);
        }
        let length = self.length()?;
        let field = self.take(length)?;
        let length = self.length()?;
        let unused = usize::from(self.take(1)?[0]);
        let value = self.take(length)?;
        self.take(unused)?;
        Ok(Some((field, value)))
    }

    fn length(&mut self) -> Result<usize> {
        match self.take(1)?[0] {
            254 => Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")) as usize),
            255 => Err(invalid()),
            length => Ok(usize::from(length)),
        }
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        take(&mut self.rest, n).ok_or_else(invalid)
    }
}

fn invalid() -> Error {
    Error::corrupted("a packed value (zipmap) is invalid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_values() {
        let bytes = b"\x02\x03foo\x03\x00bar\x05hello\x05\x02worldxx\xff";
        let mut map = Zipmap::new(bytes).unwrap();
        assert_eq!(map.next().unwrap(), Some((&b"foo"[..], &b"bar"[..])));
        assert_eq!(map.next().unwrap(), Some((&b"hello"[..], &b"world"[..])));
        assert_eq!(map.next().unwrap(), None);
        assert!(Zipmap::new(b"\x01\x03fo").unwrap().next().is_err());
    }
}
