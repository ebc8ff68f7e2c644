//! Lists of connections with data to write.

use crate::arena::Id;

/// Returns the emptied list, to keep its memory, with the elements added in the meantime.
pub fn reuse(mut emptied: Vec<Id>, added: Vec<Id>) -> Vec<Id> {
    emptied.clear();
    emptied.extend(added);
    emptied
}
