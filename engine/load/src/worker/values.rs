//! The values that are written: letters, or random bytes of which one changes with each SET.

use crate::options::{Options, Size};
use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};

#[derive(Debug)]
pub struct Values {
    buffer: Vec<u8>,
    random: Option<SmallRng>,
    at: usize,
}

impl Values {
    pub fn new(options: &Options, seed: u64) -> Self {
        let largest = match &options.size {
            Size::Fixed(size) | Size::Range(_, size) => *size,
            Size::List(list) => list.iter().map(|(size, _)| *size).max().unwrap_or(0),
        };
        let mut buffer = vec![b'x'; largest];
        let mut random = options.random_data.then(|| SmallRng::seed_from_u64(seed));
        if let Some(random) = &mut random {
            random.fill_bytes(&mut buffer);
        }
        Self { buffer, random, at: 0 }
    }

    #[inline]
    pub fn next(&mut self, size: u32) -> &[u8] {
        if let Some(random) = &mut self.random {
            if let Some(byte) = self.buffer.get_mut(self.at) {
                *byte = random.random();
                self.at += 1;
            } else {
                random.fill_bytes(&mut self.buffer);
                self.at = 0;
            }
        }
        &self.buffer[..(size as usize).min(self.buffer.len())]
    }
}
