//! reply -> client: writes output, and closes clients.

use crate::arena::Id;
use crate::poll::Interest;
use crate::worker::Worker;
use crate::worker::clients::client::Client;
use crate::worker::clients::reply::Answer;

/// Maximum number of rounds that output is held back so that more can be added, and number of bytes
/// above which it is not.
const DEFERRALS: u32 = 16;
const DEFERRED_OUTPUT: usize = 16 * 1024;

impl Worker {
    /// Changes the events for which a client is polled.
    pub fn set_interest(&mut self, id: Id, change: impl FnOnce(&mut Interest)) {
        if !self.clients.set_interest(&self.upstream.io, id, change) {
            self.close_client(id);
        }
    }

    pub fn flush_clients(&mut self) {
        let dirty = self.clients.dirty.take();
        for &id in &dirty {
            // The shards answer a pipeline within a few rounds. One packet with all replies is
            // better for the client than several.
            match self.clients.arena.get(id) {
                Some(client) if !client.is_drained() && client.output.size() < DEFERRED_OUTPUT => {
                    self.clients.deferred.push(id)
                }
                _ => self.flush_client(id),
            }
        }
        self.clients.dirty.reuse(dirty);
    }

    /// Writes output that was held back: when all replies are present, when there is no other work,
    /// or after a few rounds.
    pub fn flush_deferred(&mut self, is_idle: bool) {
        if self.clients.deferred.is_empty() {
            return;
        }
        self.clients.deferrals += 1;
        let all = is_idle || self.clients.deferrals > DEFERRALS;
        if all {
            self.clients.deferrals = 0;
        }
        let deferred = std::mem::take(&mut self.clients.deferred);
        for &id in &deferred {
            match self.clients.arena.get(id) {
                Some(client) if !all && !client.is_drained() => self.clients.deferred.push(id),
                _ => self.flush_client(id),
            }
        }
    }

    pub fn flush_client(&mut self, id: Id) {
        let now = self.upstream.io.clock();
        let Some(client) = self.clients.arena.get_mut(id) else { return };
        client.dirty = false;
        let db = &mut self.upstream.dbs[client.db];
        let stats = &mut db.stats;
        let Ok((written, done)) = client.write(|replies| stats.replied(replies, now)) else {
            self.close_client(id);
            return;
        };
        stats.bytes_out += written as u64;
        if done && client.closing && client.is_settled()
            || client.output.is_beyond(db.config.output_limit_bytes)
        {
            self.close_client(id);
            return;
        }
        if client.paused && !client.resuming && written > 0 {
            client.resuming = true;
            self.clients.resume.push(id);
        }
        if let Some(feed) = client.output.ready_feed() {
            self.upstream.backends.resume_reading(&self.upstream.io, feed);
        }
        self.update_memory(id);
        self.set_interest(id, |interest| interest.write = !done);
        self.go_if_ready(id);
    }

    pub fn close_client(&mut self, id: Id) {
        let Some(mut client) = self.clients.arena.remove(id) else { return };
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
        for id in self.clients.arena.ids() {
            let Some(client) = self.clients.arena.get_mut(id).filter(|client| which(client)) else {
                continue;
            };
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
