//! A client's connection: what it has sent and was not looked at, and its replies in the order of its requests.

use crate::arena::Id;
use crate::command::{Class, UNKNOWN};
use crate::poll::Interest;
use crate::stats::{Failure, Replies};
use crate::stream::Stream;
use crate::worker::exclusive::Exclusive;
use crate::worker::join::Join;
use crate::worker::session::Then;
use crate::worker::{Handle, Seat};
use resp::RequestParser;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Requests of one client under way at a time; further ones wait in its socket.
pub const MAX_UNDER_WAY: usize = 4096;
/// Replies a client has not read yet before its next request is looked at.
pub const ENOUGH_OUTPUT: usize = 1 << 20;
/// Bytes of a long reply that it has not read yet before more of it is asked for.
const ENOUGH_TO_PASS: usize = 128 * 1024;
/// A buffer of this size may stay with an idle connection.
const KEEP: usize = 4096;

#[derive(Debug)]
pub enum Answer {
    Waiting,
    /// In the stash, because replies to earlier requests are missing.
    Stashed {
        at: usize,
        len: usize,
    },
    Joining(Box<Join>),
    /// The shard's answer changes something about the client.
    Then(Box<Then>),
}

#[derive(Debug)]
pub struct Slot {
    pub arrived: u64,
    pub class: Class,
    /// Of its command.
    pub place: u16,
    /// CLIENT REPLY OFF or SKIP.
    pub silent: bool,
    /// Its answer is an error of the proxy's own.
    pub unserved: bool,
    pub answer: Answer,
}

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
    pub generation: u32,
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
    out: Vec<u8>,
    written: usize,
    /// Replies in `out`: their time ends when they leave.
    leaving: Vec<Replies>,
    queue: VecDeque<Slot>,
    first: u32,
    stash: Vec<u8>,
    /// The topology by which the requests under way were routed.
    pub generation: u32,
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
    /// The request looked at now was answered with this here.
    pub refusal: Option<Failure>,
    /// Bytes of its replies that wait for others to be joined with.
    pub joining: usize,
    /// The connection that a long reply comes from, which it has the beginning of.
    pub feed: Option<Id>,
    /// Messages that came meanwhile.
    held: Vec<u8>,
    /// The size of the longest reply since it had read everything: who may ask for it may take as long to read it.
    longest: usize,
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
            out: Vec::new(),
            written: 0,
            leaving: Vec::new(),
            queue: VecDeque::new(),
            first: 0,
            stash: Vec::new(),
            generation: 0,
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
            refusal: None,
            joining: 0,
            feed: None,
            held: Vec::new(),
            longest: 0,
            weighed: 0,
        }
    }

    pub fn is_drained(&self) -> bool {
        self.queue.is_empty()
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

    /// A request that may write was routed by this generation of the topology.
    #[inline]
    pub fn wrote(&mut self, generation: u32) {
        if self.unconfirmed.is_none_or(|unconfirmed| unconfirmed.was_asked) {
            self.unconfirmed = Some(Unconfirmed { generation, was_asked: false });
        }
    }

    pub fn has_output(&self) -> bool {
        self.written < self.out.len()
    }

    /// Bytes that it occupies.
    #[inline]
    pub fn weight(&self) -> usize {
        self.input.capacity()
            + self.out.capacity()
            + self.stash.capacity()
            + self.held.capacity()
            + self.queue.capacity() * size_of::<Slot>()
            + self.joining
            + self.exclusive.as_deref().map_or(0, Exclusive::weight)
    }

    pub fn output_size(&self) -> usize {
        self.out.len() - self.written + self.stash.len() + self.held.len()
    }

    /// Whether it has enough of a long reply for now. What waits behind that reply does not count: it cannot leave before.
    pub fn has_enough(&self) -> bool {
        self.out.len() - self.written >= ENOUGH_TO_PASS
    }

    /// Whether more waits for it than a client may leave unread, besides one reply of any length.
    pub fn is_beyond(&self, limit: usize) -> bool {
        self.output_size() > limit.saturating_add(self.longest)
    }

    /// Whether another request may be looked at.
    #[inline]
    pub fn may_go_on(&self) -> bool {
        !(self.closing || self.blocked || self.congested || self.destination.is_some() && !self.is_bound())
            && self.queue.len() < MAX_UNDER_WAY
            && self.output_size() < ENOUGH_OUTPUT
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
        self.queue.push_back(Slot { arrived: self.read_at, class, place, silent, unserved: false, answer });
        self.first.wrapping_add(self.queue.len() as u32 - 1)
    }

    #[inline]
    pub fn slot(&mut self, number: u32) -> Option<&mut Slot> {
        self.queue.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// The reply to a request that needs no shard.
    pub fn reply(&mut self, class: Class, write: impl FnOnce(&mut Vec<u8>)) {
        let mut frame = Vec::new();
        write(&mut frame);
        let number = self.expect(class, Answer::Waiting);
        if frame.first() == Some(&b'-') {
            self.refusal = Some(Failure::of(&frame));
            self.mark_unserved(number);
        }
        self.answer(number, &frame);
    }

    /// What comes next is an error that no shard has made.
    pub fn mark_unserved(&mut self, number: u32) {
        if let Some(slot) = self.slot(number) {
            slot.unserved = true;
        }
    }

    /// The reply to request `number`, complete.
    #[inline]
    pub fn answer(&mut self, number: u32, frame: &[u8]) {
        if number != self.first {
            let at = self.stash.len();
            self.longest = self.longest.max(frame.len());
            let Some(slot) = self.slot(number) else { return };
            slot.answer = Answer::Stashed { at, len: frame.len() };
            self.stash.extend_from_slice(frame);
            return;
        }
        let Some(slot) = self.queue.pop_front() else { return };
        self.first = self.first.wrapping_add(1);
        self.leave(&slot, frame);
        self.leave_stashed();
    }

    /// Whether the reply to `number` may leave piece by piece.
    pub fn may_pass(&self, number: u32) -> bool {
        let is_plain = |slot: &Slot| matches!(slot.answer, Answer::Waiting) && !slot.silent;
        number == self.first && self.queue.front().is_some_and(is_plain)
    }

    /// What comes is the reply to the oldest request, `size` bytes.
    pub fn begin_passing(&mut self, feed: Id, size: usize) {
        self.feed = Some(feed);
        self.longest = self.longest.max(size);
    }

    /// A part of that reply. How much was written at once: nothing is copied that the socket has room for.
    pub fn pass(&mut self, piece: &[u8]) -> usize {
        // Of one that is broken it is noticed when the rest is written.
        let written = if self.has_output() { 0 } else { self.stream.write(piece).unwrap_or(0) };
        self.out.extend_from_slice(&piece[written..]);
        written
    }

    pub fn end_passing(&mut self) {
        self.feed = None;
        self.out.append(&mut self.held);
        let Some(slot) = self.queue.pop_front() else { return };
        self.first = self.first.wrapping_add(1);
        self.count(&slot, false);
        self.leave_stashed();
    }

    #[inline]
    fn leave(&mut self, slot: &Slot, frame: &[u8]) {
        self.longest = self.longest.max(frame.len());
        if !slot.silent {
            self.out.extend_from_slice(frame);
        }
        self.count(slot, frame.first() == Some(&b'-'));
    }

    #[inline]
    fn count(&mut self, slot: &Slot, is_error: bool) {
        let (served, unserved, errors) =
            (u64::from(!slot.unserved), u64::from(slot.unserved), u64::from(is_error));
        let Slot { arrived, class, place, .. } = *slot;
        match self.leaving.last_mut() {
            Some(last) if last.arrived == arrived && last.place == place && last.class == class => {
                last.served += served;
                last.unserved += unserved;
                last.errors += errors;
            }
            _ => self.leaving.push(Replies { arrived, class, place, served, unserved, errors }),
        }
    }

    #[inline]
    fn leave_stashed(&mut self) {
        while let Some(Slot { answer: Answer::Stashed { at, len }, silent, .. }) = self.queue.front() {
            let is_error = self.stash.get(*at) == Some(&b'-');
            if !silent {
                self.out.extend_from_slice(&self.stash[*at..at + len]);
            }
            let slot = self.queue.pop_front().expect("it was just looked at");
            self.first = self.first.wrapping_add(1);
            self.count(&slot, is_error);
        }
        if self.queue.is_empty() {
            self.stash.clear();
        }
    }

    /// Bytes that answer no request: messages of subscriptions, invalidations. They must not overtake replies that have
    /// come before them and wait for others: what is invalid is what those say.
    pub fn push(&mut self, frame: &[u8]) {
        let stashed = self.queue.iter_mut().rev().find_map(|slot| match &mut slot.answer {
            Answer::Stashed { at, len } => Some((at, len)),
            _ => None,
        });
        let Some((at, len)) = stashed else {
            // Not into the middle of a reply.
            let place = if self.feed.is_some() { &mut self.held } else { &mut self.out };
            place.extend_from_slice(frame);
            return;
        };
        let (from, to) = (*at, *at + *len);
        *at = self.stash.len();
        *len += frame.len();
        self.stash.extend_from_within(from..to);
        self.stash.extend_from_slice(frame);
    }

    /// Requests will never be answered, because the client is gone; the identities that it would have got.
    pub fn abandon(&mut self) -> Vec<usize> {
        let queue = std::mem::take(&mut self.queue);
        queue
            .into_iter()
            .filter_map(|slot| match slot.answer {
                Answer::Then(then) => then.identity(),
                _ => None,
            })
            .collect()
    }

    /// Writes what it can; `Ok(true)` when nothing is left. `left` hears of replies that have left.
    pub fn write(&mut self, mut left: impl FnMut(&Replies)) -> std::io::Result<(usize, bool)> {
        let before = self.written;
        while self.has_output() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(n) => self.written += n,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let written = self.written - before;
        if self.has_output() {
            self.compact();
            return Ok((written, false));
        }
        for gone in self.leaving.drain(..) {
            left(&gone);
        }
        self.written = 0;
        self.out.clear();
        self.longest = 0;
        Ok((written, self.stream.finish()?))
    }

    fn compact(&mut self) {
        if self.written > self.out.len() / 2 {
            self.out.drain(..self.written);
            self.written = 0;
        }
    }

    /// Gives back what an idle connection does not need.
    pub fn slim(&mut self) {
        if self.queue.is_empty() && !self.has_output() {
            shed(&mut self.out);
            shed(&mut self.stash);
            if self.queue.capacity() > 64 {
                self.queue = VecDeque::new();
            }
        }
        if self.input.is_empty() {
            shed(&mut self.input);
        }
    }
}

fn shed(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEEP {
        *buffer = Vec::new();
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
