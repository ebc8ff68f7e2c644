//! Command templates -> bytes of one request. The parts that are the same in every request are
//! encoded once.

use crate::options::Options;
use resp::encode;

/// The next request of a client. Small, and sufficient to write the request again after a
/// redirection.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    pub template: u8,
    /// Number of times that it was redirected to another server.
    pub redirections: u8,
    /// Number of times that it was sent again after a failure.
    pub retries: u16,
    /// Whether `ASKING` precedes it.
    pub asking: bool,
    pub key: u64,
    pub size: u32,
    pub number: u32,
    /// Time at which it was due, in nanoseconds of the run's clock; 0 without a schedule.
    pub intended: u64,
    /// Time at which it was first written; 0 before that.
    pub sent: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Bytes(Vec<u8>),
    Key,
    Data,
    Number,
    Size,
    /// One argument that consists of several parts.
    Mixed(Vec<Part>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
    Other,
}

/// A command with placeholders for a key, data and numbers.
#[derive(Debug, Clone)]
pub struct Template {
    /// The header and fixed arguments, and the variable arguments between them.
    parts: Vec<Part>,
    pub meaning: AccessKind,
    pub has_data: bool,
}

pub enum Argument<'a> {
    Text(&'a str),
    Key,
    Data,
    Number,
    Size,
    /// Contains placeholders.
    Mixed(&'a str),
}

/// Commands whose reply shows whether the key exists.
const READS: &[&str] = &[
    "GET",
    "GETRANGE",
    "GETEX",
    "GETDEL",
    "HGET",
    "HMGET",
    "HGETALL",
    "MGET",
    "LRANGE",
    "LINDEX",
    "SMEMBERS",
    "SRANDMEMBER",
    "ZRANGE",
    "ZSCORE",
    "XRANGE",
];
const OTHERS: &[&str] = &["PING", "ECHO", "WAIT", "TTL", "PTTL", "TYPE", "EXISTS", "STRLEN", "INFO", "TIME"];

impl AccessKind {
    pub fn of(command: &str) -> Self {
        let is = |known: &&str| known.eq_ignore_ascii_case(command);
        match () {
            () if READS.iter().any(is) => Self::Read,
            () if OTHERS.iter().any(is) => Self::Other,
            () => Self::Write,
        }
    }
}

/// Splits the text at placeholders.
fn pieces(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let key = rest.find("__key__").map(|at| (at, Part::Key));
        let data = rest.find("__data__").map(|at| (at, Part::Data));
        let first = [key, data].into_iter().flatten().min_by_key(|(at, _)| *at);
        let Some((at, part)) = first else {
            parts.push(Part::Bytes(rest.into()));
            break;
        };
        if at > 0 {
            parts.push(Part::Bytes(rest[..at].into()));
        }
        rest = &rest[at + if part == Part::Key { 7 } else { 8 }..];
        parts.push(part);
    }
    parts
}

impl Template {
    pub fn new(meaning: AccessKind, arguments: &[Argument]) -> Self {
        let mut parts = Vec::new();
        let mut bytes = Vec::new();
        encode::array(&mut bytes, arguments.len());
        for argument in arguments {
            let part = match argument {
                Argument::Text(text) => {
                    encode::bulk(&mut bytes, text.as_bytes());
                    continue;
                }
                Argument::Key => Part::Key,
                Argument::Data => Part::Data,
                Argument::Number => Part::Number,
                Argument::Size => Part::Size,
                Argument::Mixed(text) => Part::Mixed(pieces(text)),
            };
            parts.extend([Part::Bytes(std::mem::take(&mut bytes)), part]);
        }
        parts.push(Part::Bytes(bytes));
        parts.retain(|part| *part != Part::Bytes(Vec::new()));
        let has_data = parts.iter().any(|part| match part {
            Part::Mixed(pieces) => pieces.contains(&Part::Data),
            part => *part == Part::Data,
        });
        Self { meaning, has_data, parts }
    }

    pub fn set(options: &Options) -> Self {
        use Argument::{Data, Key, Number, Text};
        match (options.data_offset, options.expiry) {
            (Some(offset), _) => {
                Self::new(AccessKind::Write, &[Text("SETRANGE"), Key, Text(&offset.to_string()), Data])
            }
            (_, Some(_)) => Self::new(AccessKind::Write, &[Text("SETEX"), Key, Number, Data]),
            _ => Self::new(AccessKind::Write, &[Text("SET"), Key, Data]),
        }
    }

    pub fn wait() -> Self {
        Self::new(AccessKind::Other, &[Argument::Text("WAIT"), Argument::Number, Argument::Size])
    }

