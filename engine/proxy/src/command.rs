//! Properties of a command: its class, the positions of its keys, and how it is handled.

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

/// Known safety of the replies to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplySafety {
    /// No reply of the engine contains line breaks of the request outside a value.
    Safe,
    /// Runs or loads a script. The engine quotes the first line of the script verbatim, and in some
    /// versions also its errors.
    Script,
    /// Quotes the request, or code in it, verbatim.
    Unsafe,
    /// A command of a module, or of an engine that is newer than the table.
    Unknown,
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

#[cfg(test)]
mod tests {
    use crate::command_index::find;
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
