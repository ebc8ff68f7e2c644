//! The databases that a worker serves. Clients and connections refer to them by index.

use crate::worker::types::message::Counts;
use crate::worker::upstream::db::Db;
use std::ops::{Index, IndexMut, Range};

#[derive(Default)]
pub struct Databases {
    all: Vec<Db>,
    /// Databases with a shard that serves again.
    pub recovered: Vec<usize>,
}

impl Databases {
    /// Adds a database and returns its index, which may be that of a removed one.
    pub fn add(&mut self, db: Db) -> usize {
        match self.all.iter().position(|db| db.is_free) {
            Some(free) => {
                self.all[free] = db;
                free
            }
            None => {
                self.all.push(db);
                self.all.len() - 1
            }
        }
    }

    pub fn find(&self, uid: u64) -> Option<usize> {
        self.all.iter().position(|db| db.config.uid == uid && !db.is_free)
    }

    pub fn indexes(&self) -> Range<usize> {
        0..self.all.len()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Db> {
        self.all.iter_mut()
    }

    /// Returns the databases that are not free.
    pub fn into_served(self) -> impl Iterator<Item = Db> {
        self.all.into_iter().filter(|db| !db.is_free)
    }

    /// Returns the counters since the last call.
    pub fn take_counts(&mut self) -> Counts {
        let served = self.all.iter_mut().filter(|db| !db.is_free);
        served.map(|db| (db.config.uid, std::mem::take(&mut db.stats))).collect()
    }
}

impl Index<usize> for Databases {
    type Output = Db;

    #[inline]
    fn index(&self, db: usize) -> &Db {
        &self.all[db]
    }
}

impl IndexMut<usize> for Databases {
    #[inline]
    fn index_mut(&mut self, db: usize) -> &mut Db {
        &mut self.all[db]
    }
}
