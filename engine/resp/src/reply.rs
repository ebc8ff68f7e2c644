//! bytes -> reply: finds the end of a reply, and the items of replies that are merged.

use crate::error::ProtocolError;
use crate::number::{LineError, decimal, line_number};

/// Finds the end of a reply of any depth. `todo` counts the values that have not arrived yet, so no
/// stack is needed. When more bytes arrive, the scanner continues from its previous position.
#[derive(Debug, Default)]
pub struct ReplyScanner {
    todo: u64,
    pos: usize,
}

impl ReplyScanner {
    /// Returns the length of the reply at the start of `buf` when it is complete.
    #[inline]
    pub fn scan(&mut self, buf: &[u8]) -> Result<Option<usize>, ProtocolError> {
        if self.todo == 0 {
            self.todo = 1;
            self.pos = 0;
        }
        while self.todo > 0 {
            let Some(head) = header(buf, self.pos)? else { return Ok(None) };
            match head {
                Header::Line { next, .. } => {
                    self.todo -= 1;
                    self.pos = next;
                }
                Header::Bulk { end, .. } => {
                    if buf.len() < end + 2 {
                        return Ok(None);
                    }
                    if &buf[end..end + 2] != b"\r\n" {
                        return Err(ProtocolError::InvalidReply(buf[self.pos]));
                    }
                    self.todo -= 1;
                    self.pos = end + 2;
                }
                Header::Values { count, next } => {
                    self.todo = (self.todo - 1).saturating_add(count);
                    self.pos = next;
                }
                Header::Attribute { count, next } => {
                    self.todo = self.todo.saturating_add(count);
                    self.pos = next;
                }
            }
        }
        Ok(Some(self.pos))
    }

    /// Returns the number of bytes that `buf` must hold before another scan can make progress.
    pub fn wants(&self, buf: &[u8]) -> usize {
        match header(buf, self.pos) {
            Ok(Some(Header::Bulk { end, .. })) => end + 2,
            _ => buf.len() + 1,
        }
    }
}

/// The first line of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// The line holds the complete value at `start..end`, without the type byte and the line break.
    Line { start: usize, end: usize, next: usize },
    /// The value is at `start..end`, followed by a line break. It may not have arrived yet.
    Bulk { start: usize, end: usize },
    /// `count` values follow (a map counts two per pair).
    Values { count: u64, next: usize },
    /// `count` values follow, and after them the value that they describe.
    Attribute { count: u64, next: usize },
}

/// Reads the header at `at`. `None`: it has not arrived completely.
#[inline]
pub fn header(buf: &[u8], at: usize) -> Result<Option<Header>, ProtocolError> {
    let Some(&kind) = buf.get(at) else { return Ok(None) };
    let invalid = |_: LineError| ProtocolError::InvalidReply(kind);
    match kind {
        b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => Ok(line(buf, at + 1)),
        b'$' | b'=' | b'!' => Ok(match line_number(buf, at + 1).map_err(invalid)? {
            None => None,
            Some((-1, next)) => Some(Header::Line { start: at + 1, end: next - 2, next }),
            Some((len, start)) => Some(Header::Bulk { start, end: start + length(len, kind)? as usize }),
        }),
        b'*' | b'~' | b'>' | b'%' | b'|' => Ok(match line_number(buf, at + 1).map_err(invalid)? {
            None => None,
            Some((-1, next)) if kind == b'*' => Some(Header::Line { start: at + 1, end: next - 2, next }),
            Some((n, next)) => {
                let n = length(n, kind)?;
                Some(match kind {
                    b'%' => Header::Values { count: n * 2, next },
                    b'|' => Header::Attribute { count: n * 2, next },
                    _ => Header::Values { count: n, next },
                })
            }
        }),
        other => Err(ProtocolError::InvalidReply(other)),
    }
}

/// Larger than any length that the engine sends, and small enough that sums of positions cannot
/// overflow.
const MAX_LENGTH: u64 = 1 << 40;

fn length(n: i64, kind: u8) -> Result<u64, ProtocolError> {
    u64::try_from(n).ok().filter(|&n| n <= MAX_LENGTH).ok_or(ProtocolError::InvalidReply(kind))
}

/// A line ends with CR LF. A single CR or LF belongs to the text, because some errors of the engine
/// quote requests verbatim.
#[inline]
fn line(buf: &[u8], start: usize) -> Option<Header> {
    let mut from = start;
    loop {
        let at = from + buf[from..].iter().position(|&b| b == b'\n')?;
        if at > start && buf[at - 1] == b'\r' {
            return Some(Header::Line { start, end: at - 1, next: at + 1 });
        }
        from = at + 1;
    }
}

/// Returns the encoded values of a complete aggregate reply, or `None` if it is not an aggregate.
pub fn items(frame: &[u8]) -> Option<Vec<&[u8]>> {
    let Ok(Some(Header::Values { count, mut next })) = header(frame, 0) else { return None };
    let mut items = Vec::with_capacity(count.min(1024) as usize);
    for _ in 0..count {
        let len = ReplyScanner::default().scan(&frame[next..]).ok()??;
        items.push(&frame[next..next + len]);
        next += len;
    }
    Some(items)
}

/// Returns the content of a complete simple or bulk reply, or `None` for aggregates and null.
pub fn text(frame: &[u8]) -> Option<&[u8]> {
    match header(frame, 0) {
        Ok(Some(Header::Line { start, end, .. }))
            if frame[0] != b'_' && !frame.starts_with(b"$-") && !frame.starts_with(b"*-") =>
        {
            Some(&frame[start..end])
        }
        Ok(Some(Header::Bulk { start, end })) => Some(&frame[start..end]),
        _ => None,
    }
}

/// Returns the number of an integer reply or of a bulk string that contains one.
pub fn integer(frame: &[u8]) -> Option<i64> {
    decimal(text(frame)?)
}
