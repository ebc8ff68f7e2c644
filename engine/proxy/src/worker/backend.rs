//! A connection to a shard. Requests of many clients follow one another on it, and replies come back in that
//! order. A request's bytes stay here until it is answered, so it can be sent again, elsewhere.

use crate::arena::Id;
use crate::command::Class;
use crate::poll::Interest;
use crate::reply_safety::Risk;
use crate::stream::Stream;
use crate::topology::TargetNumber;
use crate::worker::client::Asker;
use crate::worker::doubt::Doubt;
use crate::worker::passing::Passing;
use resp::ReplyScanner;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io;

/// Bytes that wait for the socket before clients are asked to wait.
pub const CONGESTED: usize = 4 << 20;

/// What happens to a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It is the client's.
    Reply,
    /// Of what the proxy itself put in front of a client's request.
    Ignore,
    /// Of the greeting of a new connection.
    Greeting,
    /// Of COMMAND, to learn what this engine knows.
    Commands,
    /// Whether the shard says of itself what a script said, see `doubt.rs`.
    Probe,
    /// See `canary.rs`.
    Canary,
    /// A random text, to be sure that the request in front of it was answered with one reply.
    Fence,
}

/// Whether a request changes that a connection holds something of its client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bond {
    Unchanged,
    /// WATCH, from when it is sent.
    Begins,
    /// EXEC and DISCARD, once answered.
    Ends,
}

#[derive(Debug, Clone, Copy)]
pub struct Pending {
    pub asker: Asker,
    pub purpose: Purpose,
    pub class: Class,
    pub slot: u16,
    pub len: u32,
    pub bond: Bond,
    /// What answers may be a script, whose words are not the shard's.
    pub is_script: bool,
    /// Whether its reply may be more than one.
    pub risk: Risk,
    /// Nobody here knows where its keys are; the shard that is asked first does.
    pub roams: bool,
    /// How often it was sent somewhere else.
    pub tries: u8,
    /// Until when it may wait for a primary; 0 while it never had to.
    pub deadline: u64,
    /// Since when it blocks with the time that its bytes say; 0: since it came.
    pub blocks_since: u64,
}

impl Pending {
    /// A request of the proxy's own.
    pub fn own(purpose: Purpose) -> Self {
        let asker = Asker { client: Id::NONE, number: 0, part: 0 };
        Self {
            asker,
            purpose,
            class: Class::Other,
            slot: 0,
            len: 0,
            bond: Bond::Unchanged,
            is_script: false,
            risk: Risk::None,
            roams: false,
            tries: 0,
            deadline: 0,
            blocks_since: 0,
        }
    }
}

#[derive(Debug)]
pub struct Backend {
    pub stream: Stream,
    pub db: usize,
    pub target: TargetNumber,
    pub identity: usize,
    /// Which of the shared ones to its target it is.
    pub lane: usize,
    /// The only client that uses this connection, if it must not be shared.
    pub owner: Option<Id>,
    pub connected: bool,
    /// Holds what its owner watches or has queued.
    pub is_bound: bool,
    /// Between MULTI and the reply to EXEC.
    pub in_transaction: bool,
    /// Everything it says is the owner's: a subscription or MONITOR.
    pub is_relayed: bool,
    /// What the shard takes it for is no longer so: it answers what it was asked.
    pub is_outdated: bool,
    /// It sent something that is no reply to what it was asked.
    pub is_out_of_step: bool,
    /// The engine removes line breaks from the errors of scripts.
    pub has_safe_scripts: bool,
    /// Its user may not execute ECHO, which a fence is otherwise.
    pub fences_with_hello: bool,
    /// Nobody's now, and the next one's who needs a connection of its own.
    pub is_pooled: bool,
    pub interest: Interest,
    pub dirty: bool,
    pub inflight: VecDeque<Pending>,
    /// What scripts said that only the shard may say, one for each probe under way.
    pub doubts: VecDeque<Doubt>,
    out: Vec<u8>,
    answered: usize,
    sent: usize,
    pub input: Vec<u8>,
    pub scanner: ReplyScanner,
    /// A long reply that its client has the beginning of.
    pub passing: Option<Passing>,
    /// Not read from, because that client has enough to read.
    pub is_held: bool,
    /// Clients that wait until there is room again.
    pub waiting: Vec<Id>,
    pub used_at: u64,
    /// Since when it owes an answer and says nothing, as the ticks have seen it.
    pub silent_since: Option<u64>,
    /// Since when it is no longer wanted: its shard is not a primary any more.
    pub demoted_at: Option<u64>,
}

