//! The import mode of shards, in which keys do not expire. Expiry is part of recorded changes: a key that has
//! expired since may be needed by an earlier change.

use super::TargetOptions;
use crate::connection::Connection;
use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub targets: Vec<TargetOptions>,
    pub user: String,
}

/// Starts the import mode of a shard, and connects as a client that sees all keys.
pub fn open(socket: &Path, user: &str, password: &str) -> Result<Connection> {
    let mut connection = Connection::open(socket, user, password)?;
    set(&mut connection, b"yes")?;
    connection.command(&[b"CLIENT", b"IMPORT-SOURCE", b"ON"])?;
    Ok(connection)
}

/// Ends the import mode of all shards. One that cannot be reached does not prevent this for the others.
pub fn end(options: &Options, password: &str) -> Result<Map<String, Value>> {
    let end = |socket: &PathBuf| set(&mut Connection::open(socket, &options.user, password)?, b"no");
    let results: Vec<Result<()>> = options.targets.iter().map(|target| end(&target.socket)).collect();
    results.into_iter().collect::<Result<()>>()?;
    Ok(Map::new())
}

fn set(connection: &mut Connection, value: &[u8]) -> Result<()> {
    let set = connection.command(&[b"CONFIG", b"SET", b"import-mode", value]);
    set.map(drop).map_err(|error| {
        if error.message.contains("import-mode") {
            return Error::general(
                "changes can only be replayed to shards with Valkey 8.1 or a later version",
            );
        }
        error
    })
}
