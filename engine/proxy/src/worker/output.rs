//! What a client is to get: its replies in the order of its requests, however the shards answer.

use crate::arena::Id;
use crate::command::Class;
use crate::stats::Replies;
use crate::stream::Stream;
use crate::worker::join::Join;
use crate::worker::session::Then;
use std::collections::VecDeque;

/// Bytes of a long reply that it has not read yet before more of it is asked for.
const ENOUGH_TO_PASS: usize = 128 * 1024;

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

/// The reply to a request that is under way.
#[derive(Debug)]
pub struct Expected {
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

#[derive(Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
    written: usize,
    /// Replies in `bytes`: their time ends when they leave.
    leaving: Vec<Replies>,
    expected: VecDeque<Expected>,
    first: u32,
    stash: Vec<u8>,
    /// The connection that a long reply comes from, which the client has the beginning of.
    feed: Option<Id>,
    /// Messages that came meanwhile.
    held: Vec<u8>,
    /// The size of the longest reply since it had read everything: who may ask for it may take as long to read it.
    longest: usize,
}

impl Output {
    /// Makes room for one more reply; its number says later which.
    #[inline]
    pub fn expect(&mut self, expected: Expected) -> u32 {
        self.expected.push_back(expected);
        self.first.wrapping_add(self.expected.len() as u32 - 1)
    }

    #[inline]
    pub fn expected(&mut self, number: u32) -> Option<&mut Expected> {
        self.expected.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// Replies that are missing.
    #[inline]
    pub fn missing(&self) -> usize {
        self.expected.len()
    }

    /// Whether there is something to write.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.written < self.bytes.len()
    }

    /// Bytes that the client has not read.
    #[inline]
    pub fn size(&self) -> usize {
        self.bytes.len() - self.written + self.stash.len() + self.held.len()
    }

    /// Bytes of memory.
    #[inline]
    pub fn weight(&self) -> usize {
        self.bytes.capacity()
            + self.stash.capacity()
            + self.held.capacity()
            + self.expected.capacity() * size_of::<Expected>()
    }

    /// Whether more waits than a client may leave unread, besides one reply of any length.
    pub fn is_beyond(&self, limit: usize) -> bool {
        self.size() > limit.saturating_add(self.longest)
    }

    /// What comes next is an error that no shard has made.
    pub fn mark_unserved(&mut self, number: u32) {
        if let Some(expected) = self.expected(number) {
            expected.unserved = true;
        }
    }

    /// The reply to request `number`, complete.
    #[inline]
    pub fn answer(&mut self, number: u32, frame: &[u8]) {
        if number != self.first {
            let at = self.stash.len();
            self.longest = self.longest.max(frame.len());
            let Some(expected) = self.expected(number) else { return };
            expected.answer = Answer::Stashed { at, len: frame.len() };
            self.stash.extend_from_slice(frame);
            return;
        }
        let Some(expected) = self.expected.pop_front() else { return };
        self.first = self.first.wrapping_add(1);
        self.leave(&expected, frame);
        self.leave_stashed();
    }

    /// Where a long reply comes from, unless the client has enough of it for now. What waits behind that reply does not count:
    /// it cannot leave before.
    pub fn hungry_for(&self) -> Option<Id> {
        self.feed.filter(|_| !self.has_enough())
    }

    pub fn has_enough(&self) -> bool {
        self.bytes.len() - self.written >= ENOUGH_TO_PASS
    }

    /// Whether the reply to `number` may leave piece by piece.
    pub fn may_pass(&self, number: u32) -> bool {
        let is_plain = |one: &Expected| matches!(one.answer, Answer::Waiting) && !one.silent;
        number == self.first && self.expected.front().is_some_and(is_plain)
    }

    /// What comes from `feed` is the reply to the oldest request, `size` bytes.
    pub fn begin_passing(&mut self, feed: Id, size: usize) {
        self.feed = Some(feed);
        self.longest = self.longest.max(size);
    }

