//! Sockets as an epoll loop wants them: non-blocking, closed on exec, without Nagle's delay.

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

/// `None`: nothing is waiting.
pub fn accept(listener: &OwnedFd) -> io::Result<Option<(OwnedFd, Option<SocketAddr>)>> {
    match net::acceptfrom_with(listener, FLAGS) {
        Ok((fd, address)) => {
            // A connection that is gone already shows itself when it is read.
            let _ = set_tcp_nodelay(&fd, true);
            let _ = set_socket_keepalive(&fd, true);
            let _ = sockopt::set_tcp_keepidle(&fd, Duration::from_secs(300));
            Ok(Some((fd, address.and_then(|address| SocketAddr::try_from(address).ok()))))
        }
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::CONNABORTED | rustix::io::Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Begins to connect; writable means that it has been decided.
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
            // A machine that vanished acknowledges nothing: fail after seconds, not after the kernel's minutes.
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

/// What became of a connection that was begun.
pub fn outcome(fd: impl std::os::fd::AsFd) -> io::Result<()> {
    match sockopt::socket_error(fd)? {
        Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
