//! A client's connection: what it has sent and was not looked at, and what the proxy knows of it.

use crate::arena::Id;
use crate::command::{Class, UNKNOWN};
use crate::poll::Interest;
use crate::reply_safety::Risk;
use crate::stats::{Failure, Replies};
use crate::stream::Stream;
use crate::worker::exclusive::Exclusive;
use crate::worker::output::{Answer, Expected, Output, shed};
use crate::worker::{Handle, Seat};
use resp::RequestParser;
use std::net::SocketAddr;

/// Requests of one client under way at a time; further ones wait in its socket.
pub const MAX_UNDER_WAY: usize = 4096;
/// Replies a client has not read yet before its next request is looked at.
pub const ENOUGH_OUTPUT: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Muted {
    #[default]
    No,
    /// Until CLIENT REPLY ON.
    Off,
    /// The next request only.
    Skip,
}

#[derive(Debug, Clone, Copy)]
pub struct Unconfirmed {
    /// The topology by which it was routed.
    pub topology_version: u32,
    /// WAIT has asked about it; the next write is another matter.
    pub was_asked: bool,
}

/// What only some clients say about themselves.
#[derive(Debug, Default, Clone)]
pub struct Profile {
    pub name: Vec<u8>,
    pub library_name: Vec<u8>,
    pub library_version: Vec<u8>,
}

#[derive(Debug)]
pub struct Client {
    pub seat: Seat,
    pub stream: Stream,
    pub peer: Option<SocketAddr>,
    pub db: usize,
    pub identity: usize,
    pub number: u64,
    pub since: u64,
    pub input: Vec<u8>,
    pub parser: Option<Box<RequestParser>>,
    /// When the bytes looked at now were read.
    pub read_at: u64,
    pub output: Output,
    /// The topology by which the requests under way were routed.
    pub topology_version: u32,
    /// The slot it was last told another endpoint has, and when.
    pub sent_away: Option<(u16, u64)>,
    /// What WAIT is about: the first write since the last WAIT.
    pub unconfirmed: Option<Unconfirmed>,
    pub interest: Interest,
    /// Has input that was not looked at; progress of its replies must look again.
    pub paused: bool,
    pub resuming: bool,
    pub dirty: bool,
    /// The connection ends when what is under way has been answered.
    pub closing: bool,
    /// What is under way must be answered before anything else is looked at.
    pub blocked: bool,
    /// A shard takes requests more slowly than they come.
    pub congested: bool,
    pub muted: Muted,
    pub exclusive: Option<Box<Exclusive>>,
    pub profile: Option<Box<Profile>>,
    /// The worker it moves to when everything has been answered.
    pub destination: Option<Handle>,
    /// What the request looked at now is: the place of its command, and whether it waits on purpose.
    pub asks: (u16, bool),
    /// Whether the reply to the request looked at now may be more than one.
    pub risk: Risk,
    /// The request looked at now was answered with this here.
    pub refusal: Option<Failure>,
    /// Bytes of its replies that wait for others to be joined with.
    pub joining: usize,
    /// What the budget thinks that it occupies.
    pub weighed: usize,
}

impl Client {
    pub fn new(
        seat: Seat,
        stream: Stream,
        peer: Option<SocketAddr>,
        db: usize,
        number: u64,
        now: u64,
    ) -> Self {
        Self {
            seat,
            stream,
            peer,
            db,
            identity: 0,
            number,
            since: now,
            input: Vec::new(),
            parser: None,
            read_at: now,
            output: Output::default(),
            topology_version: 0,
            sent_away: None,
            unconfirmed: None,
            interest: Interest::READ,
            paused: false,
            resuming: false,
            dirty: false,
            closing: false,
            blocked: false,
            congested: false,
            muted: Muted::No,
            exclusive: None,
            profile: None,
            destination: None,
            asks: (UNKNOWN.place, false),
            risk: Risk::None,
            refusal: None,
            joining: 0,
            weighed: 0,
        }
    }

    /// Whether all its requests have been answered.
    pub fn is_drained(&self) -> bool {
        self.output.missing() == 0
    }

    /// Whether something about its own connections to shards would be lost without them.
    pub fn is_bound(&self) -> bool {
        self.exclusive.as_deref().is_some_and(Exclusive::is_bound)
    }

    /// Whether its requests are queued for a transaction.
    #[inline]
    pub fn is_queueing(&self) -> bool {
        self.exclusive.as_deref().is_some_and(Exclusive::is_queueing)
    }

    /// A request that may write was routed by this version of the topology.
    #[inline]
    pub fn wrote(&mut self, topology_version: u32) {
        if self.unconfirmed.is_none_or(|unconfirmed| unconfirmed.was_asked) {
            self.unconfirmed = Some(Unconfirmed { topology_version, was_asked: false });
        }
    }

    /// Bytes that it occupies.
    #[inline]
    pub fn weight(&self) -> usize {
        self.input.capacity()
            + self.output.weight()
            + self.joining
            + self.exclusive.as_deref().map_or(0, Exclusive::weight)
    }

    /// Whether another request may be looked at.
    #[inline]
    pub fn may_go_on(&self) -> bool {
        !(self.closing || self.blocked || self.congested || self.destination.is_some() && !self.is_bound())
            && self.output.missing() < MAX_UNDER_WAY
            && self.output.size() < ENOUGH_OUTPUT
    }

    /// Makes room for one more reply; its number says later which.
    #[inline]
    pub fn expect(&mut self, class: Class, answer: Answer) -> u32 {
        let silent = self.muted != Muted::No;
        if self.muted == Muted::Skip {
            self.muted = Muted::No;
        }
        let (place, blocks) = self.asks;
        let class = if blocks { Class::Blocking } else { class };
        let arrived = self.read_at;
        self.output.expect(Expected { arrived, class, place, silent, unserved: false, answer })
    }

    /// The reply to a request that needs no shard.
    pub fn reply(&mut self, class: Class, write: impl FnOnce(&mut Vec<u8>)) {
        let mut frame = Vec::new();
        write(&mut frame);
        let number = self.expect(class, Answer::Waiting);
        if frame.first() == Some(&b'-') {
            self.refusal = Some(Failure::of(&frame));
            self.output.mark_unserved(number);
        }
        self.output.answer(number, &frame);
    }

    /// Writes what it can; `Ok(true)` when nothing is left. `left` hears of replies that have left.
    pub fn write(&mut self, left: impl FnMut(&Replies)) -> std::io::Result<(usize, bool)> {
        self.output.write(&mut self.stream, left)
    }

    /// A part of a long reply to it: how much was written at once.
    pub fn pass(&mut self, piece: &[u8]) -> usize {
        self.output.pass(&mut self.stream, piece)
    }

    /// Gives back what an idle connection does not need.
    pub fn slim(&mut self) {
        self.output.slim();
        if self.input.is_empty() {
            shed(&mut self.input);
        }
    }
}

/// Whom a reply is for.
#[derive(Debug, Clone, Copy)]
pub struct Asker {
    pub client: Id,
    pub number: u32,
    /// Which part of a request that was split.
    pub part: u32,
}
