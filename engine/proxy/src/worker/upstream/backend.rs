//! A connection to a shard. It carries the requests of many clients; replies arrive in the order of
//! the requests. The bytes of a request are kept until it is answered, so that it can be sent again
//! to the same or another shard.

use crate::arena::Id;
use crate::poll::Interest;
use crate::reply_safety::Risk;
use crate::stream::Stream;
use crate::topology::TargetNumber;
use crate::worker::types::request::{Bond, LongReply, Pending, Purpose, UnverifiedScriptError};
use resp::ReplyScanner;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io;

/// Unsent bytes above which clients must wait.
pub const CONGESTED: usize = 4 << 20;

#[derive(Debug)]
pub struct Backend {
    pub stream: Stream,
    pub db: usize,
    pub target: TargetNumber,
    pub identity: usize,
    /// Index among the shared connections to the target.
    pub lane: usize,
    /// The only client of this connection, if it is dedicated.
    pub owner: Option<Id>,
    pub connected: bool,
    /// Whether it holds watched keys or queued commands of its owner.
    pub is_bound: bool,
    /// Between MULTI and the reply to EXEC.
    pub in_transaction: bool,
    /// Whether all its data belongs to the owner: a subscription or MONITOR.
    pub is_relayed: bool,
    /// Whether its login is outdated. Pending requests are still answered.
    pub is_outdated: bool,
    /// Whether it has sent data that is not the reply to a request.
    pub is_desynchronized: bool,
    /// Whether the engine removes line breaks from errors of scripts.
    pub has_safe_scripts: bool,
    /// Whether its user may not execute ECHO, so that fences use HELLO instead.
    pub fences_with_hello: bool,
    /// Whether it has no owner and is available to the next client that needs a dedicated
    /// connection.
    pub is_pooled: bool,
    pub interest: Interest,
    pub dirty: bool,
    pub inflight: VecDeque<Pending>,
    /// Script errors that only a shard may return, one for each pending probe.
    pub unverified: VecDeque<UnverifiedScriptError>,
    out: Vec<u8>,
    answered: usize,
    sent: usize,
    pub input: Vec<u8>,
    pub scanner: ReplyScanner,
    /// A long reply that its client has received in part.
    pub long_reply: Option<LongReply>,
    /// Whether reading is suspended because that client has enough unread data.
    pub is_suspended: bool,
    /// Clients that wait until the connection is no longer congested.
    pub waiting: Vec<Id>,
    pub used_at: u64,
    /// Time since which it has owed a reply without sending data, as observed by the ticks.
    pub silent_since: Option<u64>,
    /// Time since which it is obsolete because its shard is no longer a primary.
    pub demoted_at: Option<u64>,
}

const _: () = assert!(size_of::<Backend>() == 304);

/// State of the data at a position where the reply to a fence is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// The reply is complete and has this many bytes.
    Passed(usize),
    Incomplete,
    /// The user may not execute the request. The data before it is not verified.
    Forbidden,
    Broken,
}

impl Backend {
    pub fn new(stream: Stream, db: usize, target: TargetNumber, identity: usize, owner: Option<Id>) -> Self {
        Self {
            stream,
            db,
            target,
            identity,
            lane: 0,
            owner,
            connected: false,
            is_bound: false,
            in_transaction: false,
            is_relayed: false,
            is_outdated: false,
            is_desynchronized: false,
            has_safe_scripts: false,
            fences_with_hello: false,
            is_pooled: false,
            interest: Interest::WRITE,
            dirty: false,
            inflight: VecDeque::new(),
            unverified: VecDeque::new(),
            out: Vec::new(),
            answered: 0,
            sent: 0,
            input: Vec::new(),
            scanner: ReplyScanner::default(),
            long_reply: None,
            is_suspended: false,
            waiting: Vec::new(),
            used_at: 0,
            silent_since: None,
            demoted_at: None,
        }
    }

    #[inline]
    pub fn enqueue(&mut self, bytes: &[u8], mut pending: Pending) {
        pending.len = bytes.len() as u32;
        self.is_bound |= pending.bond == Bond::Starts;
        self.out.extend_from_slice(bytes);
        self.inflight.push_back(pending);
        if pending.risk != Risk::None && self.owner.is_none() && self.is_risky(pending.risk) {
            self.enqueue_fence();
        }
    }

    /// Whether the shard may send more than one reply to a request of this risk.
    pub fn is_risky(&self, risk: Risk) -> bool {
        risk > Risk::Script || risk == Risk::Script && !self.has_safe_scripts
    }

