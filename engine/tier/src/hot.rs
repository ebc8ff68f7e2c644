//! Names of keys whose value is in RAM, as candidates for demotion.
//!
//! The server can return random keys, but if most values are on flash, most of these are cold.
//! Finding victims this way took a quarter of the CPU time. The state of a name is checked when it
//! is drawn. The name is removed if its value is no longer in RAM.

/// Number of obsolete names at which all names are removed. While RAM is below its limit, no names
/// are drawn.
const MOST_GONE: usize = 1 << 14;
const OF_A_NAME: usize = size_of::<Name>() + 16;

pub struct Name {
    pub database: u32,
    pub key: Box<[u8]>,
}

#[derive(Default)]
pub struct HotNames {
    names: Vec<Name>,
    bytes: usize,
    random: u64,
}

impl HotNames {
    pub fn add(&mut self, database: u32, key: &[u8]) {
        self.bytes += OF_A_NAME + key.len();
        self.names.push(Name { database, key: key.into() });
    }

    /// Removes all names if most are obsolete. Called at intervals with the number of values in
    /// RAM.
    pub fn bound(&mut self, values: u64) {
        if self.names.len() > 2 * values as usize + MOST_GONE {
            (self.names, self.bytes) = (Vec::new(), 0);
        }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the memory of the names in bytes, which the server does not count.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns a random name and its index, which is valid until the next `remove`.
    pub fn random_name(&mut self) -> Option<(usize, &Name)> {
        // SplitMix64: sufficiently uniform, and its only state is a counter.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let place = ((u128::from(mixed ^ (mixed >> 31)) * self.names.len() as u128) >> 64) as usize;
        Some((place, self.names.get(place)?))
    }

    pub fn remove(&mut self, place: usize) {
        let name = self.names.swap_remove(place);
        self.bytes -= OF_A_NAME + name.key.len();
    }

    /// Exchanges two databases after SWAPDB.
    pub fn swap(&mut self, first: u32, second: u32) {
        for name in &mut self.names {
            if name.database == first {
                name.database = second;
            } else if name.database == second {
                name.database = first;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_are_drawn_and_removed_names_are_not() {
        let mut hot = HotNames::default();
        assert!(hot.random_name().is_none());
        for number in 0..100u32 {
            hot.add(number % 3, &number.to_le_bytes());
        }
        let bytes = hot.bytes();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..5000 {
            seen.insert(hot.random_name().expect("there are names").1.key.clone());
        }
        assert_eq!(seen.len(), 100);
        while hot.len() > 1 {
            let place = hot.random_name().expect("there are names").0;
            hot.remove(place);
        }
        assert_eq!(hot.bytes(), bytes / 100);
        hot.remove(0);
        assert_eq!((hot.len(), hot.bytes()), (0, 0));
    }

    #[test]
    fn memory_is_bounded_when_keys_are_created_and_deleted() {
        let mut hot = HotNames::default();
        for number in 0..10 * MOST_GONE as u32 {
            hot.add(0, &number.to_le_bytes());
            hot.bound(10);
            assert!(hot.len() <= MOST_GONE + 20);
        }
        (0..100).for_each(|_| hot.bound(hot.len() as u64));
        assert!(hot.len() > 0 && hot.bytes() > 0);
    }

    #[test]
    fn names_follow_their_databases() {
        let mut hot = HotNames::default();
        (0..3).for_each(|database| hot.add(database, &[database as u8]));
        hot.swap(0, 2);
        let found: Vec<_> = hot.names.iter().map(|name| (name.database, name.key[0])).collect();
        assert_eq!(found, [(2, 0), (1, 1), (0, 2)]);
    }
}