    /// A part of that reply. How much was written at once: nothing is copied that the socket has room for.
    pub fn pass(&mut self, stream: &mut Stream, piece: &[u8]) -> usize {
        // Of one that is broken it is noticed when the rest is written.
        let written = if self.has_some() { 0 } else { stream.write(piece).unwrap_or(0) };
        self.bytes.extend_from_slice(&piece[written..]);
        written
    }

    pub fn end_passing(&mut self) {
        self.feed = None;
        self.bytes.append(&mut self.held);
        let Some(expected) = self.expected.pop_front() else { return };
        self.first = self.first.wrapping_add(1);
        self.count(&expected, false);
        self.leave_stashed();
    }

    #[inline]
    fn leave(&mut self, expected: &Expected, frame: &[u8]) {
        self.longest = self.longest.max(frame.len());
        if !expected.silent {
            self.bytes.extend_from_slice(frame);
        }
        self.count(expected, frame.first() == Some(&b'-'));
    }

    #[inline]
    fn count(&mut self, expected: &Expected, is_error: bool) {
        let (served, unserved, errors) =
            (u64::from(!expected.unserved), u64::from(expected.unserved), u64::from(is_error));
        let Expected { arrived, class, place, .. } = *expected;
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
        while let Some(Expected { answer: Answer::Stashed { at, len }, silent, .. }) = self.expected.front() {
            let is_error = self.stash.get(*at) == Some(&b'-');
            if !silent {
                self.bytes.extend_from_slice(&self.stash[*at..at + len]);
            }
            let expected = self.expected.pop_front().expect("it was just looked at");
            self.first = self.first.wrapping_add(1);
            self.count(&expected, is_error);
        }
        if self.expected.is_empty() {
            self.stash.clear();
        }
    }

    /// Bytes that answer no request: messages of subscriptions, invalidations. They must not overtake replies that have
    /// come before them and wait for others: what is invalid is what those say.
    pub fn tell(&mut self, message: &[u8]) {
        let stashed = self.expected.iter_mut().rev().find_map(|one| match &mut one.answer {
            Answer::Stashed { at, len } => Some((at, len)),
            _ => None,
        });
        let Some((at, len)) = stashed else {
            // Not into the middle of a reply.
            let place = if self.feed.is_some() { &mut self.held } else { &mut self.bytes };
            place.extend_from_slice(message);
            return;
        };
        let (from, to) = (*at, *at + *len);
        *at = self.stash.len();
        *len += message.len();
        self.stash.extend_from_within(from..to);
        self.stash.extend_from_slice(message);
    }

    /// The client is gone: what it will not get, and where a long reply to it comes from.
    pub fn abandon(&mut self) -> (VecDeque<Expected>, Option<Id>) {
        (std::mem::take(&mut self.expected), self.feed.take())
    }

    /// Writes what the socket takes: how many bytes, and whether nothing is left. `left` hears of replies that have left.
    pub fn write(
        &mut self,
        stream: &mut Stream,
        mut left: impl FnMut(&Replies),
    ) -> std::io::Result<(usize, bool)> {
        let before = self.written;
        while self.has_some() {
            match stream.write(&self.bytes[self.written..]) {
                Ok(n) => self.written += n,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let written = self.written - before;
        if self.has_some() {
            self.compact();
            return Ok((written, false));
        }
        for gone in self.leaving.drain(..) {
            left(&gone);
        }
        self.written = 0;
        self.bytes.clear();
        self.longest = 0;
        Ok((written, stream.finish()?))
    }

    fn compact(&mut self) {
        if self.written > self.bytes.len() / 2 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }

    /// Gives back what an idle connection does not need.
    pub fn slim(&mut self) {
        if self.expected.is_empty() && !self.has_some() {
            shed(&mut self.bytes);
            shed(&mut self.stash);
            if self.expected.capacity() > 64 {
                self.expected = VecDeque::new();
            }
        }
    }
}

/// Frees a buffer of an idle connection, unless it is small.
pub fn shed(buffer: &mut Vec<u8>) {
    const SMALL: usize = 4096;
    if buffer.capacity() > SMALL {
        *buffer = Vec::new();
    }
}
