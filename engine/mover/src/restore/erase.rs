//! Deletes keys of some slots, because recorded changes refer to data that contains nothing else.

use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::glob;
use crate::slots::SlotSet;
use resp::{items, text};

const SCAN_COUNT: &[u8] = b"1000";

/// Which keys to delete.
#[derive(Debug, Clone)]
pub struct Erasure {
    pub slots: SlotSet,
    /// Empty: all keys of the slots.
    pub patterns: Vec<String>,
}

impl Erasure {
    pub fn run(&self, connection: &mut Connection) -> Result<()> {
        let mut cursor = b"0".to_vec();
        loop {
            let reply = connection.command(&[b"SCAN", &cursor, b"COUNT", SCAN_COUNT])?;
            let parts = items(&reply).filter(|parts| parts.len() == 2).ok_or_else(invalid)?;
            cursor = text(parts[0]).ok_or_else(invalid)?.to_vec();
            let mut request = Vec::new();
            let mut count = 0;
            for key in items(parts[1]).ok_or_else(invalid)?.into_iter().filter_map(text) {
                if self.contains(key) {
                    resp::encode::command(&mut request, [b"UNLINK", key].into_iter());
                    count += 1;
                }
            }
            connection.send(&request)?;
            let mut error = None;
            connection.replies(count, |_, reply| {
                if let Some(text) = reply.strip_prefix(b"-") {
                    error = Some(String::from_utf8_lossy(text).trim_end().to_owned());
                }
            })?;
            if let Some(error) = error {
                return Err(Error::unavailable(format!("the shard rejected UNLINK: {error}")));
            }
            if cursor == b"0" {
                return Ok(());
            }
        }
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.slots.contains(resp::slot::of_key(key))
            && (self.patterns.is_empty()
                || self.patterns.iter().any(|pattern| glob::matches(pattern.as_bytes(), key)))
    }
}

fn invalid() -> Error {
    Error::unavailable("the shard sent an invalid reply to SCAN")
}
