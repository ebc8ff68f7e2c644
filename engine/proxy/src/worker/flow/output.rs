//! reply -> client: writes output, and closes clients.

use crate::arena::Id;
use crate::poll::{Interest, Source};
use crate::worker::Worker;
use crate::worker::clients::client::Client;
use crate::worker::clients::reply::Answer;

/// Maximum number of rounds that output is held back so that more can be added, and number of bytes
/// above which it is not.
const DEFERRALS: u32 = 16;
const DEFERRED_OUTPUT: usize = 16 * 1024;

impl Worker {
    /// Marks the client so that its output is written at the end of the round.
    pub fn mark_client(&mut self, id: Id) {
        let Some(client) = self.clients.get_mut(id) else { return };
        if !client.dirty && (client.output.has_some() || client.closing || client.stream.wants_write()) {
            client.dirty = true;
            self.dirty_clients.add(id);
        }
    }

    pub fn set_interest(&mut self, id: Id, change: impl FnOnce(&mut Interest)) {
        if !self.change_interest(id, change) {
            self.close_client(id);
        }
    }

    /// Returns `false` if the client cannot be polled any longer.
    #[inline]
    fn change_interest(&mut self, id: Id, change: impl FnOnce(&mut Interest)) -> bool {
        let Some(client) = self.clients.get_mut(id) else { return true };
        let before = client.interest;
        change(&mut client.interest);
        before == client.interest
            || self.upstream.io.poll.change(client.stream.fd(), Source::Client(id), client.interest).is_ok()
    }

    pub fn flush_clients(&mut self) {
        let dirty = self.dirty_clients.take();
        for &id in &dirty {
            // The shards answer a pipeline within a few rounds. One packet with all replies is
            // better for the client than several.
            match self.clients.get(id) {
                Some(client) if !client.is_drained() && client.output.size() < DEFERRED_OUTPUT => {
                    self.deferred.push(id)
                }
                _ => self.flush_client(id),
            }
        }
        self.dirty_clients.reuse(dirty);
    }

    /// Writes output that was held back: when all replies are present, when there is no other work,
    /// or after a few rounds.
    pub fn flush_deferred(&mut self, is_idle: bool) {
        if self.deferred.is_empty() {
            return;
        }
        self.deferrals += 1;
        let all = is_idle || self.deferrals > DEFERRALS;
        if all {
            self.deferrals = 0;
        }
        let deferred = std::mem::take(&mut self.deferred);
        for &id in &deferred {
            match self.clients.get(id) {
                Some(client) if !all && !client.is_drained() => self.deferred.push(id),
                _ => self.flush_client(id),
            }
        }
    }

    pub fn flush_client(&mut self, id: Id) {
        let now = self.upstream.io.clock();
        let Some(client) = self.clients.get_mut(id) else { return };
        client.dirty = false;
        let db = &mut self.upstream.dbs[client.db];
        let stats = &mut db.stats;
        let Ok((written, done)) = client.write(|replies| stats.replied(replies, now)) else {
            self.close_client(id);
            return;
        };
        stats.bytes_out += written as u64;
        if done && client.closing && client.is_drained()
            || client.output.is_beyond(db.config.output_limit_bytes)
        {
            self.close_client(id);
            return;
        }
        if client.paused && !client.resuming && written > 0 {
            client.resuming = true;
            self.resume.push(id);
        }
        if let Some(feed) = client.output.ready_feed() {
            self.upstream.backends.resume_reading(&self.upstream.io, feed);
        }
        self.update_memory(id);
        self.set_interest(id, |interest| interest.write = !done);
        self.go_if_ready(id);
    }

    pub fn close_client(&mut self, id: Id) {
        let Some(mut client) = self.clients.remove(id) else { return };
        self.upstream.io.poll.remove(client.stream.fd());
        client.stream.send_close_notify();
        let (abandoned, feed) = client.output.abandon();
        if let Some(feed) = feed {
            self.upstream.backends.resume_reading(&self.upstream.io, feed);
        }
        self.upstream.release_dedicated(&mut client);
        let db = &mut self.upstream.dbs[client.db];
        db.client_memory -= client.accounted_memory as i64;
        // Identities that the client would have received.
        let identities = abandoned.into_iter().filter_map(|expected| match expected.answer {
            Answer::Action(action) => action.identity(),
            _ => None,
        });
        for identity in identities {
            db.identities[identity].clients -= 1;
        }
        db.identities[client.identity].clients -= 1;
    }

    pub fn finish_clients(&mut self, which: impl Fn(&Client) -> bool) {
        for id in self.clients.ids() {
            let Some(client) = self.clients.get_mut(id).filter(|client| which(client)) else { continue };
            if client.is_drained() && !client.output.has_some() {
                self.close_client(id);
            } else {
                client.closing = true;
                self.set_interest(id, |interest| {
                    *interest = Interest { read: false, hangup: false, ..*interest }
                });
            }
        }
    }
}
