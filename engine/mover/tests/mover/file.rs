//! Builds RDB files.

use mover::rdb::crc64;

pub struct RdbFile(Vec<u8>);

impl RdbFile {
    pub fn new(magic: &str) -> Self {
        Self(magic.as_bytes().to_vec())
    }

    /// Appends bytes.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn string(self, text: impl AsRef<[u8]>) -> Self {
        let text = text.as_ref();
        self.length(text.len() as u32).raw(text)
    }

    pub fn length(self, length: u32) -> Self {
        if length < 64 { self.raw(&[length as u8]) } else { self.raw(&[0x80]).raw(&length.to_be_bytes()) }
    }

    pub fn bytes(self) -> Vec<u8> {
        self.0
    }

    /// Appends the end and the checksum.
    pub fn end(self) -> Vec<u8> {
        let mut file = self.raw(&[0xff]).0;
        let crc = crc64::update(0, &file);
        file.extend_from_slice(&crc.to_le_bytes());
        file
    }
}

/// A listpack of texts and of numbers below 128 or above 2^32.
pub fn listpack(items: &[Item]) -> Vec<u8> {
    let mut body = Vec::new();
    for item in items {
        let start = body.len();
        match item {
            Item::Text(text) => {
                body.push(0x80 | text.len() as u8);
                body.extend_from_slice(text.as_bytes());
            }
            Item::Number(number @ 0..=127) => body.push(*number as u8),
            Item::Number(number) => {
                body.push(0xf4);
                body.extend_from_slice(&number.to_le_bytes());
            }
        }
        body.push((body.len() - start) as u8);
    }
    let mut list = (body.len() as u32 + 7).to_le_bytes().to_vec();
    list.extend_from_slice(&(items.len() as u16).to_le_bytes());
    list.extend_from_slice(&body);
    list.push(0xff);
    list
}

pub enum Item {
    Text(&'static str),
    Number(i64),
}
