//! Parsing of decimal numbers and lines, the innermost loop of both parsers.

/// Longest line that may hold a count or a length; the engine's limit for an inline request as well.
pub(crate) const MAX_LINE: usize = 64 * 1024;

/// A signed decimal that fills `bytes` completely, as the engine's `string2ll` accepts it (no `+`, no leading zero).
pub fn decimal(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, bytes),
    };
    match digits {
        [] => return None,
        [b'0'] if !negative => return Some(0),
        [b'0', ..] => return None,
        _ if digits.len() > 19 => return None,
        _ => {}
    }
    // Negative, because the lowest number has no positive counterpart.
    let mut value: i64 = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))?;
    }
    if negative { Some(value) } else { value.checked_neg() }
}

/// Reason why a line contains no valid number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineError {
    Number,
    /// The CR is not followed by LF.
    Terminator,
}

/// Returns the number in the line that starts at `at`, and the position of the next line. The line
/// of a count is a few bytes long, so a plain loop is faster than a vectorised search. `Ok(None)`:
/// the line has not arrived completely.
#[inline]
pub(crate) fn line_number(buf: &[u8], at: usize) -> Result<Option<(i64, usize)>, LineError> {
    let mut value: i64 = 0;
    let mut i = at;
    while let Some(&byte) = buf.get(i) {
        match byte {
            b'0'..=b'9' if i - at < 18 => value = value * 10 + i64::from(byte - b'0'),
            b'\r' if i > at && (buf[at] != b'0' || i == at + 1) => {
                return terminated(buf, i, value);
            }
            _ => return uncommon(buf, at),
        }
        i += 1;
    }
    Ok(None)
}

/// Returns the number when the LF after the CR at `at` has arrived.
#[inline]
fn terminated(buf: &[u8], at: usize, value: i64) -> Result<Option<(i64, usize)>, LineError> {
    match buf.get(at + 1) {
        None => Ok(None),
        Some(b'\n') => Ok(Some((value, at + 2))),
        Some(_) => Err(LineError::Terminator),
    }
}

/// Parses negative, malformed and very long numbers.
#[cold]
fn uncommon(buf: &[u8], at: usize) -> Result<Option<(i64, usize)>, LineError> {
    match buf[at..].iter().take(MAX_LINE).position(|&b| b == b'\r') {
        Some(n) => {
            // The engine checks the end of the line first.
            let Some((_, next)) = terminated(buf, at + n, 0)? else { return Ok(None) };
            decimal(&buf[at..at + n]).map(|value| Some((value, next))).ok_or(LineError::Number)
        }
        None if buf.len() - at >= MAX_LINE => Err(LineError::Number),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_validated_like_in_the_engine() {
        assert_eq!(decimal(b"0"), Some(0));
        assert_eq!(decimal(b"-1"), Some(-1));
        assert_eq!(decimal(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(decimal(b"-9223372036854775808"), Some(i64::MIN));
        for wrong in [&b""[..], b"-", b"-0", b"01", b"+1", b"1a", b" 1", b"9223372036854775808"] {
            assert_eq!(decimal(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_number_requires_a_complete_line() {
        assert_eq!(line_number(b"12\r\n", 0), Ok(Some((12, 4))));
        assert_eq!(line_number(b"12\r", 0), Ok(None));
        assert_eq!(line_number(b"12", 0), Ok(None));
        assert_eq!(line_number(b"-1\r\n", 0), Ok(Some((-1, 4))));
        assert_eq!(line_number(b"\r\n", 0), Err(LineError::Number));
        assert_eq!(line_number(b"1x\r\n", 0), Err(LineError::Number));
        assert_eq!(line_number(b"00\r\n", 0), Err(LineError::Number));
        assert_eq!(line_number(b"12\rX", 0), Err(LineError::Terminator));
        assert_eq!(line_number(b"-1\rX", 0), Err(LineError::Terminator));
        assert_eq!(line_number(b"\rX", 0), Err(LineError::Terminator));
        assert_eq!(line_number(b"x\r", 0), Ok(None));
    }
}
