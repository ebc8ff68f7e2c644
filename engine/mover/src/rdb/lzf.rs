//! LZF: compressed bytes -> bytes, in steps.

use crate::error::{Error, Result};

/// References reach this far back.
pub const MAX_DISTANCE: usize = 8192;
/// No instruction is longer.
pub const MAX_INSTRUCTION: usize = 33;

/// Decodes complete instructions and appends their result to `window`, until the input has fewer
/// than `MAX_INSTRUCTION` bytes (or is used up, if `is_end`) or `window` has more than `enough`.
/// Returns the number of bytes used.
pub fn decode(input: &[u8], is_end: bool, window: &mut Vec<u8>, enough: usize) -> Result<usize> {
    let mut at = 0;
    while window.len() < enough && if is_end { at < input.len() } else { at + MAX_INSTRUCTION <= input.len() }
    {
        let control = usize::from(input[at]);
        at += 1;
        if control < 32 {
            let literals = input.get(at..at + control + 1).ok_or_else(invalid)?;
            window.extend_from_slice(literals);
            at += control + 1;
            continue;
        }
        let mut next = || {
            at += 1;
            input.get(at - 1).map(|&byte| usize::from(byte)).ok_or_else(invalid)
        };
        let mut length = control >> 5;
        if length == 7 {
            length += next()?;
        }
        let distance = ((control & 31) << 8) + next()? + 1;
        repeat(window, distance, length + 2)?;
    }
    Ok(at)
}

/// Appends bytes that `window` already has. The copy may overlap with its source.
fn repeat(window: &mut Vec<u8>, distance: usize, length: usize) -> Result<()> {
    let start = window.len().checked_sub(distance).ok_or_else(invalid)?;
    let mut left = length;
    while left > 0 {
        let some = left.min(window.len() - start);
        window.extend_from_within(start..start + some);
        left -= some;
    }
    Ok(())
}

fn invalid() -> Error {
    Error::corrupted("a compressed string is invalid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_references() {
        let mut out = Vec::new();
        // "abc", then 3 bytes from 3 back, then 20 bytes of the last one.
        let input = [2, b'a', b'b', b'c', 1 << 5, 2, 7 << 5, 11, 0];
        assert_eq!(decode(&input, true, &mut out, 1000).unwrap(), input.len());
        assert_eq!(out, [&b"abcabc"[..], &[b'c'; 20]].concat());
    }

    #[test]
    fn invalid_input_is_rejected() {
        for input in [&[5, b'a'][..], &[1 << 5, 0], &[7 << 5], &[0, b'a', 1 << 5, 9]] {
            assert!(decode(input, true, &mut Vec::new(), 1000).is_err(), "{input:?}");
        }
    }
}
