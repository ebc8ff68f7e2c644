//! Properties of a command: its class, the positions of its keys, and how it is handled.

use resp::Args;
use std::ops::Range;

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
    /// `Range(first, last, step)`: every `step`-th argument from `first` to `last` is a key. -1 is
    /// the last argument, -2 the one before it.
    Range(usize, isize, usize),
    /// `Counted(at, step)`: argument `at` holds the number of keys. Every `step`-th argument after
    /// it is a key.
    Counted(usize, usize),
    /// The destination, then a counted list.
    DestinationAndCounted,
    /// The first half of the arguments after the word STREAMS.
    Streams,
    /// The first argument, and the one after the option STORE.
    Sort,
    /// The first argument, and the one after the option STORE or STOREDIST.
    Georadius,
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
    /// May name a numbered database other than 0.
    OtherDatabase,
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
    Pubsub,
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
            Handling::Xread => ReadOptions::parse(args).block.is_some(),
            _ => false,
        }
    }

    /// Includes scripts and functions: their class is `Other`, but they may write.
    #[inline]
    pub fn may_write(&self) -> bool {
        self.class == Class::Write
            || self.class == Class::Other && matches!(self.handling, Handling::Forward | Handling::Run)
    }

    /// Whether requests may have more than one key.
    #[inline]
    pub fn may_have_several_keys(&self) -> bool {
        match self.keys {
            Keys::None | Keys::Unknown => false,
            Keys::Range(first, last, _) => last != first as isize,
            _ => true,
        }
    }

    /// Returns the first key, which determines the shard.
    #[inline]
    pub fn first_key<'a>(&self, args: &Args<'a>) -> Option<&'a [u8]> {
        match self.keys {
            Keys::None | Keys::Unknown => None,
            Keys::Range(first, ..) => args.get(first),
            Keys::Counted(at, _) => (count(args.get(at)?) > 0).then(|| args.get(at + 1)).flatten(),
            Keys::DestinationAndCounted | Keys::Sort | Keys::Georadius => args.get(1),
            Keys::Streams => args.get(ReadOptions::parse(args).streams? + 1),
        }
    }

    /// Returns all keys. They are found by their positions, as in the engine: an argument that
    /// equals a keyword is no keyword where a value is expected.
    pub fn keys_of<'a>(&self, args: &Args<'a>) -> Vec<&'a [u8]> {
        let (single, others, step) = self.key_positions(args);
        single.into_iter().chain(others.step_by(step)).filter_map(|at| args.get(at)).collect()
    }

    /// Returns the position of the first key if it is separate, those of the others, and their
    /// distance.
    fn key_positions(&self, args: &Args<'_>) -> (Option<usize>, Range<usize>, usize) {
        let len = args.len();
        let counted = |at: usize, step: usize| {
            let count = args.get(at).map_or(0, count);
            at + 1..count.saturating_mul(step).saturating_add(at + 1).min(len)
        };
        match self.keys {
            Keys::None | Keys::Unknown => (None, 0..0, 1),
            Keys::Range(first, last, step) => {
                let end = if last < 0 { len.saturating_add_signed(last + 1) } else { last as usize + 1 };
                (None, first..end.min(len), step)
            }
            Keys::Counted(at, step) => (None, counted(at, step), step),
            Keys::DestinationAndCounted => (Some(1), counted(2, 1), 1),
            Keys::Streams => {
                let start = ReadOptions::parse(args).streams.map_or(len, |at| at + 1);
                (None, start..start + (len - start) / 2, 1)
            }
            Keys::Sort => (Some(1), sort_destination(args), 1),
            Keys::Georadius => (Some(1), georadius_destination(args), 1),
        }
    }
}

/// Returns the number of keys as the engine reads it to find them, with `atoi`. It refuses numbers
/// like `1x` only on the shard of the first key.
fn count(arg: &[u8]) -> usize {
    let arg = arg.trim_ascii_start();
    let digits = arg.strip_prefix(b"+").unwrap_or(arg);
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let number =
        digits.fold(0i64, |number, digit| number.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    usize::try_from(number as i32).unwrap_or(0)
}

/// Positions of the options of XREAD and XREADGROUP.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    pub streams: Option<usize>,
    /// The timeout.
    pub block: Option<usize>,
}

