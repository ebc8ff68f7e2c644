//! Decides from INFO whether a shard can continue to send its stream, before it is asked: if it cannot,
//! PSYNC would make it fork.

use crate::changes::{Position, REPLICATION_ID};
use crate::error::{Error, Result};
use resp::decimal;

/// Fields of INFO replication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicationInfo {
    pub replication_id: String,
    /// The id before the last failover, which is valid up to `second_offset`.
    second_id: String,
    second_offset: i64,
    pub offset: u64,
    /// Offsets of the first byte in the backlog, and after the last one. `None`: there is no backlog.
    backlog: Option<(u64, u64)>,
}

impl ReplicationInfo {
    pub fn parse(info: &[u8]) -> Result<Self> {
        let info = String::from_utf8_lossy(info);
        let text = |name: &str| {
            let found = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            found.map(str::trim).ok_or_else(|| missing(name))
        };
        let number = |name: &str| decimal(text(name)?.as_bytes()).ok_or_else(|| missing(name));
        let count = |name: &str| u64::try_from(number(name)?).map_err(|_| missing(name));
        let backlog = if text("repl_backlog_active")? == "1" {
            let first = count("repl_backlog_first_byte_offset")?;
            Some((first, first + count("repl_backlog_histlen")?))
        } else {
            None
        };
        let replication_id = text("master_replid")?.to_owned();
        if replication_id.len() != REPLICATION_ID {
            return Err(missing("master_replid"));
        }
        Ok(Self {
            replication_id,
            second_id: text("master_replid2")?.to_owned(),
            second_offset: number("second_repl_offset")?,
            offset: count("master_repl_offset")?,
            backlog,
        })
    }

    pub fn has_backlog(&self) -> bool {
        self.backlog.is_some()
    }

    /// The present position.
    pub fn position(&self) -> Position {
        Position { replication_id: self.replication_id.clone(), offset: self.offset }
    }

    /// Returns why the shard cannot send what follows this position, as the engine decides it.
    pub fn refusal(&self, position: &Position) -> Option<String> {
        let Position { replication_id, offset } = position;
        let next = offset + 1;
        if *replication_id != self.replication_id {
            if *replication_id != self.second_id {
                return Some("the shard has another history: its replication id has changed".into());
            }
            if i64::try_from(next).is_ok_and(|next| next > self.second_offset) {
                return Some(format!(
                    "changes after offset {} were received from a primary that was replaced, and are not part of its successor",
                    self.second_offset - 1
                ));
            }
        }
        match self.backlog {
            None => Some("the shard has no replication backlog".into()),
            Some((first, _)) if next < first => Some(format!(
                "the replication backlog starts after offset {}, but changes after offset {offset} are needed",
                first - 1
            )),
            Some((_, end)) if next > end => {
                Some(format!("the shard has only changes up to offset {}, before offset {offset}", end - 1))
            }
            Some(_) => None,
        }
    }
}

fn missing(name: &str) -> Error {
    Error::unavailable(format!("INFO of the shard contains no valid {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const NEW: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn info(active: u8) -> ReplicationInfo {
        let text = format!(
            "$1\r\n# Replication\r\nrole:master\r\nmaster_replid:{NEW}\r\nmaster_replid2:{OLD}\r\nmaster_repl_offset:900\r\n\
             second_repl_offset:501\r\nrepl_backlog_active:{active}\r\nrepl_backlog_first_byte_offset:301\r\nrepl_backlog_histlen:600\r\n"
        );
        ReplicationInfo::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn positions_in_the_backlog_of_the_same_history_are_accepted() {
        let refused =
            |id: &str, offset| info(1).refusal(&Position { replication_id: id.into(), offset }).is_some();
        assert_eq!([300, 900].map(|offset| refused(NEW, offset)), [false, false]);
        assert_eq!([299, 901].map(|offset| refused(NEW, offset)), [true, true]);
        assert_eq!([300, 500, 501].map(|offset| refused(OLD, offset)), [false, false, true]);
        assert!(refused(&"c".repeat(40), 400));
        assert!(info(0).refusal(&info(0).position()).is_some());
    }

    #[test]
    fn incomplete_replies_are_errors() {
        for text in ["", "repl_backlog_active:0\r\n", "repl_backlog_active:0\r\nmaster_replid:x\r\n"] {
            assert!(ReplicationInfo::parse(text.as_bytes()).is_err());
        }
    }
}
