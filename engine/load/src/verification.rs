//! Values that are derived from the name of their key and their size, so that a reader can check
//! them without storing what was written.
//!
//! A value starts with a checksum of both. The rest is a part of a fixed sequence of random bytes
//! that the checksum selects, so deriving a value costs a copy, and checking it a comparison.

const CHECKSUM: usize = 8;
/// Number of positions of the sequence at which values start. A part of another value is
/// recognized unless both have the same position.
const STARTS: usize = 1 << 16;
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug)]
pub struct DerivedValues {
    sequence: Vec<u8>,
}

impl DerivedValues {
    /// `largest` is the size of the largest value in bytes.
    pub fn new(largest: usize) -> Self {
        let words = (STARTS + largest).div_ceil(8) as u64;
        let sequence = (1..=words).flat_map(|word| mix(word.wrapping_mul(GOLDEN)).to_le_bytes()).collect();
        Self { sequence }
    }

    /// Replaces the content of `out` with the value of a key.
    #[inline]
    pub fn write(&self, name: &[u8], size: usize, out: &mut Vec<u8>) {
        let (checksum, start) = checksum(name, size);
        out.clear();
        out.extend_from_slice(&checksum[..size.min(CHECKSUM)]);
        out.extend_from_slice(&self.sequence[start..start + size.saturating_sub(CHECKSUM)]);
    }

    /// Returns whether the value is the one that `write` derives for its size.
    #[inline]
    pub fn matches(&self, name: &[u8], value: &[u8]) -> bool {
        let (checksum, start) = checksum(name, value.len());
        let (first, rest) = value.split_at(value.len().min(CHECKSUM));
        first == &checksum[..first.len()] && self.sequence.get(start..start + rest.len()) == Some(rest)
    }
}

/// Returns the first bytes of a value, and the position of the others in the sequence.
#[inline]
fn checksum(name: &[u8], size: usize) -> ([u8; CHECKSUM], usize) {
    let mut sum = mix(size as u64 ^ GOLDEN);
    for part in name.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        sum = mix(sum ^ u64::from_le_bytes(word));
    }
    sum = mix(sum ^ name.len() as u64);
    (sum.to_le_bytes(), sum as usize % STARTS)
}

/// The finalizer of SplitMix64. It does not change with the version of a crate, because values are
/// checked by other releases.
#[inline]
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(derived: &DerivedValues, name: &str, size: usize) -> Vec<u8> {
        let mut out = b"earlier".to_vec();
        derived.write(name.as_bytes(), size, &mut out);
        out
    }

    #[test]
    fn every_wrong_byte_size_and_name_is_detected() {
        let derived = DerivedValues::new(100);
        for size in [8, 9, 32, 100] {
            let right = value(&derived, "memtier-42", size);
            assert!(right.len() == size && derived.matches(b"memtier-42", &right));
            assert!(!derived.matches(b"memtier-43", &right));
            assert!(!derived.matches(b"memtier-42", &right[..size - 1]), "a shorter value");
            for byte in 0..size {
                let mut wrong = right.clone();
                wrong[byte] ^= 1;
                assert!(!derived.matches(b"memtier-42", &wrong), "byte {byte} of {size}");
            }
        }
        let mut torn = value(&derived, "memtier-1", 100);
        torn[50..].copy_from_slice(&value(&derived, "memtier-2", 100)[50..]);
        assert!(!derived.matches(b"memtier-1", &torn), "a value that consists of two");
    }

    #[test]
    fn values_have_every_size_and_are_the_same_in_each_release() {
        let derived = DerivedValues::new(40);
        for size in 0..=40 {
            assert_eq!(value(&derived, "k", size).len(), size);
        }
        assert_eq!(value(&derived, "memtier-42", 12), EXPECTED, "values of another release");
        assert!(!derived.matches(b"k", &[0; 1_000_000]), "larger than any value");
    }

    const EXPECTED: [u8; 12] = [247, 6, 91, 252, 251, 172, 103, 65, 172, 58, 81, 6];
}
