//! source -> bytes: a buffer that hands out contiguous bytes, verifies the checksum, and passes on
//! what the caller keeps.
//!
//! Memory is only allocated for bytes that have arrived, never for announced lengths.

use crate::error::{Code, Error, Result};
use crate::rdb::crc64;
use std::io::{ErrorKind, Read, Write};

const CHUNK: usize = 512 * 1024;
/// A larger buffer, which a large key or value needed, is released afterwards.
const LARGE: usize = 16 * CHUNK;

/// What happens to the bytes that are read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Stay in the buffer until the caller decides, from `held` on.
    Hold,
    Copy,
    Drop,
}

pub struct Input<'a> {
    source: Box<dyn Read + 'a>,
    output: Option<Box<dyn Write + 'a>>,
    buffer: Vec<u8>,
    pos: usize,
    end: usize,
    /// Bytes from here to `held` are still to be copied.
    start: usize,
    held: usize,
    mode: Mode,
    max_held: usize,
    /// Number of bytes before the buffer.
    passed: u64,
    /// Checksum of all bytes before `summed`.
    crc: u64,
    summed: usize,
    /// `None` as long as nothing was dropped: equal to the checksum of the input.
    output_crc: Option<u64>,
    output_bytes: u64,
    /// Buffers that are used again.
    pub(super) window: Vec<u8>,
    pub(super) blob: Vec<u8>,
}

impl<'a> Input<'a> {
    pub fn new(source: Box<dyn Read + 'a>, output: Option<Box<dyn Write + 'a>>) -> Self {
        Self {
            source,
            output,
            buffer: vec![0; CHUNK],
            pos: 0,
            end: 0,
            start: 0,
            held: 0,
            mode: Mode::Copy,
            max_held: usize::MAX,
            passed: 0,
            crc: 0,
            summed: 0,
            output_crc: None,
            output_bytes: 0,
            window: Vec::new(),
            blob: Vec::new(),
        }
    }

    /// Number of bytes that were read.
    pub fn position(&self) -> u64 {
        self.passed + self.pos as u64
    }

    pub fn output_bytes(&self) -> u64 {
        self.output_bytes
    }

    /// Keeps the next bytes in the buffer. Fails with `TooLongToHold` if there are considerably
    /// more than `max`.
    pub fn hold(&mut self, max: usize) {
        if self.mode == Mode::Drop {
            self.start = self.pos;
        }
        self.held = self.pos;
        self.mode = Mode::Hold;
        self.max_held = max;
    }

    /// Changes the limit of `hold`.
    pub fn limit_hold(&mut self, max: usize) {
        self.max_held = max;
    }

    /// The bytes read since `hold`.
    pub fn held(&self) -> &[u8] {
        &self.buffer[self.held..self.pos]
    }

    /// Continues at the position of `hold`.
    pub fn rewind(&mut self) {
        self.pos = self.held;
    }

    /// Copies the held bytes and the following ones.
    pub fn copy(&mut self) {
        self.mode = Mode::Copy;
    }

    /// Drops the held bytes and the following ones.
    pub fn omit(&mut self) -> Result<()> {
        self.flush(self.held)?;
        if self.output.is_some() && self.output_crc.is_none() {
            self.sum(self.held);
            self.output_crc = Some(self.crc);
        }
        self.mode = Mode::Drop;
        Ok(())
    }

    /// Reads the checksum at the end of the file, and writes the one of the output.
    pub fn finish(&mut self, has_checksum: bool) -> Result<()> {
        self.sum(self.pos);
        self.flush(self.pos)?;
        if has_checksum {
            let crc = self.crc;
            let stored = u64::from_le_bytes(self.array()?);
            // The engine writes 0 if checksums are disabled.
            if stored != 0 && stored != crc {
                return Err(Error::corrupted("the checksum of the RDB file is wrong"));
            }
            let written = self.output_crc.unwrap_or(crc);
            self.write(&written.to_le_bytes())?;
        }
        self.mode = Mode::Drop;
        Ok(())
    }

