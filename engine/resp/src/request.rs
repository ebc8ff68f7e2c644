//! bytes -> request: finds the end of a request and the positions of its arguments.
//!
//! The parser keeps positions relative to the first byte of the request, so a request that arrives
//! in pieces is never scanned twice: call `parse` again with the same bytes and the new ones
//! appended.

use crate::error::ProtocolError;
use crate::inline;
use crate::number::{LineError, MAX_LINE, line_number};

/// Limits on the requests of a client.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one argument, like the engine's `proto-max-bulk-len`.
    pub bulk: usize,
    /// Arguments of one request.
    pub args: usize,
    /// Bytes of one request.
    pub request: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bulk: 512 << 20, args: 1 << 20, request: 1 << 30 }
    }
}

/// Parser for a stream of requests. The positions in `args` refer to [`Args::raw`].
#[derive(Debug, Default)]
pub struct RequestParser {
    args: Vec<(u32, u32)>,
    inline: Vec<u8>,
    is_inline: bool,
    started: bool,
    remaining: usize,
    pos: usize,
}

/// The arguments of a complete request and its bytes as an array of bulk strings.
#[derive(Debug, Clone, Copy)]
pub struct Args<'a> {
    pub raw: &'a [u8],
    at: &'a [(u32, u32)],
}

impl<'a> Args<'a> {
    #[inline]
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether the request is a blank line or an empty array, which the engine ignores.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        self.at.get(index).map(|&(start, end)| &self.raw[start as usize..end as usize])
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let raw = self.raw;
        self.at.iter().map(move |&(start, end)| &raw[start as usize..end as usize])
    }
}

impl RequestParser {
    /// Returns the length of the request at the start of `buf` when it is complete. After an error
    /// the connection must be closed.
    #[inline]
    pub fn parse(&mut self, buf: &[u8], limits: &Limits) -> Result<Option<usize>, ProtocolError> {
        if !self.started {
            self.begin();
            match buf.first() {
                None => return Ok(None),
                Some(b'*') => {}
                Some(_) => return self.parse_inline(buf),
            }
            let Some((count, next)) = count(buf)? else { return Ok(None) };
            if count > limits.args as i64 {
                return Err(ProtocolError::InvalidMultibulkLength);
            }
            self.started = true;
            self.remaining = usize::try_from(count).unwrap_or(0);
            self.pos = next;
        }
        self.parse_args(buf, limits)
    }

    fn begin(&mut self) {
        self.args.clear();
        self.is_inline = false;
    }

    #[inline]
    fn parse_args(&mut self, buf: &[u8], limits: &Limits) -> Result<Option<usize>, ProtocolError> {
        while self.remaining > 0 {
            let Some((len, start)) = bulk_length(buf, self.pos)? else { return self.incomplete(buf, limits) };
            let Some(len) = usize::try_from(len).ok().filter(|&len| len <= limits.bulk) else {
                return Err(ProtocolError::InvalidBulkLength);
            };
            let end = start + len;
            if end > limits.request {
                return Err(ProtocolError::TooBigRequest);
            }
            if buf.len() < end + 2 {
                return Ok(None);
            }
            if buf[end] != b'\r' || buf[end + 1] != b'\n' {
                return Err(ProtocolError::InvalidTerminator);
            }
            // Positions fit in `u32`, because `limits.request` is at most `u32::MAX`.
            self.args.push((start as u32, end as u32));
            self.pos = end + 2;
            self.remaining -= 1;
        }
        self.started = false;
        Ok(Some(self.pos))
    }

    fn incomplete(&self, buf: &[u8], limits: &Limits) -> Result<Option<usize>, ProtocolError> {
        if buf.len() > limits.request { Err(ProtocolError::TooBigRequest) } else { Ok(None) }
    }

    /// Returns the memory for the positions of arguments, in bytes.
    pub fn memory(&self) -> usize {
        self.args.capacity() * size_of::<(u32, u32)>() + self.inline.capacity()
    }

    /// Returns the number of bytes that `buf` must hold before another call of `parse` can make
    /// progress.
    pub fn wants(&self, buf: &[u8]) -> usize {
        match bulk_length(buf, self.pos) {
            Ok(Some((len, start))) if self.started => start + usize::try_from(len).unwrap_or(0) + 2,
            _ => buf.len() + 1,
        }
    }

    #[cold]
    fn parse_inline(&mut self, buf: &[u8]) -> Result<Option<usize>, ProtocolError> {
        // The engine searches the end of the line in a C string, so it finds none after a NUL byte.
        let end = buf.iter().take(MAX_LINE + 1).position(|&byte| matches!(byte, b'\n' | 0));
        let Some(end) = end.filter(|&end| buf[end] == b'\n') else {
            return if buf.len() > MAX_LINE { Err(ProtocolError::TooBigInline) } else { Ok(None) };
        };
        let line = buf[..end].strip_suffix(b"\r").unwrap_or(&buf[..end]);
        self.is_inline = true;
        inline::split(line, &mut self.inline, &mut self.args)?;
        Ok(Some(end + 1))
    }

    /// Returns the arguments of the complete request in `buf`, which must have the length that
    /// `parse` returned.
    #[inline]
    pub fn args<'a>(&'a self, buf: &'a [u8]) -> Args<'a> {
        Args { raw: if self.is_inline { &self.inline } else { buf }, at: &self.args }
    }

    /// Whether a part of a request has been parsed already.
    pub fn is_midway(&self) -> bool {
        self.started
    }
}

fn count(buf: &[u8]) -> Result<Option<(i64, usize)>, ProtocolError> {
    line_number(buf, 1).map_err(|error| match error {
        LineError::Terminator => ProtocolError::InvalidTerminator,
        LineError::Number if buf.len() >= MAX_LINE => ProtocolError::TooBigMultibulkCount,
        LineError::Number => ProtocolError::InvalidMultibulkLength,
    })
}

#[inline]
fn bulk_length(buf: &[u8], at: usize) -> Result<Option<(i64, usize)>, ProtocolError> {
    match buf.get(at) {
        None => Ok(None),
        Some(b'$') => line_number(buf, at + 1).map_err(|error| match error {
            LineError::Terminator => ProtocolError::InvalidTerminator,
            LineError::Number if buf.len() - at >= MAX_LINE => ProtocolError::TooBigBulkCount,
            LineError::Number => ProtocolError::InvalidBulkLength,
        }),
        Some(&other) => Err(ProtocolError::ExpectedBulk(other)),
    }
}
