//! The clients of a worker, their expected replies and their output. Nothing here uses connections
//! to shards.

pub mod client;
pub mod dedicated;
pub mod info;
pub mod join;
pub mod output;
pub mod reply;
pub mod scan;

use crate::arena::{Arena, Id};
use crate::poll::{Interest, Source};
use crate::stats::{Failure, Stats};
use crate::worker::io::Io;
use crate::worker::types::dirty::DirtyList;
use crate::worker::types::request::Pending;
use client::Client;
use join::Kind;
use reply::{Answer, ReplyAction};
use resp::RequestParser;

#[derive(Default)]
pub struct Clients {
    pub arena: Arena<Client>,
    pub dirty: DirtyList,
    /// Clients that are resumed in this round.
    pub resume: Vec<Id>,
    /// Clients whose time slice ended before all their input was handled.
    pub yielded: Vec<Id>,
    /// Clients with output that is held back briefly, so that more can be added.
    pub deferred: Vec<Id>,
    /// Clients that have closed their sending side, and have pending requests.
    pub half_closed: Vec<HalfClosed>,
    /// Number of rounds in which output was held back.
    pub deferrals: u32,
    /// Parser of all clients without an incomplete request.
    pub parser: RequestParser,
}

/// A client that has closed its sending side, and has pending requests.
pub struct HalfClosed {
    pub id: Id,
    /// The oldest pending request if it may wait for an event: its number, and the time since which
    /// all earlier replies have been written.
    pub blocking: Option<(u32, u64)>,
}

impl Clients {
    /// Delivers a complete reply. Returns the action that the worker must execute before the client
    /// receives the reply, if any.
    #[inline]
    pub fn deliver(
        &mut self,
        stats: &mut Stats,
        topology_version: u32,
        pending: &Pending,
        frame: &[u8],
    ) -> Option<Box<ReplyAction>> {
        let reply_to = pending.reply_to;
        let client = self.arena.get_mut(reply_to.client)?;
        if frame[0] == b'-' {
            stats.failed(Failure::of(frame));
        }
        let slot = client.output.expected(reply_to.number)?;
        match &mut slot.answer {
            Answer::Waiting => client.output.answer(reply_to.number, frame),
            Answer::Joining(join) => {
                let is_complete = join.add(reply_to.part, frame);
                let complete = is_complete
                    .then(|| (join.kind == Kind::Minimum, join.finish(pending.class), join.held()));
                client.joining += frame.len();
                if let Some((is_wait, mut joined, held)) = complete {
                    if is_wait
                        && client.unconfirmed.is_some_and(|one| one.topology_version != topology_version)
                    {
                        // The shard that acknowledged the write may have been lost, and the write
                        // with it.
                        joined = b":0\r\n".to_vec();
                    }
                    client.joining = client.joining.saturating_sub(held);
                    client.output.answer(reply_to.number, &joined);
                }
            }
            Answer::Action(_) => {
                let Answer::Action(action) = std::mem::replace(&mut slot.answer, Answer::Waiting) else {
                    return None;
                };
                return Some(action);
            }
            Answer::Stashed { .. } => return None,
        }
        self.mark_progress(reply_to.client);
        None
    }

    /// Handles a new reply for a client: it has output, and is resumed if it waited.
    #[inline]
    pub fn mark_progress(&mut self, id: Id) {
        let Some(client) = self.arena.get_mut(id) else { return };
        if !client.dirty {
            client.dirty = true;
            self.dirty.add(id);
        }
        client.blocked &= !client.is_drained();
        if client.paused && !client.resuming {
            client.resuming = true;
            self.resume.push(id);
        }
    }

    /// Marks the client so that its output is written at the end of the round.
    pub fn mark_dirty(&mut self, id: Id) {
        let Some(client) = self.arena.get_mut(id) else { return };
        if !client.dirty && (client.output.has_some() || client.closing || client.stream.wants_write()) {
            client.dirty = true;
            self.dirty.add(id);
        }
    }

    /// Changes the events for which a client is polled. Returns `false` if the client cannot be
    /// polled any longer.
    #[inline]
    pub fn set_interest(&mut self, io: &Io, id: Id, change: impl FnOnce(&mut Interest)) -> bool {
        let Some(client) = self.arena.get_mut(id) else { return true };
        let before = client.interest;
        change(&mut client.interest);
        before == client.interest
            || io.poll.change(client.stream.fd(), Source::Client(id), client.interest).is_ok()
    }

    /// Returns the client of a database that uses most memory, and the memory in bytes.
    pub fn heaviest(&self, db: usize) -> Option<(Id, usize)> {
        let ids = self.arena.ids().into_iter();
        let clients = ids.filter_map(|id| Some((id, self.arena.get(id).filter(|client| client.db == db)?)));
        clients.map(|(id, client)| (id, client.accounted_memory)).max_by_key(|(_, memory)| *memory)
    }
}
