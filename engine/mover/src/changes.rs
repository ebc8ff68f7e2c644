//! Files of recorded changes: the replication stream of a shard, compressed with zstd.
//!
//! ```text
//! #CHANGES:1 <replication id> <offset at which the stream starts>\r\n
//! #TS:<Unix time in ms>\r\n
//! <commands that were received then, as in the stream> ...
//! #END:<offset after the last command>\r\n
//! ```
//!
//! Only commands count for offsets. Lines are never between MULTI and EXEC.

mod reader;
mod writer;

pub use reader::{Change, HistoryEnds, Reader};
pub use writer::{FileWriter, Finished};

use crate::error::Result;
use crate::lines::{Counted, Progress};
use resp::Limits;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io::Read;
use std::sync::atomic::Ordering;

const START: &str = "#CHANGES:1 ";
const MARK: &str = "#TS:";
const END: &str = "#END:";
pub const REPLICATION_ID: usize = 40;

/// A position in the history of a shard: its replication id, and the number of bytes before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub replication_id: String,
    pub offset: u64,
}

/// The engine limits arguments when clients send them, so a stream contains no larger ones.
pub const LIMITS: Limits = Limits { bulk: 1 << 31, args: 1 << 30, request: u32::MAX as usize };

/// Reads one file completely, and returns its position, with which the caller compares its name.
pub fn check(input: impl Read, progress: &Progress) -> Result<Map<String, Value>> {
    let (start, end) = reader::check(Counted::new(input, &progress.bytes))?;
    let bytes = progress.bytes.load(Ordering::Relaxed);
    Ok(Map::from_iter([
        ("replication_id".into(), start.replication_id.into()),
        ("start".into(), start.offset.into()),
        ("end".into(), end.into()),
        ("bytes".into(), bytes.into()),
    ]))
}
