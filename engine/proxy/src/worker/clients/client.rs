//! A client connection: input that has not been handled, and the state that the proxy keeps for the
//! client.

use crate::command::Class;
use crate::command_index::UNKNOWN;
use crate::poll::Interest;
use crate::reply_safety::Risk;
use crate::stats::{Failure, ReplyBatch};
use crate::stream::Stream;
use crate::worker::clients::dedicated::DedicatedConnections;
use crate::worker::clients::output::{Output, free_buffer};
use crate::worker::clients::reply::{Answer, Expected};
use crate::worker::types::connection_count::ConnectionCount;
use crate::worker::types::errors::CROSSSLOT;
use crate::worker::types::message::Handle;
use crate::worker::types::request::Flow;
use crate::worker::types::session::{Muted, Profile};
use resp::RequestParser;
use std::net::SocketAddr;

/// Maximum number of pending requests of a client. Further ones remain in its socket.
pub const MAX_UNDER_WAY: usize = 4096;
/// Unread reply bytes of a client above which its next request is not handled.
pub const ENOUGH_OUTPUT: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub struct UnconfirmedWrite {
    /// Version of the topology with which it was routed.
    pub topology_version: u32,
    /// Whether WAIT has been sent for it. The next write starts a new one.
    pub was_asked: bool,
}

#[derive(Debug)]
pub struct Client {
    pub connection_count: ConnectionCount,
    pub stream: Stream,
    pub peer: Option<SocketAddr>,
    pub db: usize,
    pub identity: usize,
    pub number: u64,
    pub since: u64,
    pub input: Vec<u8>,
    pub parser: Option<Box<RequestParser>>,
    /// Time at which the bytes that are being handled were read.
    pub read_at: u64,
    pub output: Output,
    /// Version of the topology with which the pending requests were routed.
    pub topology_version: u32,
    /// The last slot for which the client was redirected to another endpoint, and the time.
    pub sent_away: Option<(u16, u64)>,
    /// The first write since the last WAIT, which the next WAIT must confirm.
    pub unconfirmed: Option<UnconfirmedWrite>,
    pub interest: Interest,
    /// Whether it has unhandled input, which must be resumed when replies arrive.
    pub paused: bool,
    pub resuming: bool,
    pub dirty: bool,
    /// Whether the connection is closed when all pending requests have been answered.
    pub closing: bool,
    /// Whether pending requests must be answered before the next request is handled.
    pub blocked: bool,
    /// Whether a shard accepts requests more slowly than they arrive.
    pub congested: bool,
    pub muted: Muted,
    pub dedicated: Option<Box<DedicatedConnections>>,
    pub profile: Option<Box<Profile>>,
    /// The worker to which it moves when all requests have been answered.
    pub destination: Option<Handle>,
    /// Index of the command of the current request, and whether the request blocks.
    pub current_command: (u16, bool),
    /// Risk that the current request causes more than one reply.
    pub risk: Risk,
    /// Failure with which the proxy answered the current request.
    pub refusal: Option<Failure>,
    /// Bytes of partial replies that wait for others.
    pub joining: usize,
    /// Its memory in bytes as known to the budget.
    pub accounted_memory: usize,
}

// Most of the memory of an idle client.
const _: () = assert!(size_of::<Client>() == 416);

impl Client {
    pub fn new(
        connection_count: ConnectionCount,
        stream: Stream,
        peer: Option<SocketAddr>,
        db: usize,
        number: u64,
        now: u64,
    ) -> Self {
        Self {
            connection_count,
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
            dedicated: None,
            profile: None,
            destination: None,
            current_command: (UNKNOWN.index, false),
            risk: Risk::None,
            refusal: None,
            joining: 0,
            accounted_memory: 0,
        }
    }

    /// Whether all its requests have been answered.
    pub fn is_drained(&self) -> bool {
        self.output.missing() == 0
    }

    /// Whether all its requests have been answered, including subscriptions.
    pub fn is_settled(&self) -> bool {
        self.is_drained() && !self.dedicated.as_deref().is_some_and(DedicatedConnections::is_subscribing)
    }

    /// Whether its dedicated connections hold state that would be lost if they were closed.
    pub fn is_bound(&self) -> bool {
        self.dedicated.as_deref().is_some_and(DedicatedConnections::is_bound)
    }

    /// Whether its requests are queued for a transaction.
    #[inline]
    pub fn is_queueing(&self) -> bool {
        self.dedicated.as_deref().is_some_and(DedicatedConnections::is_queueing)
    }

    /// Records that a request that may write was routed with this version of the topology.
    #[inline]
    pub fn wrote(&mut self, topology_version: u32) {
        if self.unconfirmed.is_none_or(|unconfirmed| unconfirmed.was_asked) {
            self.unconfirmed = Some(UnconfirmedWrite { topology_version, was_asked: false });
        }
    }

    /// Returns the memory that it uses, in bytes.
    #[inline]
    pub fn memory(&self) -> usize {
        self.input.capacity()
            + self.output.memory()
            + self.joining
            + self.dedicated.as_deref().map_or(0, DedicatedConnections::memory)
            + self.profile.as_deref().map_or(0, Profile::memory)
            + self.parser.as_deref().map_or(0, RequestParser::memory)
    }

    /// Whether another request may be handled.
    #[inline]
    pub fn can_continue(&self) -> bool {
        !(self.closing || self.blocked || self.congested || self.destination.is_some() && !self.is_bound())
            && self.output.missing() < MAX_UNDER_WAY
            && self.output.size() < ENOUGH_OUTPUT
    }

    /// Reserves the next reply and returns its number.
    #[inline]
    pub fn expect(&mut self, class: Class, answer: Answer) -> u32 {
        let silent = self.muted != Muted::No;
        if self.muted == Muted::Skip {
            self.muted = Muted::No;
        }
        let (command_index, blocks) = self.current_command;
        let class = if blocks { Class::Blocking } else { class };
        let arrived = self.read_at;
        self.output.expect(Expected { arrived, class, command_index, silent, unserved: false, answer })
    }

    /// Adds the reply to a request that needs no shard.
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

    /// Refuses a request whose keys are in different slots.
    #[cold]
    pub fn refuse_slots(&mut self, class: Class) -> Flow {
        self.reply(class, |out| out.extend_from_slice(CROSSSLOT));
        Flow::Next
    }

    /// Writes as much as the socket accepts. The result is `true` if nothing is left. `left` is
    /// called for replies that have been written.
    pub fn write(&mut self, left: impl FnMut(&ReplyBatch)) -> std::io::Result<(usize, bool)> {
        self.output.write(&mut self.stream, left)
    }

    /// Writes a part of a long reply. Returns the number of bytes written immediately.
    pub fn write_piece(&mut self, piece: &[u8]) -> usize {
        self.output.write_piece(&mut self.stream, piece)
    }

    /// Ends the transaction and removes all watches.
    pub fn end_transaction(&mut self) {
        if let Some(dedicated) = self.dedicated.as_deref_mut() {
            dedicated.transaction = None;
            dedicated.watching = None;
        }
    }

    /// Frees memory that an idle connection does not need.
    pub fn release_unused_memory(&mut self) {
        self.output.release_unused_memory();
        if self.input.is_empty() {
            free_buffer(&mut self.input);
        }
    }
}
