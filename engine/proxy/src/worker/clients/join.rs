//! Merges several replies into one. Pure functions on complete frames.

use crate::command::Class;
use crate::worker::clients::info::{self, EndpointInfo};
use crate::worker::types::errors::is_in_doubt;
use resp::{encode, integer, items, text};

#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// For each key of the request, the index of the part that has it.
    Mget(Vec<u32>),
    /// All shards execute the same command: the first error, or the first reply.
    Same,
    Sum,
    Concatenate,
    /// The smallest number.
    Minimum,
    /// The smallest number at each position: scripts that exist on all shards.
    MinimumEach,
    /// Names with numbers: the sum of each number.
    SumEachSecond,
    /// The first reply that is not null.
    First,
    /// A successful reply, or the error of the first shard.
    Any,
    Info(EndpointInfo),
}

const ELSEWHERE: &[u8] = b"; on other shards it may have been executed\r\n";
/// Reply of a demoted primary to WAIT: no write is confirmed.
const DEMOTED: &[u8] = b"-ERR WAIT cannot be used with replica";

#[derive(Debug)]
pub struct Join {
    pub kind: Kind,
    pub missing: usize,
    pub parts: Vec<Vec<u8>>,
}

impl Join {
    pub fn new(kind: Kind, parts: usize) -> Box<Self> {
        Box::new(Self { kind, missing: parts, parts: vec![Vec::new(); parts] })
    }

    /// Adds a part. Returns `true` when no part is missing.
    pub fn add(&mut self, part: u32, frame: &[u8]) -> bool {
        let Some(missing) = self.parts.get_mut(part as usize) else { return false };
        *missing = frame.to_vec();
        self.missing -= 1;
        self.missing == 0
    }

    /// Returns the bytes of the replies so far.
    pub fn held(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }

    /// Whether another shard may have executed its part of a failed request.
    fn is_partly_executed(&self) -> bool {
        matches!(self.kind, Kind::Same | Kind::Sum)
            && self.parts.iter().any(|part| part.first() != Some(&b'-') || is_in_doubt(part))
    }

    /// Returns the reply for the client. `class` is the class of its request.
    pub fn finish(&self, class: Class) -> Vec<u8> {
        if self.kind == Kind::Any {
            let did = self.parts.iter().find(|part| part.first() != Some(&b'-'));
            return did.unwrap_or(&self.parts[0]).clone();
        }
        let is_least = self.kind == Kind::Minimum;
        let mut errors = self.parts.iter().filter(|part| part.first() == Some(&b'-'));
        if let Some(error) = errors.find(|part| !(is_least && part.starts_with(DEMOTED))) {
            // If nothing can have changed, the error is sufficient.
            let is_doubtful = class != Class::Read && self.is_partly_executed();
            return if is_doubtful { partly(error) } else { error.clone() };
        }
        match &self.kind {
            Kind::Mget(order) => mget(order, &self.parts),
            Kind::Same | Kind::Any => self.parts[0].clone(),
            Kind::Sum => number(self.parts.iter().filter_map(|part| integer(part)).sum()),
            Kind::Minimum => {
                number(self.parts.iter().map(|part| integer(part).unwrap_or(0)).min().unwrap_or(0))
            }
            Kind::Concatenate => concatenate(&self.parts),
            Kind::MinimumEach => least_each(&self.parts),
            Kind::SumEachSecond => sum_each_second(&self.parts),
            Kind::First => first(&self.parts),
            Kind::Info(endpoint) => info::merge(&self.parts, endpoint),
        }
    }
}

/// Returns the error of one shard, with the addition that other shards may have executed their
/// parts.
fn partly(error: &[u8]) -> Vec<u8> {
    let mut out = error.trim_ascii_end().to_vec();
    out.extend_from_slice(ELSEWHERE);
    out
}

fn number(value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    encode::integer(&mut out, value);
    out
}

fn mget(order: &[u32], parts: &[Vec<u8>]) -> Vec<u8> {
    let mut values: Vec<_> = parts.iter().map(|part| items(part).unwrap_or_default().into_iter()).collect();
    let mut out = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    encode::array(&mut out, order.len());
    for &part in order {
        out.extend_from_slice(values[part as usize].next().unwrap_or(b"$-1\r\n"));
    }
    out
}

/// Concatenates the items. The type of the first part (array or set) is kept.
fn concatenate(parts: &[Vec<u8>]) -> Vec<u8> {
    let all: Vec<_> = parts.iter().flat_map(|part| items(part).unwrap_or_default()).collect();
    let mut out = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    encode::array(&mut out, all.len());
    out[0] = parts[0][0];
    for item in all {
        out.extend_from_slice(item);
    }
    out
}

