//! Compression of the output, and decompression of the input in the format that its first bytes
//! announce.

use crate::error::Error;
use crate::error::Result;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{BufRead, BufReader, Read, Write};
use zstd::zstd_safe::CParameter;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Zstd,
    Gzip,
}

impl Compression {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "none" => Self::None,
            "zstd" => Self::Zstd,
            "gzip" => Self::Gzip,
            _ => return None,
        })
    }
}

pub enum Compressor<W: Write> {
    None(W),
    Zstd(Box<zstd::Encoder<'static, W>>),
    Gzip(Box<GzEncoder<W>>),
}

impl<W: Write> Compressor<W> {
    pub fn new(compression: Compression, output: W) -> Result<Self> {
        Ok(match compression {
            Compression::None => Self::None(output),
            Compression::Zstd => {
                let encoder = zstd_encoder(output);
                Self::Zstd(Box::new(
                    encoder.map_err(|error| Error::general(format!("zstd failed: {error}")))?,
                ))
            }
            Compression::Gzip => Self::Gzip(Box::new(GzEncoder::new(output, flate2::Compression::fast()))),
        })
    }

    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::None(output) => output.write_all(bytes),
            Self::Zstd(encoder) => encoder.write_all(bytes),
            Self::Gzip(encoder) => encoder.write_all(bytes),
        }
    }

    /// Writes the end of the compressed data.
    pub fn finish(self) -> std::io::Result<()> {
        match self {
            Self::None(output) => Ok(output),
            Self::Zstd(encoder) => encoder.finish(),
            Self::Gzip(encoder) => encoder.finish(),
        }?
        .flush()
    }
}

/// Level 1 with a window and a hash table that fit into the caches of a core: a fifth faster, and
/// files are 3% larger.
pub fn zstd_encoder<W: Write>(output: W) -> std::io::Result<zstd::Encoder<'static, W>> {
    let mut encoder = zstd::Encoder::new(output, 1)?;
    encoder.set_parameter(CParameter::WindowLog(17))?;
    encoder.set_parameter(CParameter::HashLog(13))?;
    encoder.set_parameter(CParameter::MinMatch(6))?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// Returns the decompressed bytes of `input`.
pub fn decompress<'a>(input: impl Read + 'a) -> Result<Box<dyn Read + 'a>> {
    let mut input = BufReader::with_capacity(256 * 1024, input);
    let start =
        input.fill_buf().map_err(|error| Error::general(format!("the input cannot be read: {error}")))?;
    if start.starts_with(ZSTD_MAGIC) {
        let decoder = zstd::Decoder::with_buffer(input);
        let decoder = decoder.map_err(|error| Error::general(format!("zstd failed: {error}")))?;
        return Ok(Box::new(decoder));
    }
    if start.starts_with(GZIP_MAGIC) {
        return Ok(Box::new(MultiGzDecoder::new(input)));
    }
    Ok(Box::new(input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_detected() {
        let bytes: Vec<u8> = (0..1_000_000u32).map(|n| (n / 100) as u8).collect();
        for compression in [Compression::None, Compression::Zstd, Compression::Gzip] {
            let mut compressed = Vec::new();
            let mut compressor = Compressor::new(compression, &mut compressed).unwrap();
            for part in bytes.chunks(77_777) {
                compressor.write(part).unwrap();
            }
            compressor.finish().unwrap();
            assert_eq!(compression == Compression::None, compressed == bytes);
            let mut back = Vec::new();
            decompress(&compressed[..]).unwrap().read_to_end(&mut back).unwrap();
            assert!(back == bytes);
            if compression != Compression::None {
                let short = &compressed[..compressed.len() - 1];
                assert!(decompress(short).unwrap().read_to_end(&mut Vec::new()).is_err());
            }
        }
    }
}
