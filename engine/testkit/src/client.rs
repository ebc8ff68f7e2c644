//! A test client that sends exactly the given bytes on one connection and returns replies as they
//! were received.

use crate::WAIT_TIMEOUT;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

pub struct Client {
    stream: TcpStream,
    input: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(WAIT_TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: Vec::new() })
    }

    /// Sends words separated by spaces as an array of bulk strings.
    pub fn send(&mut self, line: &str) {
        let args: Vec<_> = line.split(' ').map(str::as_bytes).collect();
        self.send_args(&args);
    }

    pub fn send_args(&mut self, args: &[&[u8]]) {
        let mut request = Vec::new();
        resp::encode::command(&mut request, args.iter().copied());
        self.send_raw(&request);
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Returns `false` if the connection was closed.
    pub fn try_send_raw(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Closes the sending side. Replies can still be read.
    pub fn send_end(&mut self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// Returns `None` if the connection was closed.
    pub fn try_command(&mut self, args: &[&[u8]]) -> Option<String> {
        let mut request = Vec::new();
        resp::encode::command(&mut request, args.iter().copied());
        self.try_send_raw(&request).then(|| self.try_reply()).flatten()
    }

    pub fn reply(&mut self) -> String {
        self.try_reply().expect("a reply")
    }

    /// Returns `None` if the connection was closed.
    pub fn try_reply(&mut self) -> Option<String> {
        loop {
            if let Some(len) = resp::ReplyScanner::default().scan(&self.input).unwrap() {
                let frame: Vec<u8> = self.input.drain(..len).collect();
                return Some(String::from_utf8_lossy(&frame).into_owned());
            }
            let mut bytes = [0; 65536];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(n) => self.input.extend_from_slice(&bytes[..n]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no reply: {error}; so far {:?}", String::from_utf8_lossy(&self.input)),
            }
        }
    }

    /// Sends a command and returns the reply, or `None` if the peer does not return a simple
    /// string.
    pub fn try_simple_command(&mut self, line: &str) -> Option<String> {
        self.send(line);
        let mut bytes = [0; 256];
        let n = self.stream.read(&mut bytes).unwrap_or(0);
        bytes[..n].starts_with(b"+").then(|| String::from_utf8_lossy(&bytes[..n]).into_owned())
    }

    pub fn command(&mut self, line: &str) -> String {
        self.send(line);
        self.reply()
    }

    /// Whether no data arrives within 150 ms.
    pub fn is_quiet(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(150))).unwrap();
        let quiet = self.input.is_empty() && self.stream.peek(&mut [0]).is_err();
        self.stream.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
        quiet
    }
}
