//! The connection through which a shard sends its stream, as to a replica.

use super::position::ReplicationInfo;
use crate::changes::Position;
use crate::connection::Connection;
use crate::error::{Error, Result};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a shard may take to create its backlog.
const BACKLOG_TIMEOUT: Duration = Duration::from_secs(10);

/// The answer to the attempt to follow a shard.
pub enum Answer {
    /// The stream continues after this position. The id is that of the shard now, and `end` its offset.
    Continues { connection: Connection, position: Position, end: u64 },
    /// The shard cannot send what follows the position.
    Lost(String),
}

/// How to reach the shard.
pub struct Access<'a> {
    pub socket: &'a Path,
    pub user: &'a str,
    pub password: &'a str,
}

impl Access<'_> {
    /// Follows the stream after this position; `None`: after the present one.
    pub fn follow(&self, position: Option<&Position>) -> Result<Answer> {
        let mut connection = self.open()?;
        let mut info = replication_info(&mut connection)?;
        if position.is_none() && !info.has_backlog() {
            self.create_backlog()?;
            info = replication_info(&mut connection)?;
        }
        let position = position.cloned().unwrap_or_else(|| info.position());
        if let Some(refusal) = info.refusal(&position) {
            return Ok(Answer::Lost(refusal));
        }
        connection.command(&[b"REPLCONF", b"capa", b"psync2"])?;
        let next = (position.offset + 1).to_string();
        psync(&mut connection, &position.replication_id, &next)?;
        let line = connection.line()?;
        if let Some(id) = line.strip_prefix("+CONTINUE") {
            let id = Some(id.trim()).filter(|id| !id.is_empty()).unwrap_or(&position.replication_id);
            let position = Position { replication_id: id.to_owned(), offset: position.offset };
            return Ok(Answer::Continues { connection, position, end: info.offset });
        }
        if line.starts_with("+FULLRESYNC") {
            return Ok(Answer::Lost("the shard can only send its complete data".into()));
        }
        Err(Error::unavailable(match line.strip_prefix('-') {
            Some(error) if error.starts_with("NOMASTERLINK") => {
                "the replica is not connected to its primary".to_owned()
            }
            Some(error) => format!("the shard rejected PSYNC: {error}"),
            None => format!("the shard sent an invalid reply to PSYNC: {line}"),
        }))
    }

    fn open(&self) -> Result<Connection> {
        Connection::open(self.socket, self.user, self.password)
    }

    /// A primary has no backlog before a replica asks for its data, and keeps it afterwards. So this asks
    /// for an empty copy, and does not wait for it.
    fn create_backlog(&self) -> Result<()> {
        let mut replica = self.open()?;
        replica.command(&[b"REPLCONF", b"capa", b"eof", b"rdb-filter-only", b""])?;
        psync(&mut replica, "?", "-1")?;
        let mut observer = self.open()?;
        let deadline = Instant::now() + BACKLOG_TIMEOUT;
        while !replication_info(&mut observer)?.has_backlog() {
            if Instant::now() > deadline {
                return Err(Error::unavailable("the shard does not create a replication backlog"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn psync(connection: &mut Connection, id: &str, next: &str) -> Result<()> {
    let mut request = Vec::new();
    resp::encode::command(&mut request, [&b"PSYNC"[..], id.as_bytes(), next.as_bytes()].into_iter());
    connection.send(&request)
}

fn replication_info(connection: &mut Connection) -> Result<ReplicationInfo> {
    ReplicationInfo::parse(&connection.command(&[b"INFO", b"replication"])?)
}
