//! Errors that the proxy returns for requests to shards.

pub const NO_PRIMARY: &[u8] =
    b"-CLUSTERDOWN no primary of the shard can be reached; the command was not executed\r\n";
pub const LOST: &[u8] =
    b"-ERR the connection to the shard was lost; the write may or may not have been executed\r\n";
pub const LOST_READ: &[u8] = b"-ERR the connection to the shard was lost before it answered\r\n";
pub const SILENT: &[u8] =
    b"-ERR the shard did not answer in time; a write may or may not have been executed\r\n";

/// Whether this error means that the request may have been executed, or may be executed later.
pub fn is_in_doubt(frame: &[u8]) -> bool {
    frame == LOST || frame == SILENT
}

pub const UNSETTLED: &[u8] =
    b"-TRYAGAIN the shards do not agree on who owns the slot; nothing was executed\r\n";

pub const TRANSACTION_MOVED: &[u8] =
    b"-TRYAGAIN the keys of this transaction have moved to another shard; nothing was executed\r\n";

pub const CROSSSLOT: &[u8] = b"-CROSSSLOT Keys in request don't hash to the same slot\r\n";
