//! Generational arena for connections. An ID is never valid for two connections: the generation
//! distinguishes a late reply for a closed client from a reply for the client that reuses its
//! index.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    pub index: u32,
    pub generation: u32,
}

impl Id {
    /// The ID of no connection.
    pub const NONE: Self = Self { index: u32::MAX, generation: 0 };
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    value: Option<Box<T>>,
}

#[derive(Debug)]
pub struct Arena<T> {
    places: Vec<Entry<T>>,
    free: Vec<u32>,
    len: usize,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), len: 0 }
    }
}

impl<T> Arena<T> {
    pub fn insert(&mut self, value: Box<T>) -> Id {
        self.len += 1;
        if let Some(index) = self.free.pop() {
            let place = &mut self.places[index as usize];
            place.value = Some(value);
            return Id { index, generation: place.generation };
        }
        self.places.push(Entry { generation: 1, value: Some(value) });
        Id { index: self.places.len() as u32 - 1, generation: 1 }
    }

    #[inline]
    pub fn get(&self, id: Id) -> Option<&T> {
        let place = self.places.get(id.index as usize)?;
        if place.generation == id.generation { place.value.as_deref() } else { None }
    }

    #[inline]
    pub fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        let place = self.places.get_mut(id.index as usize)?;
        if place.generation == id.generation { place.value.as_deref_mut() } else { None }
    }

    /// Moves the value out, so that the rest of the worker can be used at the same time. `put_back`
    /// must follow.
    #[inline]
    pub fn take(&mut self, id: Id) -> Option<Box<T>> {
        let place = self.places.get_mut(id.index as usize)?;
        if place.generation == id.generation { place.value.take() } else { None }
    }

    #[inline]
    pub fn put_back(&mut self, id: Id, value: Box<T>) {
        self.places[id.index as usize].value = Some(value);
    }

    /// Invalidates the ID and returns the value, unless it was taken before.
    pub fn remove(&mut self, id: Id) -> Option<Box<T>> {
        let place =
            self.places.get_mut(id.index as usize).filter(|place| place.generation == id.generation)?;
        place.generation = place.generation.wrapping_add(1) & MAX_GENERATION;
        self.free.push(id.index);
        self.len -= 1;
        place.value.take()
    }

    /// Removes all values, including those that were taken and never put back. All previous IDs
    /// become invalid.
    pub fn clear(&mut self) {
        for place in &mut self.places {
            place.generation = place.generation.wrapping_add(1) & MAX_GENERATION;
            place.value = None;
        }
        self.free = (0..self.places.len() as u32).collect();
        self.len = 0;
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn ids(&self) -> Vec<Id> {
        let used = self.places.iter().enumerate().filter(|(_, place)| place.value.is_some());
        used.map(|(index, place)| Id { index: index as u32, generation: place.generation }).collect()
    }
}

/// Two of the 64 bits of an event hold the kind of the connection.
const MAX_GENERATION: u32 = (1 << 30) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_not_reused() {
        let mut arena = Arena::default();
        let first = arena.insert(Box::new(1));
        assert_eq!(arena.remove(first), Some(Box::new(1)));
        let second = arena.insert(Box::new(2));
        assert_eq!(first.index, second.index);
        assert_eq!(arena.get(first), None);
        assert_eq!(arena.get(second), Some(&2));
        arena.remove(second);
        assert!(arena.is_empty());
    }

    #[test]
    fn clear_invalidates_all_ids() {
        let mut arena = Arena::default();
        let before = [1, 2, 3].map(|value| arena.insert(Box::new(value)));
        arena.remove(before[0]);
        arena.take(before[1]);
        arena.clear();
        assert!(arena.is_empty() && arena.ids().is_empty());
        let after = [4, 5, 6].map(|value| arena.insert(Box::new(value)));
        assert!(before.iter().all(|&id| arena.get(id).is_none()));
        assert_eq!(after.map(|id| arena.get(id).copied()), [Some(4), Some(5), Some(6)]);
    }
}
