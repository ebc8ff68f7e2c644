//! Sockets for an epoll loop: non-blocking, close-on-exec, without Nagle's algorithm.

use rustix::net::sockopt::{self, set_socket_keepalive, set_socket_reuseaddr, set_tcp_nodelay};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);
const BACKLOG: i32 = 1024;

fn family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

pub fn listen(address: SocketAddr) -> io::Result<OwnedFd> {
    let fd = net::socket_with(family(address), SocketType::STREAM, FLAGS, None)?;
    set_socket_reuseaddr(&fd, true)?;
    net::bind(&fd, &address)?;
    net::listen(&fd, BACKLOG)?;
    Ok(fd)
}

/// Returns `None` if no connection is waiting.
pub fn accept(listener: &OwnedFd) -> io::Result<Option<(OwnedFd, Option<SocketAddr>)>> {
    match net::acceptfrom_with(listener, FLAGS) {
        Ok((fd, address)) => {
            // If the connection is already closed, the next read reports it.
            let _ = set_tcp_nodelay(&fd, true);
            let _ = set_socket_keepalive(&fd, true);
            let _ = sockopt::set_tcp_keepidle(&fd, Duration::from_secs(300));
            Ok(Some((fd, address.and_then(|address| SocketAddr::try_from(address).ok()))))
        }
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::CONNABORTED | rustix::io::Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Starts to connect. When the socket is writable, [`outcome`] returns the result.
pub fn connect(address: SocketAddr, unix_socket: Option<&str>) -> io::Result<OwnedFd> {
    let (fd, result) = match unix_socket {
        Some(path) => {
            let fd = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
            let result = net::connect(&fd, &SocketAddrUnix::new(path)?);
            (fd, result)
        }
        None => {
            let fd = net::socket_with(family(address), SocketType::STREAM, FLAGS, None)?;
            set_tcp_nodelay(&fd, true)?;
            // A host that has disappeared acknowledges nothing: fail after 10 s instead of the
            // kernel's default of minutes.
            sockopt::set_tcp_user_timeout(&fd, 10_000)?;
            let result = net::connect(&fd, &address);
            (fd, result)
        }
    };
    match result {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(fd),
        Err(error) => Err(error.into()),
    }
}

/// Returns the result of a connection attempt.
pub fn outcome(fd: impl std::os::fd::AsFd) -> io::Result<()> {
    match sockopt::socket_error(fd)? {
        Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
