//! Finds commands of the table by name.

use crate::command::{Class, Command, Handling, Keys, command};
use crate::command_table::COMMANDS;
use crate::reply_safety;

const UNKNOWN_INDEX: u16 = COMMANDS.len() as u16;
pub(crate) const FIRST_LEARNED: u16 = UNKNOWN_INDEX + 1;

pub(crate) static TABLE: [Command; COMMANDS.len()] = numbered();

const fn numbered() -> [Command; COMMANDS.len()] {
    let mut table = COMMANDS;
    let mut n = 0;
    while n < table.len() {
        table[n].index = n as u16;
        table[n].proof = reply_safety::proof(table[n].handling);
        n += 1;
    }
    table
}

/// A command that is neither in the table nor learned. It goes to the home shard, which returns the
/// engine's error.
pub static UNKNOWN: Command =
    Command { index: UNKNOWN_INDEX, ..command("", -1, Class::Other, Keys::None, Handling::Forward) };

/// Hash table of lower-case names, sparse enough that most lookups need one comparison.
struct Index {
    slots: [u16; SIZE],
}

const SIZE: usize = 2048;
const EMPTY: u16 = u16::MAX;

static INDEX: Index = Index::build();

const fn hash(name: &[u8]) -> usize {
    let mut h: u32 = 0x811c_9dc5;
    let mut i = 0;
    while i < name.len() {
        h = (h ^ (name[i] | 0x20) as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    (h ^ (h >> 15)) as usize % SIZE
}

impl Index {
    const fn build() -> Self {
        let commands = numbered();
        let mut slots = [EMPTY; SIZE];
        let mut n = 0;
        while n < commands.len() {
            let mut at = hash(commands[n].name.as_bytes());
            while slots[at] != EMPTY {
                at = (at + 1) % SIZE;
            }
            slots[at] = n as u16;
            n += 1;
        }
        Self { slots }
    }
}

#[inline]
pub fn find(name: &[u8]) -> Option<&'static Command> {
    if name.len() > 32 {
        return None;
    }
    let mut at = hash(name);
    while INDEX.slots[at] != EMPTY {
        let command = &TABLE[usize::from(INDEX.slots[at])];
        if command.name.as_bytes().eq_ignore_ascii_case(name) {
            return Some(command);
        }
        at = (at + 1) % SIZE;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learned::name_of;

    #[test]
    fn every_command_is_found_in_any_case() {
        for command in &TABLE {
            assert_eq!(find(command.name.as_bytes()).unwrap().name, command.name);
            assert_eq!(name_of(command.index), command.name);
            assert_eq!(find(command.name.to_uppercase().as_bytes()).unwrap().name, command.name);
        }
        assert!(find(b"nosuch").is_none());
        assert_eq!(name_of(UNKNOWN.index), "unknown");
    }
}
