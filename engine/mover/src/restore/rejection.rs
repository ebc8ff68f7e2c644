//! Classification of error replies of shards to the commands of a restore.

use std::time::Duration;

/// How long commands are repeated that the shard cannot execute now.
pub const MAX_RETRY: Duration = Duration::from_secs(30);
/// The same while the shard has no memory: it may still be freeing that of deleted keys.
pub const MAX_FULL: Duration = Duration::from_secs(10);
pub const RETRY_INTERVAL: Duration = Duration::from_millis(200);
const MAX_REASON: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The shard cannot execute the command now.
    Retry,
    /// It has no memory for it.
    Full,
    /// It executes no such commands.
    Unavailable,
    /// The command itself failed.
    Failed,
}

impl Rejection {
    /// `text`: the error without its type byte.
    pub fn of(text: &str) -> Self {
        match text.split(' ').next().unwrap_or_default() {
            "MOVED" | "ASK" | "CLUSTERDOWN" | "TRYAGAIN" | "LOADING" | "MASTERDOWN" | "READONLY" | "BUSY" => {
                Self::Retry
            }
            "OOM" => Self::Full,
            "NOAUTH" | "NOPERM" | "MISCONF" => Self::Unavailable,
            _ => Self::Failed,
        }
    }
}

/// The error without the arguments that some errors quote.
pub fn reason(text: &str) -> String {
    let text = text.strip_prefix("ERR ").unwrap_or(text);
    text.split(',').next().unwrap_or_default().chars().take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_not_part_of_reasons() {
        let text = "ERR unknown command 'HPEXPIREAT', with args beginning with: 'secret'";
        assert_eq!(reason(text), "unknown command 'HPEXPIREAT'");
    }
}