impl ReadOptions {
    pub fn parse(args: &Args<'_>) -> Self {
        let mut options = Self::default();
        let mut at = 1;
        while let Some(word) = args.get(at) {
            let is = |option: &str| word.eq_ignore_ascii_case(option.as_bytes());
            at += match () {
                () if is("streams") => {
                    options.streams = Some(at);
                    break;
                }
                () if is("block") => {
                    options.block = Some(at + 1);
                    2
                }
                () if is("count") => 2,
                () if is("group") => 3,
                () if is("noack") => 1,
                () => break, // a syntax error
            };
        }
        options
    }
}

fn sort_destination(args: &Args<'_>) -> Range<usize> {
    let mut found = 0..0;
    let mut at = 2;
    while let Some(word) = args.get(at) {
        let is = |option: &str| word.eq_ignore_ascii_case(option.as_bytes());
        at += match () {
            () if is("store") && at + 1 < args.len() => {
                found = at + 1..at + 2;
                1
            }
            () if is("limit") => 3,
            () if is("get") || is("by") => 2,
            () => 1,
        };
    }
    found
}

/// GEORADIUS has one more argument before the options than GEORADIUSBYMEMBER: a unit, which is no
/// option.
fn georadius_destination(args: &Args<'_>) -> Range<usize> {
    let mut found = 0..0;
    let mut at = 5;
    while let Some(word) = args.get(at) {
        if [&b"store"[..], b"storedist"].iter().any(|option| word.eq_ignore_ascii_case(option)) {
            at += 1;
            found = at..at + 1;
        }
        at += 1;
    }
    found
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
        for line in [
            "lpop a",
            "xread streams a 0",
            "xread streams block 0",
            "xreadgroup group block block streams a >",
            "get block",
            "exec",
        ] {
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
            ("xread streams streams 0", "streams"),
            ("xreadgroup group streams w streams a >", "a"),
            ("xreadgroup group g streams count 1 block 5 noack streams a >", "a"),
            ("bitop and d a b", "d"),
            ("object encoding a", "a"),
        ] {
            assert_eq!(first_key(line).as_deref(), Some(key), "{line}");
        }
        for line in ["eval s 0 a", "eval s x a", "memory doctor", "dbsize", "xread count 1", "get"] {
            assert_eq!(first_key(line), None, "{line}");
        }
    }

    #[test]
    fn all_keys_are_found_by_position() {
        for (line, keys) in [
            ("get a", "a"),
            ("mset a 1 b 2", "a b"),
            ("msetnx a 1 b 2", "a b"),
            ("blpop a b 1", "a b"),
            ("bitop and d a b", "d a b"),
            ("pfmerge d a b", "d a b"),
            ("rename a b", "a b"),
            ("lcs a b len", "a b"),
            ("copy a b db 1", "a b"),
            ("eval s 2 a b c", "a b"),
            ("eval s 9 a b", "a b"),
            ("eval s 99999999999999999999 a b", ""),
            ("blmpop 1 2 a b left", "a b"),
            ("zunionstore d 2 a b weights 1 2", "d a b"),
            ("xreadgroup group streams streams streams a b > >", "a b"),
            ("xread streams a", ""),
            ("sort a", "a"),
            ("sort a by store get store limit store 2 store b", "a b"),
            ("sort a store b store c", "a c"),
            ("georadius a 1 1 1 m store b", "a b"),
            ("georadius a 1 1 1 m count 1 storedist b", "a b"),
            ("georadiusbymember a store 1 m store b", "a b"),
            ("geosearchstore a b fromlonlat 1 1 byradius 1 m", "a b"),
            ("dbsize", ""),
        ] {
            let mut parser = RequestParser::default();
            let text = format!("{line}\r\n");
            parser.parse(text.as_bytes(), &Limits::default()).unwrap();
            let args = parser.args(text.as_bytes());
            let found = find(args.get(0).unwrap()).unwrap().keys_of(&args);
            assert_eq!(String::from_utf8(found.join(&b' ')).unwrap(), keys, "{line}");
        }
    }
}