/// What has arrived where the reply to a fence is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// So many bytes.
    Passed(usize),
    Incomplete,
    /// The user may not execute the request; nothing is known about the bytes in front of it.
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
            is_out_of_step: false,
            has_safe_scripts: false,
            fences_with_hello: false,
            is_pooled: false,
            interest: Interest::WRITE,
            dirty: false,
            inflight: VecDeque::new(),
            doubts: VecDeque::new(),
            out: Vec::new(),
            answered: 0,
            sent: 0,
            input: Vec::new(),
            scanner: ReplyScanner::default(),
            passing: None,
            is_held: false,
            waiting: Vec::new(),
            used_at: 0,
            silent_since: None,
            demoted_at: None,
        }
    }

    #[inline]
    pub fn enqueue(&mut self, bytes: &[u8], mut pending: Pending) {
        pending.len = bytes.len() as u32;
        self.is_bound |= pending.bond == Bond::Begins;
        self.out.extend_from_slice(bytes);
        self.inflight.push_back(pending);
        if pending.risk != Risk::None && self.owner.is_none() && self.is_risky(pending.risk) {
            self.enqueue_fence();
        }
    }

    /// Whether the shard may answer a request of this risk with more than one reply.
    pub fn is_risky(&self, risk: Risk) -> bool {
        risk > Risk::Script || risk == Risk::Script && !self.has_safe_scripts
    }

    /// Any other bytes than the reply to it end the connection. Requests in front of it cannot contain the text: it is random, and
    /// the shard receives it after them.
    #[cold]
    fn enqueue_fence(&mut self) {
        let text = format!("{:016x}", RandomState::new().hash_one(self.sent));
        let request = match self.fences_with_hello {
            false => format!("*2\r\n$4\r\nECHO\r\n$16\r\n{text}\r\n"),
            // Executed without any right: a wrong option is quoted, and nothing changes.
            true => format!("*3\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$16\r\n{text}\r\n"),
        };
        self.enqueue(request.as_bytes(), Pending::own(Purpose::Fence));
    }

    /// The reply to the fence that is the oldest request, at the start of `bytes`.
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

    /// Bytes whose answer is no reply of one request.
    pub fn enqueue_raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub fn unsent(&self) -> usize {
        self.out.len() - self.sent
    }

    pub fn is_congested(&self) -> bool {
        self.unsent() > CONGESTED
    }

    /// The oldest request, because its reply has come; its bytes are still `request`.
    #[inline]
    pub fn answered(&mut self) -> Option<Pending> {
        self.inflight.pop_front()
    }

    #[inline]
    pub fn request(&self, pending: &Pending) -> &[u8] {
        &self.out[self.answered..self.answered + pending.len as usize]
    }

    #[inline]
    pub fn forget(&mut self, pending: &Pending) {
        self.answered += pending.len as usize;
        if self.answered == self.out.len() {
            self.out.clear();
            self.answered = 0;
            self.sent = 0;
        }
    }

    /// Whether requests reach the shard: it has accepted, and has shaken hands where that is wanted.
    pub fn is_open(&self) -> bool {
        self.connected && !self.stream.is_handshaking()
    }

    /// Whether there is something to write that the socket may take.
    pub fn wants_write(&self) -> bool {
        // What is written over TLS before the hands are shaken waits in the session.
        self.stream.wants_write() || self.unsent() > 0 && !self.stream.is_handshaking()
    }

    /// Writes what it can.
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

    /// Everything that has not been answered, with its bytes, and whether the shard may have seen it whole.
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

    /// Whether nothing that its owner did is left on it.
    pub fn is_clean(&self) -> bool {
        self.is_open()
            && self.inflight.is_empty()
            && self.unsent() == 0
            && self.input.is_empty()
            && !(self.is_bound || self.in_transaction || self.is_relayed || self.is_outdated)
            && self.demoted_at.is_none()
    }

    pub fn weight(&self) -> usize {
        self.out.capacity() + self.input.capacity() + self.inflight.capacity() * size_of::<Pending>()
    }

    pub fn slim(&mut self) {
        if self.inflight.is_empty() && self.out.capacity() > 256 * 1024 {
            self.out = Vec::new();
        }
        if self.input.is_empty() && self.input.capacity() > 256 * 1024 {
            self.input = Vec::new();
        }
    }
}
