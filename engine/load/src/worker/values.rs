//! The values that are written: letters, random bytes of which one changes with each SET, or bytes
//! derived from the key.

use crate::options::Options;
use crate::request::{Operation, Writer};
use crate::verification::DerivedValues;
use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};

#[derive(Debug)]
pub struct Values {
    buffer: Vec<u8>,
    random: Option<SmallRng>,
    at: usize,
    /// With verification.
    pub derived: Option<DerivedValues>,
}

impl Values {
    pub fn new(options: &Options, seed: u64) -> Self {
        let largest = options.size.largest();
        let derived = options.data_verify.then(|| DerivedValues::new(largest));
        let mut buffer = vec![b'x'; largest];
        let mut random = options.random_data.then(|| SmallRng::seed_from_u64(seed));
        if let Some(random) = &mut random {
            random.fill_bytes(&mut buffer);
        }
        Self { buffer, random, at: 0, derived }
    }

    #[inline]
    pub fn next(&mut self, operation: &Operation, writer: &mut Writer) -> &[u8] {
        let size = operation.size as usize;
        if let Some(derived) = &self.derived {
            derived.write(writer.key(operation.key), size, &mut self.buffer);
            return &self.buffer;
        }
        if let Some(random) = &mut self.random {
            if let Some(byte) = self.buffer.get_mut(self.at) {
                *byte = random.random();
                self.at += 1;
            } else {
                random.fill_bytes(&mut self.buffer);
                self.at = 0;
            }
        }
        &self.buffer[..size.min(self.buffer.len())]
    }
}
