//! Properties of a command: its class, the positions of its keys, and how it is handled.

use crate::command_table::COMMANDS;
use crate::learned;
use crate::reply_safety::{self, ReplySafety};
use resp::Args;

/// Read and write follow the flags of the engine. Everything else is `Other`, including scripts,
/// which may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Read,
    Write,
    Other,
    /// Waits intentionally, whether it reads or writes, so its duration says nothing about the
    /// shards. No command of the table has this class; requests have it, see [`Command::blocks`].
    Blocking,
}

pub const CLASSES: usize = 4;

impl Class {
    pub const ALL: [Self; CLASSES] = [Self::Read, Self::Write, Self::Other, Self::Blocking];
}

/// Positions of keys among the arguments. The name of the command is argument 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    None,
    /// `Range(first, step)`: starting with argument `first`, every `step`-th argument is a key.
    Range(usize, usize),
    /// The argument at this position holds the number of keys that follow it.
    Counted(usize),
    /// The destination, then a counted list.
    DestinationAndCounted,
    /// The first half of the arguments after the word STREAMS.
    Streams,
    /// Only the engine can find the keys.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    /// Sent to the shard of the first key, or to the home shard if there are no keys.
    Forward,
    Mget,
    Mset,
    Count,
    Block,
    Xread,
    /// A script or a function, whose author determines the reply.
    Run,
    Subscribe,
    Unsubscribe,
    Monitor,
    Multi,
    Exec,
    Discard,
    Watch,
    Unwatch,
    Auth,
    Hello,
    Reset,
    Quit,
    Select,
    Client,
    Ping,
    Echo,
    ReadMode,
    Scan,
    Dbsize,
    Keys,
    Randomkey,
    Flush,
    Script,
    Function,
    Wait,
    Info,
    Cluster,
    Config,
    Acl,
    Refuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// Index of the command in counters: first the commands of the table, then learned ones.
    pub index: u16,
    pub name: &'static str,
    /// Number of arguments including the name, as in the engine: exact if positive, a minimum if
    /// negative.
    pub arity: i32,
    pub class: Class,
    pub keys: Keys,
    pub handling: Handling,
    /// Known safety of its replies.
    pub proof: ReplySafety,
}

pub(crate) const fn command(
    name: &'static str,
    arity: i32,
    class: Class,
    keys: Keys,
    handling: Handling,
) -> Command {
    Command { index: 0, name, arity, class, keys, handling, proof: ReplySafety::Unknown }
}

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

/// Returns the name of the command with this index.
pub fn name_of(index: u16) -> &'static str {
    match TABLE.get(usize::from(index)) {
        Some(command) => command.name,
        None => index.checked_sub(FIRST_LEARNED).and_then(learned::name_of).unwrap_or("unknown"),
    }
}

/// A command that is neither in the table nor learned. It goes to the home shard, which returns the
/// engine's error.
pub static UNKNOWN: Command =
    Command { index: UNKNOWN_INDEX, ..command("", -1, Class::Other, Keys::None, Handling::Forward) };

impl Command {
    pub fn accepts(&self, args: usize) -> bool {
        let required = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { args >= required } else { args == required }
    }

    /// Whether this request waits for an event or a timeout.
    #[inline]
    pub fn blocks(&self, args: &Args<'_>) -> bool {
        match self.handling {
            Handling::Block | Handling::Wait => true,
            Handling::Xread => args.iter().any(|arg| arg.eq_ignore_ascii_case(b"block")),
            _ => false,
        }
    }

    /// Includes scripts and functions: their class is `Other`, but they may write.
    #[inline]
    pub fn may_write(&self) -> bool {
        self.class == Class::Write
            || self.class == Class::Other && matches!(self.handling, Handling::Forward | Handling::Run)
    }

    /// Returns all keys of a command with a counted list, otherwise only the first key.
    pub fn keys_of<'a>(&self, args: &Args<'a>) -> Vec<&'a [u8]> {
        let Keys::Counted(at) = self.keys else { return self.first_key(args).into_iter().collect() };
        let count = args.get(at).and_then(resp::decimal).unwrap_or(0);
        args.iter().skip(at + 1).take(usize::try_from(count).unwrap_or(0)).collect()
    }

    /// Returns the first key, which determines the shard. If the keys belong to different shards,
    /// the engine of that shard returns the CROSSSLOT error.
    #[inline]
    pub fn first_key<'a>(&self, args: &Args<'a>) -> Option<&'a [u8]> {
        match self.keys {
            Keys::None | Keys::Unknown => None,
            Keys::Range(first, _) => args.get(first),
            Keys::Counted(at) => match resp::decimal(args.get(at)?) {
                Some(1..) => args.get(at + 1),
                _ => None,
            },
            Keys::DestinationAndCounted => args.get(1),
            Keys::Streams => {
                let at = args.iter().position(|arg| arg.eq_ignore_ascii_case(b"streams"))?;
                args.get(at + 1)
            }
        }
    }
}

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
    use resp::{Limits, RequestParser};

    fn first_key(line: &str) -> Option<String> {
        let mut parser = RequestParser::default();
        let line = format!("{line}\r\n");
        parser.parse(line.as_bytes(), &Limits::default()).unwrap();
        let args = parser.args(line.as_bytes());
        let key = find(args.get(0).unwrap()).unwrap().first_key(&args)?;
        Some(String::from_utf8(key.to_vec()).unwrap())
    }

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

    #[test]
    fn commands_that_wait_are_blocking() {
        let blocks = |line: &str| {
            let mut parser = RequestParser::default();
            let line = format!("{line}\r\n");
            parser.parse(line.as_bytes(), &Limits::default()).unwrap();
            let args = parser.args(line.as_bytes());
            find(args.get(0).unwrap()).unwrap().blocks(&args)
        };
        for line in
            ["blpop a 1", "XREAD BLOCK 5 STREAMS a $", "xreadgroup group g c block 0 streams a >", "wait 1 5"]
        {
            assert!(blocks(line), "{line}");
        }
        for line in ["lpop a", "xread streams a 0", "get block", "exec"] {
            assert!(!blocks(line), "{line}");
        }
    }

    #[test]
    fn the_first_key_is_found_like_in_the_engine() {
        for (line, key) in [
            ("get a", "a"),
            ("mset a 1 b 2", "a"),
            ("eval s 2 a b c", "a"),
            ("zunionstore d 2 a b weights 1 2", "d"),
            ("zunion 2 a b", "a"),
            ("xread count 1 streams a b 0 0", "a"),
            ("bitop and d a b", "d"),
            ("object encoding a", "a"),
        ] {
            assert_eq!(first_key(line).as_deref(), Some(key), "{line}");
        }
        for line in ["eval s 0 a", "eval s x a", "memory doctor", "dbsize", "xread count 1", "get"] {
            assert_eq!(first_key(line), None, "{line}");
        }
    }
}