fn least_each(parts: &[Vec<u8>]) -> Vec<u8> {
    let rows: Vec<Vec<i64>> = parts
        .iter()
        .map(|part| items(part).unwrap_or_default().iter().filter_map(|item| integer(item)).collect())
        .collect();
    let mut out = Vec::new();
    encode::array(&mut out, rows[0].len());
    for column in 0..rows[0].len() {
        encode::integer(&mut out, rows.iter().filter_map(|row| row.get(column)).min().copied().unwrap_or(0));
    }
    out
}

fn sum_each_second(parts: &[Vec<u8>]) -> Vec<u8> {
    let rows: Vec<_> = parts.iter().map(|part| items(part).unwrap_or_default()).collect();
    let mut out = Vec::new();
    encode::array(&mut out, rows[0].len());
    for (at, item) in rows[0].iter().enumerate() {
        if at % 2 == 0 {
            out.extend_from_slice(item);
        } else {
            encode::integer(&mut out, rows.iter().filter_map(|row| integer(row.get(at)?)).sum());
        }
    }
    out
}

fn first(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.iter().find(|part| text(part).is_some()).unwrap_or(&parts[0]).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(kind: Kind, parts: &[&str]) -> String {
        joined_for(Class::Write, kind, parts)
    }

    fn joined_for(class: Class, kind: Kind, parts: &[&str]) -> String {
        let mut join = Join::new(kind, parts.len());
        for (n, part) in parts.iter().enumerate() {
            assert_eq!(join.add(n as u32, part.as_bytes()), n + 1 == parts.len());
        }
        String::from_utf8(join.finish(class)).unwrap()
    }

    #[test]
    fn values_are_returned_in_the_order_of_the_keys() {
        let parts = ["*2\r\n$1\r\na\r\n$-1\r\n", "*1\r\n$1\r\nb\r\n"];
        assert_eq!(joined(Kind::Mget(vec![0, 1, 0]), &parts), "*3\r\n$1\r\na\r\n$1\r\nb\r\n$-1\r\n");
    }

    #[test]
    fn numbers_are_combined_and_the_first_error_is_returned() {
        assert_eq!(joined(Kind::Sum, &[":1\r\n", ":2\r\n"]), ":3\r\n");
        assert_eq!(joined(Kind::Minimum, &[":1\r\n", ":0\r\n"]), ":0\r\n");
        assert_eq!(joined(Kind::Sum, &["-ERR no\r\n", "-ERR not\r\n"]), "-ERR no\r\n");
        assert_eq!(
            joined(Kind::Minimum, &[":1\r\n", "-ERR WAIT cannot be used with replicas\r\n"]),
            ":0\r\n"
        );
        assert_eq!(
            joined(Kind::MinimumEach, &["*2\r\n:1\r\n:1\r\n", "*2\r\n:0\r\n:1\r\n"]),
            "*2\r\n:0\r\n:1\r\n"
        );
        assert_eq!(
            joined(Kind::SumEachSecond, &["*2\r\n$1\r\na\r\n:0\r\n", "*2\r\n$1\r\na\r\n:2\r\n"]),
            "*2\r\n$1\r\na\r\n:2\r\n"
        );
        assert_eq!(joined(Kind::Concatenate, &["*1\r\n$1\r\na\r\n", "*0\r\n"]), "*1\r\n$1\r\na\r\n");
        assert_eq!(joined(Kind::Any, &["-NOTBUSY\r\n", "+OK\r\n"]), "+OK\r\n");
        assert_eq!(joined(Kind::Any, &["-NOTBUSY\r\n", "-BUSY\r\n"]), "-NOTBUSY\r\n");
        assert_eq!(joined(Kind::First, &["$-1\r\n", "$1\r\nk\r\n"]), "$1\r\nk\r\n");
    }

    #[test]
    fn an_error_of_one_shard_mentions_that_others_may_have_executed_the_request() {
        let elsewhere = String::from_utf8_lossy(ELSEWHERE);
        assert_eq!(joined(Kind::Same, &["+OK\r\n", "-OOM full\r\n"]), format!("-OOM full{elsewhere}"));
        let lost =
            "-ERR the connection to the shard was lost; the write may or may not have been executed\r\n";
        assert_eq!(joined(Kind::Sum, &["-OOM full\r\n", lost]), format!("-OOM full{elsewhere}"));
        assert_eq!(joined(Kind::Mget(vec![0, 1]), &["*1\r\n$-1\r\n", "-OOM full\r\n"]), "-OOM full\r\n");
        assert_eq!(joined_for(Class::Read, Kind::Sum, &[":1\r\n", "-OOM full\r\n"]), "-OOM full\r\n");
    }
}
