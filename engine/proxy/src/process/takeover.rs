//! A new process takes over from the process that listens at the same control path, for a new
//! version or another change that requires a new process. No connection is lost: the listening
//! sockets are passed to the new process (SCM_RIGHTS) with the clients that wait in them. The old
//! process keeps its clients for a limited time.
//!
//! 1. The new process connects to PATH and sends `takeover`.
//! 2. The old process sends each listening socket with a `socket` line, then `handover` with its
//!    state.
//! 3. The new process applies that state, listens at PATH, and sends `drain`.
//! 4. The old process stops accepting, gives its clients time to disconnect, and exits. Agents that
//!    are connected to it receive `draining`, and find the new process at PATH.

use crate::control::{Report, State};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long clients of the old process may stay.
const SECONDS: u64 = 60;

pub(super) struct Predecessor {
    stream: UnixStream,
    pub(super) sockets: BTreeMap<SocketAddr, OwnedFd>,
    pub(super) state: State,
}

/// The messages of the old process that are used here.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum HandoverMessage {
    Socket {
        at: SocketAddr,
    },
    Handover {
        state: State,
    },
    #[serde(other)]
    Other,
}

/// Returns `None` if no process listens there or the handover fails. This process then starts
/// without a state.
pub(super) fn request_takeover(control: &Path) -> Option<Predecessor> {
    let stream = UnixStream::connect(control).ok()?;
    match receive(stream) {
        Ok(predecessor) => Some(predecessor),
        Err(error) => {
            eprintln!("takeover: {error}");
            None
        }
    }
}

fn receive(mut stream: UnixStream) -> io::Result<Predecessor> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(b"{\"type\":\"takeover\"}\n")?;
    let (mut text, mut received) = (Vec::new(), Vec::new());
    let mut expected = Vec::new();
    loop {
        while let Some(end) = text.iter().position(|&b| b == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            match serde_json::from_slice(&line)? {
                HandoverMessage::Socket { at } => expected.push(at),
                HandoverMessage::Handover { state } => {
                    let sockets = expected.into_iter().zip(received).collect();
                    return Ok(Predecessor { stream, sockets, state });
                }
                HandoverMessage::Other => {}
            }
        }
        if receive_some(&stream, &mut text, &mut received)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn receive_some(stream: &UnixStream, text: &mut Vec<u8>, sockets: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut bytes = [0; 16 * 1024];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(stream, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            sockets.extend(rights);
        }
    }
    text.extend_from_slice(&bytes[..got.bytes]);
    Ok(got.bytes)
}

pub(super) fn send_socket(stream: &UnixStream, at: SocketAddr, socket: &OwnedFd) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Report::Socket { at })?;
    line.push(b'\n');
    let fds = [socket.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    let sent = sendmsg(stream, &[IoSlice::new(&line)], &mut ancillary, SendFlags::NOSIGNAL)?;
    // The socket was transferred with the first byte.
    (&*stream).write_all(&line[sent..])
}

impl Predecessor {
    /// Sends `drain`, because the new process serves now.
    pub(super) fn send_drain(mut self) {
        let line = format!("{{\"type\":\"drain\",\"seconds\":{SECONDS}}}\n");
        if let Err(error) = self.stream.write_all(line.as_bytes()) {
            eprintln!("takeover: {error}");
        }
    }
}