    /// Returns `false` at the end of the source.
    pub fn has_more(&mut self) -> Result<bool> {
        if self.pos < self.end {
            return Ok(true);
        }
        self.make_space(1)?;
        self.end += self.read()?;
        Ok(self.pos < self.end)
    }

    pub fn byte(&mut self) -> Result<u8> {
        self.need(1)?;
        self.pos += 1;
        Ok(self.buffer[self.pos - 1])
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.need(N)?;
        self.pos += N;
        Ok(self.buffer[self.pos - N..self.pos].try_into().expect("N bytes"))
    }

    /// Makes `n` contiguous bytes available for `peek`. `n` must be small.
    #[inline]
    pub(super) fn need(&mut self, n: usize) -> Result<()> {
        if self.end - self.pos < n { self.fill(n) } else { Ok(()) }
    }

    #[inline]
    pub(super) fn peek(&self) -> &[u8] {
        &self.buffer[self.pos..self.end]
    }

    #[inline]
    pub(super) fn advance(&mut self, n: usize) {
        self.pos += n;
    }

    #[cold]
    fn fill(&mut self, n: usize) -> Result<()> {
        self.make_space(n)?;
        while self.end - self.pos < n {
            match self.read()? {
                0 => {
                    let at = self.passed + self.end as u64;
                    return Err(Error::corrupted(format!("the RDB file ends early, after {at} bytes")));
                }
                read => self.end += read,
            }
        }
        Ok(())
    }

    fn read(&mut self) -> Result<usize> {
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(match error.downcast::<Error>() {
                        Ok(error) => error,
                        Err(error) => Error::corrupted(format!("the RDB file cannot be read: {error}")),
                    });
                }
            }
        }
    }

    /// Moves the bytes that are still needed to the start of the buffer, with space for `n` after
    /// the current position.
    fn make_space(&mut self, n: usize) -> Result<()> {
        let first = if self.mode == Mode::Hold {
            if self.pos - self.held > self.max_held {
                return Err(Error::new(Code::TooLongToHold, "a value is too long"));
            }
            self.held
        } else {
            self.pos
        };
        self.sum(first);
        self.flush(first)?;
        self.buffer.copy_within(first..self.end, 0);
        self.passed += first as u64;
        self.pos -= first;
        self.end -= first;
        self.held = 0;
        self.start = 0;
        self.summed = 0;
        if self.buffer.len() > LARGE && self.end < CHUNK / 2 {
            self.buffer = [&self.buffer[..self.end], &vec![0; CHUNK - self.end][..]].concat();
        }
        let needed = self.pos + n.max(CHUNK / 4);
        if needed > self.buffer.len() {
            // Old and new buffer are in memory at the same time.
            let more = if needed > LARGE { needed / 4 } else { needed / 2 };
            self.buffer.resize(needed + more, 0);
        }
        Ok(())
    }

    fn sum(&mut self, to: usize) {
        self.crc = crc64::update(self.crc, &self.buffer[self.summed..to.max(self.summed)]);
        self.summed = to.max(self.summed);
    }

    /// Copies the bytes before `to` if they are not dropped.
    fn flush(&mut self, to: usize) -> Result<()> {
        let from = std::mem::replace(&mut self.start, to);
        if self.mode == Mode::Drop || self.output.is_none() || from >= to {
            return Ok(());
        }
        if let Some(crc) = &mut self.output_crc {
            *crc = crc64::update(*crc, &self.buffer[from..to]);
        }
        let output = self.output.as_mut().expect("checked above");
        self.output_bytes += (to - from) as u64;
        output.write_all(&self.buffer[from..to]).map_err(write_error)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.start = self.pos;
        let Some(output) = &mut self.output else { return Ok(()) };
        self.output_bytes += bytes.len() as u64;
        output.write_all(bytes).and_then(|()| output.flush()).map_err(write_error)
    }
}

fn write_error(error: std::io::Error) -> Error {
    error
        .downcast::<Error>()
        .unwrap_or_else(|error| Error::general(format!("the output cannot be written: {error}")))
}
