//! Intset, the packed set of numbers: bytes -> numbers.

use crate::error::{Error, Result};
use crate::rdb::listpack::little_endian;

pub fn numbers(bytes: &[u8]) -> Result<impl Iterator<Item = i64> + '_> {
    let (head, body) = bytes.split_at_checked(8).ok_or_else(invalid)?;
    let size = u32::from_le_bytes(head[..4].try_into().expect("four bytes")) as usize;
    let count = u32::from_le_bytes(head[4..].try_into().expect("four bytes")) as usize;
    if !matches!(size, 2 | 4 | 8) || count.checked_mul(size) != Some(body.len()) {
        return Err(invalid());
    }
    Ok(body.chunks_exact(size).map(little_endian))
}

fn invalid() -> Error {
    Error::corrupted("a packed value (intset) is invalid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_numbers() {
        let read = |bytes: &[u8]| numbers(bytes).ok().map(Iterator::collect::<Vec<_>>);
        assert_eq!(read(&[2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0xff, 0xff]), Some(vec![1, -1]));
        assert_eq!(read(&[4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x80]), Some(vec![i64::from(i32::MIN)]));
        assert_eq!(read(&[3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(read(&[2, 0, 0, 0, 2, 0, 0, 0, 1, 0]), None);
        assert_eq!(read(&[2, 0, 0]), None);
    }
}
