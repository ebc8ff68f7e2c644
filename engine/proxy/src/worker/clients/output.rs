//! Output of a client: replies in the order of its requests, regardless of the order in which the
//! shards answer.

use crate::arena::Id;
use crate::command::Class;
use crate::stats::ReplyBatch;
use crate::stream::Stream;
use crate::worker::clients::reply::{Answer, Expected};
use std::collections::VecDeque;

/// Unread bytes of a long reply above which reading from the shard is suspended.
const ENOUGH_TO_PASS: usize = 128 * 1024;

#[derive(Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
    written: usize,
    /// Replies in `bytes`, whose latency is recorded when they have been written.
    leaving: Vec<ReplyBatch>,
    expected: VecDeque<Expected>,
    first: u32,
    stash: Vec<u8>,
    /// The connection from which a long reply comes that the client has received in part.
    feed: Option<Id>,
    /// Messages that arrived during that reply.
    held: Vec<u8>,
    /// Size of the longest reply since all output was read: a client that requests it may take as
    /// long to read it.
    longest: usize,
}

impl Output {
    /// Reserves the next reply and returns its number.
    #[inline]
    pub fn expect(&mut self, expected: Expected) -> u32 {
        self.expected.push_back(expected);
        self.first.wrapping_add(self.expected.len() as u32 - 1)
    }

    #[inline]
    pub fn expected(&mut self, number: u32) -> Option<&mut Expected> {
        self.expected.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// Returns the number of missing replies.
    #[inline]
    pub fn missing(&self) -> usize {
        self.expected.len()
    }

    /// Returns the number of the oldest pending request if it may wait for an event.
    pub fn blocking_request(&self) -> Option<u32> {
        self.expected.front().filter(|oldest| oldest.class == Class::Blocking).map(|_| self.first)
    }

    /// Whether there is data to write.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.written < self.bytes.len()
    }

    /// Returns the number of bytes that the client has not read.
    #[inline]
    pub fn size(&self) -> usize {
        self.bytes.len() - self.written + self.stash.len() + self.held.len()
    }

    /// Returns the memory in bytes.
    #[inline]
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
            + self.stash.capacity()
            + self.held.capacity()
            + self.expected.capacity() * size_of::<Expected>()
    }

    /// Whether the unread output exceeds the limit, in addition to one reply of any length.
    pub fn is_beyond(&self, limit: usize) -> bool {
        self.size() > limit.saturating_add(self.longest)
    }

    /// Marks that the reply is an error of the proxy.
    pub fn mark_unserved(&mut self, number: u32) {
        if let Some(expected) = self.expected(number) {
            expected.unserved = true;
        }
    }

    /// Adds the complete reply to request `number`.
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
        self.append_reply(&expected, frame);
        self.leave_stashed();
    }

    /// Returns the connection of a long reply if the client can receive more of it. Data that waits
    /// for the end of that reply does not count, because it cannot be written before.
    pub fn ready_feed(&self) -> Option<Id> {
        self.feed.filter(|_| !self.has_enough())
    }

    pub fn has_enough(&self) -> bool {
        self.bytes.len() - self.written >= ENOUGH_TO_PASS
    }

    /// Whether the reply to `number` may be written in pieces.
    pub fn can_start_long_reply(&self, number: u32) -> bool {
        let is_plain = |one: &Expected| matches!(one.answer, Answer::Waiting) && !one.silent;
        number == self.first && self.expected.front().is_some_and(is_plain)
    }

    /// Starts a reply of `size` bytes from `feed` to the oldest request.
    pub fn start_long_reply(&mut self, feed: Id, size: usize) {
        self.feed = Some(feed);
        self.longest = self.longest.max(size);
    }

    /// Adds a part of that reply. Returns the number of bytes written immediately, which were not
    /// copied.
    pub fn write_piece(&mut self, stream: &mut Stream, piece: &[u8]) -> usize {
        // An error of the connection is detected when the rest is written.
        let written = if self.has_some() { 0 } else { stream.write(piece).unwrap_or(0) };
        self.bytes.extend_from_slice(&piece[written..]);
        written
    }

    pub fn finish_long_reply(&mut self) {
        self.feed = None;
        self.bytes.append(&mut self.held);
        let Some(expected) = self.expected.pop_front() else { return };
        self.first = self.first.wrapping_add(1);
        self.count(&expected, false);
        self.leave_stashed();
    }

    #[inline]
    fn append_reply(&mut self, expected: &Expected, frame: &[u8]) {
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
        let Expected { arrived, class, command_index, .. } = *expected;
        match self.leaving.last_mut() {
            Some(last)
                if last.arrived == arrived && last.command_index == command_index && last.class == class =>
            {
                last.served += served;
                last.unserved += unserved;
                last.errors += errors;
            }
            _ => self.leaving.push(ReplyBatch { arrived, class, command_index, served, unserved, errors }),
        }
    }

    #[inline]
    fn leave_stashed(&mut self) {
        while let Some(Expected { answer: Answer::Stashed { at, len }, silent, .. }) = self.expected.front() {
            let is_error = self.stash.get(*at) == Some(&b'-');
            if !silent {
                self.bytes.extend_from_slice(&self.stash[*at..at + len]);
            }
            let expected = self.expected.pop_front().expect("it is the front element");
            self.first = self.first.wrapping_add(1);
            self.count(&expected, is_error);
        }
        if self.expected.is_empty() {
            self.stash.clear();
        }
    }

    /// Adds bytes that answer no request: messages of subscriptions, and invalidations. They must
    /// not overtake earlier replies that wait for others, because an invalidation refers to their
    /// values.
    pub fn push_message(&mut self, message: &[u8]) {
        let stashed = self.expected.iter_mut().rev().find_map(|one| match &mut one.answer {
            Answer::Stashed { at, len } => Some((at, len)),
            _ => None,
        });
        let Some((at, len)) = stashed else {
            // Do not insert it into a reply.
            let buffer = if self.feed.is_some() { &mut self.held } else { &mut self.bytes };
            buffer.extend_from_slice(message);
            return;
        };
        let (from, to) = (*at, *at + *len);
        *at = self.stash.len();
        *len += message.len();
        self.stash.extend_from_within(from..to);
        self.stash.extend_from_slice(message);
    }

    /// Handles the loss of the client. Returns the replies that it will not receive, and the
    /// connection of a long reply to it.
    pub fn abandon(&mut self) -> (VecDeque<Expected>, Option<Id>) {
        (std::mem::take(&mut self.expected), self.feed.take())
    }

    /// Writes as much as the socket accepts. Returns the number of bytes, and whether nothing is
    /// left. `left` is called for replies that have been written.
    pub fn write(
        &mut self,
        stream: &mut Stream,
        mut left: impl FnMut(&ReplyBatch),
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

    /// Frees memory that an idle connection does not need.
    pub fn release_unused_memory(&mut self) {
        if self.expected.is_empty() && !self.has_some() {
            free_buffer(&mut self.bytes);
            free_buffer(&mut self.stash);
            if self.expected.capacity() > 64 {
                self.expected = VecDeque::new();
            }
        }
    }
}

/// Frees the buffer of an idle connection, unless it is small.
pub fn free_buffer(buffer: &mut Vec<u8>) {
    const SMALL: usize = 4096;
    if buffer.capacity() > SMALL {
        *buffer = Vec::new();
    }
}
