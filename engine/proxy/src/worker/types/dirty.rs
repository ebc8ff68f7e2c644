//! Connections with data to write.

use crate::arena::Id;

/// A list of connections. A flag of the connection prevents that it is added twice.
#[derive(Debug, Default)]
pub struct DirtyList(Vec<Id>);

impl DirtyList {
    #[inline]
    pub fn add(&mut self, id: Id) {
        self.0.push(id);
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes and returns all connections. Others may be added while these are written.
    pub fn take(&mut self) -> Vec<Id> {
        std::mem::take(&mut self.0)
    }

    /// Keeps the memory of `written`, which `take` has returned.
    pub fn reuse(&mut self, mut written: Vec<Id>) {
        written.clear();
        written.append(&mut self.0);
        self.0 = written;
    }
}