    /// Appends a fence: any bytes other than its reply close the connection. Earlier requests
    /// cannot contain the text, because it is random and the shard receives it after them.
    #[cold]
    fn enqueue_fence(&mut self) {
        let text = format!("{:016x}", RandomState::new().hash_one(self.sent));
        let request = match self.fences_with_hello {
            false => format!("*2\r\n$4\r\nECHO\r\n$16\r\n{text}\r\n"),
            // Needs no permission: the engine quotes the invalid option and changes nothing.
            true => format!("*3\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$16\r\n{text}\r\n"),
        };
        self.enqueue(request.as_bytes(), Pending::internal(Purpose::Fence));
    }

    /// Compares the start of `bytes` with the reply to the oldest request, which is a fence.
    pub fn check_fence(&self, bytes: &[u8]) -> Fence {
        let Some(pending) = self.inflight.front() else { return Fence::Broken };
        let request = self.request(pending);
        let text = &request[request.len() - 18..request.len() - 2];
        let expected = match request.starts_with(b"*2") {
            true => [b"$16\r\n", text, b"\r\n"].concat(),
            false => [b"-ERR Syntax error in HELLO option '", text, b"'\r\n"].concat(),
        };
        let len = bytes.len().min(expected.len());
        match bytes[..len] == expected[..len] {
            true if len == expected.len() => Fence::Passed(len),
            true => Fence::Incomplete,
            false if bytes.starts_with(b"-NOPERM ") => Fence::Forbidden,
            false => Fence::Broken,
        }
    }

    /// Appends bytes whose reply does not belong to a single request.
    pub fn enqueue_raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub fn unsent(&self) -> usize {
        self.out.len() - self.sent
    }

    pub fn is_congested(&self) -> bool {
        self.unsent() > CONGESTED
    }

    /// Removes the oldest request because its reply has arrived. `request` still returns its bytes.
    #[inline]
    pub fn answered(&mut self) -> Option<Pending> {
        self.inflight.pop_front()
    }

    #[inline]
    pub fn request(&self, pending: &Pending) -> &[u8] {
        &self.out[self.answered..self.answered + pending.len as usize]
    }

    #[inline]
    pub fn remove_request(&mut self, pending: &Pending) {
        self.answered += pending.len as usize;
        if self.answered == self.out.len() {
            self.out.clear();
            self.answered = 0;
            self.sent = 0;
        }
    }

    /// Whether requests reach the shard: the connection is established and the TLS handshake, if
    /// any, is complete.
    pub fn is_open(&self) -> bool {
        self.connected && !self.stream.is_handshaking()
    }

    /// Whether there is data to write that the socket may accept.
    pub fn wants_write(&self) -> bool {
        // The session buffers data that is written before the TLS handshake is complete.
        self.stream.wants_write() || self.unsent() > 0 && !self.stream.is_handshaking()
    }

    /// Writes as much as the socket accepts.
    pub fn write(&mut self) -> io::Result<()> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.inflight.is_empty() && self.sent == self.out.len() {
            self.out.clear();
            self.answered = 0;
            self.sent = 0;
        }
        if self.answered > 64 * 1024 && self.answered > self.out.len() / 2 {
            self.out.drain(..self.answered);
            self.sent -= self.answered;
            self.answered = 0;
        }
        self.stream.finish()?;
        Ok(())
    }

    /// Removes all pending requests. Returns them with their bytes and whether the shard may have
    /// received them completely.
    pub fn unanswered(&mut self) -> Vec<(Pending, Vec<u8>, bool)> {
        let mut at = self.answered;
        let sent = self.sent;
        let mut all = Vec::with_capacity(self.inflight.len());
        for pending in self.inflight.drain(..) {
            let end = at + pending.len as usize;
            all.push((pending, self.out[at..end].to_vec(), end <= sent));
            at = end;
        }
        all
    }

    /// Whether the connection holds no state of its owner.
    pub fn is_clean(&self) -> bool {
        self.is_open()
            && self.inflight.is_empty()
            && self.unsent() == 0
            && self.input.is_empty()
            && !(self.is_bound || self.in_transaction || self.is_relayed || self.is_outdated)
            && self.demoted_at.is_none()
    }

    pub fn memory(&self) -> usize {
        self.out.capacity() + self.input.capacity() + self.inflight.capacity() * size_of::<Pending>()
    }

    pub fn release_unused_memory(&mut self) {
        if self.inflight.is_empty() && self.out.capacity() > 256 * 1024 {
            self.out = Vec::new();
        }
        if self.input.is_empty() && self.input.capacity() > 256 * 1024 {
            self.input = Vec::new();
        }
    }
}
