//! RDB files: input -> records -> values -> elements.
//!
//! [`Reader`] finds keys; [`Visitor`] receives the elements of a value. All files of Valkey and of
//! Redis 6 to 8 are read. Memory is bounded by the longest key and the longest element that is
//! packed with others, and no input causes a panic.

pub mod crc64;
pub mod input;
mod intset;
mod listpack;
mod lzf;
mod module;
mod reader;
mod stream;
mod string;
mod value;
mod ziplist;
mod zipmap;

pub use reader::{Entry, Event, Reader};
pub use value::{Family, Kind, NEVER, Type};

use crate::error::Result;

/// Receives the elements of a value, in the order of the file.
///
/// A string element arrives in parts. A sorted set has a score after each member; a hash has an
/// expiry time after each field and value.
pub trait Visitor {
    fn part(&mut self, bytes: &[u8], is_last: bool) -> Result<()>;

    fn score(&mut self, _score: f64) -> Result<()> {
        Ok(())
    }

    /// Milliseconds since 1970, or -1: the field does not expire.
    fn expiry(&mut self, _at: i64) -> Result<()> {
        Ok(())
    }

    /// The numbers and strings of an entry of a stream follow.
    fn entry(&mut self) -> Result<()> {
        Ok(())
    }

    /// A number of a stream or a module.
    fn number(&mut self, _value: u64) -> Result<()> {
        Ok(())
    }
}

/// Skips a value.
pub struct Ignore;

impl Visitor for Ignore {
    fn part(&mut self, _bytes: &[u8], _is_last: bool) -> Result<()> {
        Ok(())
    }
}

/// An element of a packed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item<'a> {
    Bytes(&'a [u8]),
    Number(i64),
}

impl Item<'_> {
    fn visit(self, visitor: &mut impl Visitor) -> Result<()> {
        match self {
            Self::Bytes(bytes) => visitor.part(bytes, true),
            Self::Number(number) => visitor.part(Decimal::new(number).text(), true),
        }
    }
}

/// Removes the first `n` bytes and returns them. `None`: there are fewer.
fn take<'a>(rest: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(n)?;
    *rest = left;
    Some(taken)
}

/// A number as text, without an allocation.
struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    fn new(value: i64) -> Self {
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut rest = value.unsigned_abs();
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if value < 0 {
            start -= 1;
            digits[start] = b'-';
        }
        Self { digits, start }
    }

    fn text(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn numbers_are_formatted_in_decimal() {
        for value in [0, 7, -7, 10, i64::MAX, i64::MIN, -100, 12345] {
            assert_eq!(Decimal::new(value).text(), value.to_string().as_bytes());
        }
    }
}
