//! Moves clients to another thread when the number of threads changes. A client with pending
//! requests moves when they are answered; a client with a transaction, a subscription or other
//! connection state moves when that has ended.

use crate::arena::Id;
use crate::worker::Worker;
use crate::worker::clients::client::{Client, UnconfirmedWrite};
use crate::worker::types::message::{Handle, Message, MovingClient};

impl Worker {
    /// Passes a share of the clients to the new workers.
    pub fn share(&mut self, with: &[Handle], of: usize) {
        let all = self.clients.arena.ids();
        let count = all.len() * with.len() / of.max(1);
        for (n, id) in all.into_iter().take(count).enumerate() {
            self.send_away(id, &with[n % with.len()]);
        }
    }

    /// Passes all clients to other workers and ends this worker.
    pub fn retire(&mut self, to: Vec<Handle>) {
        for (n, id) in self.clients.arena.ids().into_iter().enumerate() {
            self.send_away(id, &to[n % to.len()]);
        }
        self.schedule.retiring = Some(to);
    }

    fn send_away(&mut self, id: Id, to: &Handle) {
        if let Some(client) = self.clients.arena.get_mut(id) {
            client.destination = Some(to.clone());
            self.go_if_ready(id);
        }
    }

    /// Moves the client if possible. Called whenever all replies to the client have been written.
    pub fn go_if_ready(&mut self, id: Id) {
        let Some(client) = self.clients.arena.get(id) else { return };
        let ready = client.is_drained() && !client.output.has_some() && !client.is_bound() && !client.closing;
        if client.destination.is_none() || !ready {
            return;
        }
        let Some(mut client) = self.clients.arena.remove(id) else { return };
        self.upstream.release_dedicated(&mut client);
        self.upstream.io.poll.remove(client.stream.fd());
        let client = *client;
        let db = &mut self.upstream.dbs[client.db];
        db.client_memory -= client.accounted_memory as i64;
        let identity = &mut db.identities[client.identity];
        identity.clients -= 1;
        let mut moving_client = MovingClient {
            connection_count: client.connection_count,
            uid: db.config.uid,
            stream: client.stream,
            peer: client.peer,
            number: client.number,
            age: self.upstream.io.now.saturating_sub(client.since),
            credentials: identity.credentials.clone(),
            profile: client.profile,
            unconfirmed: client.unconfirmed.map(|one| one.topology_version == db.topology_version),
            muted: client.muted,
            input: client.input,
        };
        if let Some(to) = client.destination {
            moving_client.connection_count.move_to(&to.clients);
            to.send(Message::Adopt(Box::new(moving_client)));
        }
    }

    pub fn adopt(&mut self, moving_client: MovingClient) {
        let Some(db) = self.upstream.dbs.find(moving_client.uid) else { return };
        let MovingClient {
            connection_count,
            stream,
            peer,
            number,
            age,
            credentials,
            profile,
            unconfirmed,
            muted,
            input,
            ..
        } = moving_client;
        let identity = self.upstream.dbs[db].intern(credentials);
        let mut client =
            Client::new(connection_count, stream, peer, db, number, self.upstream.io.now.saturating_sub(age));
        client.identity = identity;
        client.profile = profile;
        let topology_version = self.upstream.dbs[db].topology_version;
        client.unconfirmed = unconfirmed.map(|is_there| UnconfirmedWrite {
            topology_version: topology_version.wrapping_sub(u32::from(!is_there)),
            was_asked: false,
        });
        client.muted = muted;
        client.input = input;
        // Resumed immediately, because its last input may not have been handled.
        client.paused = true;
        let id = self.add_client(client);
        self.clients.resume.push(id);
    }
}
