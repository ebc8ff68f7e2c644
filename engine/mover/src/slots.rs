//! Sets of hash slots.

use resp::slot::SLOTS;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotSet {
    bits: Box<[u64; SLOTS as usize / 64]>,
}

impl Default for SlotSet {
    fn default() -> Self {
        Self { bits: Box::new([0; SLOTS as usize / 64]) }
    }
}

impl SlotSet {
    pub fn all() -> Self {
        Self { bits: Box::new([u64::MAX; SLOTS as usize / 64]) }
    }

    /// Reads ranges as `0-5460,6000`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut slots = Self::default();
        for range in text.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            slots.insert(first.parse().ok()?, last.parse().ok()?).then_some(())?;
        }
        Some(slots)
    }

    /// Adds `first..=last`. Returns `false` if this is not a valid range.
    pub fn insert(&mut self, first: u16, last: u16) -> bool {
        if first > last || last >= SLOTS {
            return false;
        }
        for slot in first..=last {
            self.bits[usize::from(slot) / 64] |= 1 << (slot % 64);
        }
        true
    }

    pub fn intersection(mut self, other: &Self) -> Self {
        for (word, other) in self.bits.iter_mut().zip(other.bits.iter()) {
            *word &= other;
        }
        self
    }

    #[inline]
    pub fn contains(&self, slot: u16) -> bool {
        self.bits.get(usize::from(slot) / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let slots = SlotSet::parse("0-2,16383").unwrap();
        let contained: Vec<u16> = (0..=u16::MAX).filter(|&slot| slots.contains(slot)).collect();
        assert_eq!(contained, [0, 1, 2, 16383]);
        assert_eq!(SlotSet::parse("0-16383"), Some(SlotSet::all()));
        for invalid in ["", "2-1", "0-16384", "a", "1-2-3", "1,"] {
            assert_eq!(SlotSet::parse(invalid), None, "{invalid}");
        }
    }
}
