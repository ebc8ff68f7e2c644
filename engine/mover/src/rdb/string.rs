//! Lengths and strings.

use crate::error::{Error, Result};
use crate::rdb::input::Input;
use crate::rdb::{Decimal, lzf};

/// Strings up to this length arrive in one part.
const ONE_PART: u64 = 64 * 1024;
/// Packed values and elements that are needed as a whole: the engine's default limit of a string.
pub(super) const MAX_WHOLE: usize = 512 * 1024 * 1024;
/// Buffers with more capacity are not kept.
const KEPT: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Plain(u64),
    Encoded(u8),
}

impl Input<'_> {
    #[inline]
    fn any_length(&mut self) -> Result<Length> {
        let first = self.byte()?;
        Ok(match first >> 6 {
            0 => Length::Plain(u64::from(first & 63)),
            1 => Length::Plain(u64::from(first & 63) << 8 | u64::from(self.byte()?)),
            3 => Length::Encoded(first & 63),
            _ if first == 0x80 => Length::Plain(u64::from(u32::from_be_bytes(self.array()?))),
            _ if first == 0x81 => Length::Plain(u64::from_be_bytes(self.array()?)),
            _ => return Err(Error::corrupted("a length is invalid")),
        })
    }

    #[inline]
    pub fn length(&mut self) -> Result<u64> {
        match self.any_length()? {
            Length::Plain(length) => Ok(length),
            Length::Encoded(_) => Err(Error::corrupted("a length is invalid")),
        }
    }

    /// Reads a string in parts. The second argument of `each` is whether the part is the last one.
    #[inline]
    pub fn string(&mut self, each: impl FnMut(&[u8], bool) -> Result<()>) -> Result<()> {
        match self.any_length()? {
            Length::Plain(length) => self.raw(length, each),
            Length::Encoded(encoding) => self.encoded(encoding, each),
        }
    }

    #[inline]
    fn raw(&mut self, length: u64, mut each: impl FnMut(&[u8], bool) -> Result<()>) -> Result<()> {
        if length <= ONE_PART {
            let length = length as usize;
            self.need(length)?;
            each(&self.peek()[..length], true)?;
            self.advance(length);
            return Ok(());
        }
        let mut left = length;
        while left > 0 {
            self.need(1)?;
            let part = self.peek();
            let part = &part[..part.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            let read = part.len();
            left -= read as u64;
            each(part, left == 0)?;
            self.advance(read);
        }
        Ok(())
    }

    fn encoded(&mut self, encoding: u8, mut each: impl FnMut(&[u8], bool) -> Result<()>) -> Result<()> {
        let number = match encoding {
            0 => i64::from(i8::from_le_bytes(self.array()?)),
            1 => i64::from(i16::from_le_bytes(self.array()?)),
            2 => i64::from(i32::from_le_bytes(self.array()?)),
            3 => return self.compressed(each),
            _ => return Err(Error::corrupted("the encoding of a string is unknown")),
        };
        each(Decimal::new(number).text(), true)
    }

    fn compressed(&mut self, mut each: impl FnMut(&[u8], bool) -> Result<()>) -> Result<()> {
        let left = self.length()?;
        let size = self.length()?;
        let mut window = std::mem::take(&mut self.window);
        let outcome = self.decompress(left, size, &mut window, &mut each);
        window.clear();
        self.window = window;
        outcome
    }

    fn decompress(
        &mut self,
        mut left: u64,
        size: u64,
        window: &mut Vec<u8>,
        each: &mut impl FnMut(&[u8], bool) -> Result<()>,
    ) -> Result<()> {
        let enough = ONE_PART as usize + lzf::MAX_DISTANCE + 1;
        let mut produced = 0;
        // The part of `window` that was passed on already.
        let mut passed = 0;
        while left > 0 {
            self.need(left.min(lzf::MAX_INSTRUCTION as u64) as usize)?;
            let input = self.peek();
            let input = &input[..input.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            let before = window.len();
            let used = lzf::decode(input, input.len() as u64 == left, window, enough)?;
            self.advance(used);
            left -= used as u64;
            produced += (window.len() - before) as u64;
            if produced > size {
                break;
            }
            if window.len() >= enough && left > 0 {
                each(&window[passed..], false)?;
                window.drain(..window.len() - lzf::MAX_DISTANCE);
                passed = window.len();
            }
        }
        if produced != size {
            return Err(Error::corrupted("a compressed string has a wrong length"));
        }
        each(&window[passed..], true)
    }

    /// Reads a string into `out`.
    pub fn collect(&mut self, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        self.string(|part, _| {
            if out.len() + part.len() > MAX_WHOLE {
                return Err(Error::general("a packed value is longer than 512 MB and cannot be read"));
            }
            out.extend_from_slice(part);
            Ok(())
        })
    }

    /// Reads a packed value. `recycle` takes it back.
    pub fn blob(&mut self) -> Result<Vec<u8>> {
        let mut blob = std::mem::take(&mut self.blob);
        self.collect(&mut blob)?;
        Ok(blob)
    }

    pub fn recycle(&mut self, blob: Vec<u8>) {
        if blob.capacity() <= KEPT {
            self.blob = blob;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        Input::new(Box::new(bytes), None).collect(&mut out)?;
        Ok(out)
    }

    #[test]
    fn plain_strings_and_numbers() {
        assert_eq!(read(b"\x03abc").unwrap(), b"abc");
        assert_eq!(read(b"\x40\x03abc").unwrap(), b"abc");
        assert_eq!(read(b"\x80\0\0\0\x03abc").unwrap(), b"abc");
        assert_eq!(read(b"\x81\0\0\0\0\0\0\0\x03abc").unwrap(), b"abc");
        assert_eq!(read(b"\xc0\xff").unwrap(), b"-1");
        assert_eq!(read(b"\xc1\x00\x01").unwrap(), b"256");
        assert_eq!(read(b"\xc2\x00\x00\x01\x00").unwrap(), b"65536");
        for invalid in
            [&b"\x04abc"[..], b"\xc4", b"\x82", b"\x81\xff\xff\xff\xff\xff\xff\xff\xff", b"", b"\xc1\x00"]
        {
            assert_eq!(read(invalid).unwrap_err().code, crate::error::Code::FileCorrupted);
        }
    }

    /// A compressed string of 60 MB, with references over the borders of the window.
    #[test]
    fn long_compressed_strings_are_read_in_parts() {
        let mut compressed = vec![31];
        compressed.extend(0..32u8);
        let instructions = 230_000;
        for n in 0..instructions {
            let distance: u16 = if n < 40 { 30 } else { 8191 };
            compressed.extend([7 << 5 | (distance >> 8) as u8, 255, distance as u8]);
        }
        let size = 32 + instructions as u32 * 264;
        let mut bytes = vec![0xc3, 0x80];
        bytes.extend((compressed.len() as u32).to_be_bytes());
        bytes.push(0x80);
        bytes.extend(size.to_be_bytes());
        bytes.extend(&compressed);
        let mut whole = Vec::new();
        lzf::decode(&compressed, true, &mut whole, usize::MAX).unwrap();
        assert_eq!(whole.len(), size as usize);

        let mut input = Input::new(Box::new(&bytes[..]), None);
        let (mut at, mut longest) = (0, 0);
        input
            .string(|part, is_last| {
                assert!(part == &whole[at..at + part.len()]);
                at += part.len();
                longest = longest.max(part.len());
                assert_eq!(is_last, at == whole.len());
                Ok(())
            })
            .unwrap();
        assert!(at == whole.len() && longest < 100_000, "{at} {longest}");
    }
}
