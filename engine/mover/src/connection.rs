//! A blocking connection to a shard through its Unix socket.

use crate::error::{Error, Result};
use resp::ReplyScanner;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A shard sends nothing for this long only if it hangs. It sends line breaks while it prepares a
/// snapshot.
const TIMEOUT: Duration = Duration::from_secs(120);
const CHUNK: usize = 64 * 1024;

pub struct Connection {
    stream: UnixStream,
    /// Bytes that were received but not used.
    input: Vec<u8>,
}

impl Connection {
    /// Connects and authenticates.
    pub fn open(socket: &Path, user: &str, password: &str) -> Result<Self> {
        let stream = connect(socket).map_err(|error| unavailable(socket, &error))?;
        stream
            .set_read_timeout(Some(TIMEOUT))
            .and_then(|()| stream.set_write_timeout(Some(TIMEOUT)))
            .map_err(|error| {
                Error::unavailable(format!("the connection to the shard cannot be set up: {error}"))
            })?;
        let mut connection = Self { stream, input: Vec::new() };
        if !password.is_empty() {
            connection.command(&[b"AUTH", user.as_bytes(), password.as_bytes()])?;
        }
        Ok(connection)
    }

    /// Sends a command and returns its reply. An error reply is an error.
    pub fn command(&mut self, args: &[&[u8]]) -> Result<Vec<u8>> {
        let mut request = Vec::new();
        resp::encode::command(&mut request, args.iter().copied());
        self.send(&request)?;
        let reply = self.reply()?;
        if let Some(error) = reply.strip_prefix(b"-") {
            let command = String::from_utf8_lossy(args[0]);
            let text = String::from_utf8_lossy(error);
            return Err(Error::unavailable(format!("the shard rejected {command}: {}", text.trim_end())));
        }
        Ok(reply)
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).map_err(lost)
    }

    /// Returns the next reply, as it was received.
    pub fn reply(&mut self) -> Result<Vec<u8>> {
        let mut scanner = ReplyScanner::default();
        loop {
            let scanned = scanner.scan(&self.input);
            let end = scanned.map_err(|error| Error::unavailable(format!("the shard sent {error}")))?;
            if let Some(end) = end {
                return Ok(self.input.drain(..end).collect());
            }
            self.receive()?;
        }
    }

    /// Handles `count` replies with `each`, which receives their number.
    pub fn replies(&mut self, count: usize, mut each: impl FnMut(usize, &[u8])) -> Result<()> {
        let mut number = 0;
        let mut scanner = ReplyScanner::default();
        while number < count {
            let mut at = 0;
            while number < count {
                let scanned = scanner.scan(&self.input[at..]);
                let end = scanned.map_err(|error| Error::unavailable(format!("the shard sent {error}")))?;
                let Some(end) = end else { break };
                each(number, &self.input[at..at + end]);
                number += 1;
                at += end;
            }
            self.input.drain(..at);
            if number < count {
                // The scanner starts again, as its position refers to the removed bytes.
                scanner = ReplyScanner::default();
                self.receive()?;
            }
        }
        Ok(())
    }

    /// Returns the next line without its end. Empty lines are skipped.
    pub fn line(&mut self) -> Result<String> {
        loop {
            while let Some(at) = self.input.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.input.drain(..=at).collect();
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if !line.is_empty() {
                    return Ok(line);
                }
            }
            self.receive()?;
        }
    }

    /// Sets how long `read_available` waits.
    pub fn set_read_timeout(&self, timeout: Duration) -> Result<()> {
        self.stream.set_read_timeout(Some(timeout)).map_err(lost)
    }

    /// Reads what has arrived. `None`: nothing did within the timeout.
    pub fn read_available(&mut self, buffer: &mut [u8]) -> Result<Option<usize>> {
        if !self.input.is_empty() {
            return Ok(Some(self.take_input(buffer)));
        }
        match self.stream.read(buffer) {
            Ok(0) => Err(closed()),
            Ok(count) => Ok(Some(count)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(None),
                _ => Err(lost(error)),
            },
        }
    }

    /// Moves bytes that were received before.
    fn take_input(&mut self, buffer: &mut [u8]) -> usize {
        let some = buffer.len().min(self.input.len());
        buffer[..some].copy_from_slice(&self.input[..some]);
        self.input.drain(..some);
        some
    }

    fn receive(&mut self) -> Result<()> {
        let filled = self.input.len();
        self.input.resize(filled + CHUNK, 0);
        let read = self.stream.read(&mut self.input[filled..]);
        self.input.truncate(filled + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(closed()),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(lost(error)),
        }
    }
}

/// Reads what follows without a protocol.
impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.input.is_empty() {
            return Ok(self.take_input(buffer));
        }
        match self.stream.read(buffer) {
            Ok(0) if !buffer.is_empty() => Err(std::io::Error::other(closed())),
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(std::io::Error::other(lost(error))),
            read => read,
        }
    }
}

/// The path of a socket may be longer than an address: its directory is opened first.
fn connect(socket: &Path) -> std::io::Result<UnixStream> {
    let parent = socket.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = socket.file_name().ok_or(ErrorKind::InvalidInput)?;
    let directory = File::open(parent)?;
    UnixStream::connect(Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name))
}

fn unavailable(socket: &Path, error: &std::io::Error) -> Error {
    Error::unavailable(format!("the shard at {} cannot be reached: {error}", socket.display()))
}

fn closed() -> Error {
    Error::unavailable("the shard closed the connection early")
}

fn lost(error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            Error::unavailable(format!("the shard did not respond for {} seconds", TIMEOUT.as_secs()))
        }
        _ => Error::unavailable(format!("the connection to the shard was lost: {error}")),
    }
}