    /// Creates a custom command. `__key__` and `__data__` are replaced in each request.
    pub fn command(arguments: &[String]) -> Self {
        let parts: Vec<Argument> = arguments
            .iter()
            .map(|text| match text.as_str() {
                "__key__" => Argument::Key,
                "__data__" => Argument::Data,
                text if text.contains("__key__") || text.contains("__data__") => Argument::Mixed(text),
                text => Argument::Text(text),
            })
            .collect();
        Self::new(AccessKind::of(&arguments[0]), &parts)
    }

    pub fn get(options: &Options) -> Self {
        use Argument::{Key, Number, Text};
        match options.data_offset {
            Some(offset) => {
                Self::new(AccessKind::Read, &[Text("GETRANGE"), Key, Text(&offset.to_string()), Number])
            }
            None => Self::new(AccessKind::Read, &[Text("GET"), Key]),
        }
    }
}

/// Encodes requests. `key` holds the name of the last key that was requested.
#[derive(Debug)]
pub struct Writer {
    templates: Vec<Template>,
    prefix: usize,
    key: Vec<u8>,
}

impl Writer {
    pub fn new(templates: Vec<Template>, prefix: &str) -> Self {
        Self { templates, prefix: prefix.len(), key: prefix.as_bytes().to_vec() }
    }

    #[inline]
    pub fn key(&mut self, key: u64) -> &[u8] {
        self.key.truncate(self.prefix);
        encode::decimal(&mut self.key, key);
        &self.key
    }

    #[inline]
    pub fn write(&mut self, operation: &Operation, data: &[u8], out: &mut Vec<u8>) {
        if operation.asking {
            out.extend_from_slice(b"*1\r\n$6\r\nASKING\r\n");
        }
        for number in 0..self.templates[usize::from(operation.template)].parts.len() {
            match &self.templates[usize::from(operation.template)].parts[number] {
                Part::Bytes(bytes) => out.extend_from_slice(bytes),
                Part::Key => encode::bulk(out, self.key(operation.key)),
                Part::Data => encode::bulk(out, data),
                Part::Number => decimal(out, operation.number),
                Part::Size => decimal(out, operation.size),
                Part::Mixed(pieces) => {
                    let mut text = Vec::new();
                    for piece in pieces.clone() {
                        match piece {
                            Part::Bytes(bytes) => text.extend_from_slice(&bytes),
                            Part::Key => text.extend_from_slice(self.key(operation.key)),
                            _ => text.extend_from_slice(data),
                        }
                    }
                    encode::bulk(out, &text);
                }
            }
        }
    }

    #[inline]
    pub fn template(&self, number: u8) -> &Template {
        &self.templates[usize::from(number)]
    }
}

fn decimal(out: &mut Vec<u8>, value: u32) {
    let mut digits = Vec::with_capacity(10);
    encode::decimal(&mut digits, u64::from(value));
    encode::bulk(out, &digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATION: Operation = Operation {
        template: 0,
        redirections: 0,
        retries: 0,
        asking: false,
        key: 42,
        size: 3,
        number: 7,
        intended: 0,
        sent: 0,
    };

    fn written(template: Template, operation: Operation) -> String {
        let mut out = Vec::new();
        Writer::new(vec![template], "k-").write(&operation, b"xxx", &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request_is_an_array_of_bulk_strings() {
        let options = Options::default();
        assert_eq!(
            written(Template::set(&options), OPERATION),
            "*3\r\n$3\r\nSET\r\n$4\r\nk-42\r\n$3\r\nxxx\r\n"
        );
        assert_eq!(written(Template::get(&options), OPERATION), "*2\r\n$3\r\nGET\r\n$4\r\nk-42\r\n");
        let expiring = Options { expiry: Some((1, 9)), ..Options::default() };
        assert_eq!(
            written(Template::set(&expiring), OPERATION),
            "*4\r\n$5\r\nSETEX\r\n$4\r\nk-42\r\n$1\r\n7\r\n$3\r\nxxx\r\n"
        );
        let mixed = ["hset", "__key__", "f:__key__:x", "__data__"].map(String::from);
        assert_eq!(
            written(Template::command(&mixed), OPERATION),
            "*4\r\n$4\r\nhset\r\n$4\r\nk-42\r\n$8\r\nf:k-42:x\r\n$3\r\nxxx\r\n"
        );
        assert!(written(Template::wait(), OPERATION).ends_with("$1\r\n7\r\n$1\r\n3\r\n"));
        let asking = Operation { asking: true, ..OPERATION };
        assert!(written(Template::get(&options), asking).starts_with("*1\r\n$6\r\nASKING\r\n*2\r\n"));
    }
}
