//! A non-blocking connection, plain or TLS, with the same interface for both.

use rustix::net::{RecvFlags, SendFlags};
use rustls::Connection;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// More than one read of the socket can decrypt. While this much of the caller's buffer is free, no
/// decrypted data remains in the session, where epoll does not see it.
const MIN_FREE_BUFFER: usize = 64 * 1024;

#[derive(Debug)]
pub struct Stream {
    fd: OwnedFd,
    tls: Option<Box<Connection>>,
}

struct Raw<'a>(&'a OwnedFd);

impl Read for Raw<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        receive(self.0, buf)
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        send(self.0, buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The socket calls are a tenth cheaper than `read` and `write`, which must first check the type of
/// the descriptor.
#[inline]
fn receive(fd: &OwnedFd, buf: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::net::recv(fd, buf, RecvFlags::empty())?.0)
}

#[inline]
fn send(fd: &OwnedFd, buf: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(fd, buf, SendFlags::NOSIGNAL)?)
}

impl Stream {
    pub fn plain(fd: OwnedFd) -> Self {
        Self { fd, tls: None }
    }

    pub fn tls(fd: OwnedFd, session: impl Into<Connection>) -> Self {
        Self { fd, tls: Some(Box::new(session.into())) }
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns 0 at the end of the stream and `WouldBlock` if no data is available.
    #[inline]
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => receive(&self.fd, buf),
            Some(session) => read_tls(session, &self.fd, buf),
        }
    }

    /// Returns the number of bytes accepted. `finish` writes the data that TLS holds back.
    #[inline]
    pub fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => send(&self.fd, buf),
            Some(session) => {
                let taken = session.writer().write(buf)?;
                write_tls(session, &self.fd)?;
                if taken == 0 && !buf.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(taken) }
            }
        }
    }

    /// Whether the TLS handshake is in progress: data written so far has not been sent yet.
    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|session| session.is_handshaking())
    }

    /// Whether TLS records wait for the socket: handshake messages, alerts, or data that exceeded
    /// the socket buffer.
    pub fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(|session| session.wants_write())
    }

    /// Writes waiting records. Returns `true` when none is left.
    pub fn finish(&mut self) -> io::Result<bool> {
        match &mut self.tls {
            None => Ok(true),
            Some(session) => {
                write_tls(session, &self.fd)?;
                Ok(!session.wants_write())
            }
        }
    }

    pub fn send_close_notify(&mut self) {
        if let Some(session) = &mut self.tls {
            session.send_close_notify();
            // The connection is closed in any case, so an error is of no interest.
            let _ = write_tls(session, &self.fd);
        }
    }

    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }
}

fn read_tls(session: &mut Connection, fd: &OwnedFd, buf: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    loop {
        match session.reader().read(&mut buf[filled..]) {
            Ok(0) => return Ok(filled),
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return if filled > 0 { Ok(filled) } else { Err(error) },
        }
        if filled == buf.len() || filled > 0 && buf.len() - filled < MIN_FREE_BUFFER {
            return Ok(filled);
        }
        match session.read_tls(&mut Raw(fd)) {
            Ok(0) => return Ok(filled),
            Ok(_) => {}
            Err(error) if filled > 0 && error.kind() == io::ErrorKind::WouldBlock => return Ok(filled),
            Err(error) => return Err(error),
        }
        if let Err(error) = session.process_new_packets() {
            // Send the alert that gives the peer the reason.
            let _ = write_tls(session, fd);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        if session.wants_write() {
            write_tls(session, fd)?;
        }
    }
}

fn write_tls(session: &mut Connection, fd: &OwnedFd) -> io::Result<()> {
    while session.wants_write() {
        match session.write_tls(&mut Raw(fd)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
