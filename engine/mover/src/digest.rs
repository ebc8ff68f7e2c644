//! Digests of keys: equal contents have equal digests, regardless of encoding and order.
//!
//! Digests are stored with backups and compared by later versions: a change of this file needs a
//! new format of the manifest.

use crate::error::Result;
use crate::rdb::{Entry, Kind, Visitor};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Digest of one value.
pub struct ValueDigest {
    kind: Kind,
    sum: u64,
    elements: u64,
    /// The element that the next one, the score or the expiry time belongs to.
    pending: Option<u64>,
    /// Hash of an element that arrives in parts.
    parts: Option<Box<Xxh3>>,
}

impl ValueDigest {
    pub fn new(kind: Kind) -> Self {
        Self { kind, sum: 0, elements: 0, pending: None, parts: None }
    }

    /// Number of elements: 1 for a string, pairs of a hash, entries of a stream, 0 for a module.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    pub fn of_key(&self, entry: &Entry) -> u64 {
        let mut digest = mix(xxh3_64(&entry.key), self.kind as u64 + 1);
        digest = mix(digest, self.sum);
        digest = mix(digest, self.elements);
        digest = mix(digest, entry.expires.unwrap_or(-1) as u64);
        if entry.database == 0 { digest } else { mix(digest, entry.database) }
    }

    #[inline]
    fn element(&mut self, hash: u64) {
        match self.kind {
            Kind::String | Kind::List => {
                self.elements += 1;
                self.sum = mix(self.sum, hash);
            }
            Kind::Stream | Kind::Module => self.sum = mix(self.sum, hash),
            Kind::Set => {
                self.elements += 1;
                self.sum = self.sum.wrapping_add(mix(hash, 0));
            }
            Kind::SortedSet => self.pending = Some(hash),
            Kind::Hash => {
                self.pending = Some(self.pending.take().map_or(hash, |field| mix(field, hash)));
            }
        }
    }

    #[inline]
    fn complete(&mut self, with: u64) {
        let hash = self.pending.take().unwrap_or_default();
        self.elements += 1;
        self.sum = self.sum.wrapping_add(mix(hash, with));
    }
}

impl Visitor for ValueDigest {
    #[inline]
    fn part(&mut self, bytes: &[u8], is_last: bool) -> Result<()> {
        if is_last && self.parts.is_none() {
            self.element(xxh3_64(bytes));
            return Ok(());
        }
        let parts = self.parts.get_or_insert_with(|| Box::new(Xxh3::new()));
        parts.update(bytes);
        if is_last {
            let hash = parts.digest();
            self.parts = None;
            self.element(hash);
        }
        Ok(())
    }

    #[inline]
    fn score(&mut self, score: f64) -> Result<()> {
        // Packed sets store -0 as 0.
        self.complete(if score == 0.0 { 0 } else { score.to_bits() });
        Ok(())
    }

    #[inline]
    fn expiry(&mut self, at: i64) -> Result<()> {
        self.complete(at as u64);
        Ok(())
    }

    #[inline]
    fn entry(&mut self) -> Result<()> {
        self.elements += 1;
        Ok(())
    }

    #[inline]
    fn number(&mut self, value: u64) -> Result<()> {
        self.sum = mix(self.sum, value ^ 0x5851_f42d_4c95_7f2d);
        Ok(())
    }
}

/// Depends on the order of its arguments.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product =
        u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b.rotate_left(29) ^ 0xd6e8_feb8_6659_fd93);
    let folded = product as u64 ^ (product >> 64) as u64;
    (folded ^ folded >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdb::NEVER;

    fn digest(kind: Kind, elements: &[&str]) -> u64 {
        let mut digest = ValueDigest::new(kind);
        for (n, element) in elements.iter().enumerate() {
            digest.part(element.as_bytes(), true).unwrap();
            match kind {
                Kind::Hash if n % 2 == 1 => digest.expiry(NEVER).unwrap(),
                Kind::SortedSet => digest.score(element.len() as f64).unwrap(),
                _ => {}
            }
        }
        digest.sum
    }

    #[test]
    fn order_matters_in_lists_only() {
        for kind in [Kind::Set, Kind::SortedSet] {
            assert_eq!(digest(kind, &["a", "bc", "def"]), digest(kind, &["def", "bc", "a"]));
        }
        assert_ne!(digest(Kind::List, &["a", "b"]), digest(Kind::List, &["b", "a"]));
        assert_eq!(digest(Kind::Hash, &["a", "1", "b", "2"]), digest(Kind::Hash, &["b", "2", "a", "1"]));
        assert_ne!(digest(Kind::Hash, &["a", "1", "b", "2"]), digest(Kind::Hash, &["a", "2", "b", "1"]));
        assert_ne!(digest(Kind::Hash, &["a", "1"]), digest(Kind::Hash, &["1", "a"]));
    }

    #[test]
    fn parts_do_not_matter() {
        let mut digest = ValueDigest::new(Kind::String);
        digest.part(b"ab", false).unwrap();
        digest.part(b"c", true).unwrap();
        let mut other = ValueDigest::new(Kind::String);
        other.part(b"abc", true).unwrap();
        assert_eq!((digest.sum, digest.elements), (other.sum, 1));
    }

    /// Digests of earlier backups stay valid.
    #[test]
    fn digests_are_stable() {
        assert_eq!(digest(Kind::List, &["a", "b"]), 2_308_776_600_226_962_353);
        assert_eq!(digest(Kind::Hash, &["a", "1", "b", "2"]), 3_556_263_589_523_102_030);
    }
}
