//! command -> shard: finds or opens the connection.

use crate::arena::Id;
use crate::poll::Source;
use crate::reply_safety;
use crate::socket;
use crate::stats::Failure;
use crate::topology::TargetNumber;
use crate::worker::clients::client::Client;
use crate::worker::types::errors::NO_PRIMARY;
use crate::worker::types::request::{Pending, Purpose};
use crate::worker::types::session::Credentials;
use crate::worker::upstream::Upstream;
use crate::worker::upstream::backend::Backend;
use crate::worker::upstream::db::{Db, RETRY};
use resp::encode;

impl Upstream {
    /// Sends a request on a shared connection to the owner of its slot. If the request must wait,
    /// so must its client.
    #[inline]
    pub fn send(&mut self, client: &mut Client, bytes: &[u8], pending: Pending) {
        let db = client.db;
        match self.shared(db, client.identity, &pending) {
            Some(backend) => client.congested = self.enqueue(backend, bytes, pending),
            None => {
                client.topology_version = self.dbs[db].topology_version.wrapping_sub(1);
                self.dbs[db].park(self.io.now, client.identity, false, bytes, pending, NO_PRIMARY);
            }
        }
    }

    #[inline]
    pub fn shared(&mut self, db: usize, identity: usize, pending: &Pending) -> Option<Id> {
        let target = self.dbs[db].topology.owner(pending.slot)?;
        let lane = self.dbs[db].lane(pending.reply_to.client);
        self.shared_to(db, identity, target, lane)
    }

    #[inline]
    pub fn shared_to(&mut self, db: usize, identity: usize, target: TargetNumber, lane: usize) -> Option<Id> {
        let known = self.dbs[db].identities[identity].connection(lane, target);
        if known.is_some() {
            return known;
        }
        let id = self.open(db, identity, target, None)?;
        self.backends.arena.get_mut(id)?.lane = lane;
        self.dbs[db].identities[identity].set_connection(lane, target, Some(id));
        Some(id)
    }

    /// Returns `true` if the connection is congested. The client must then wait.
    #[inline]
    pub fn enqueue(&mut self, id: Id, bytes: &[u8], pending: Pending) -> bool {
        self.backends.enqueue(&self.io, id, bytes, pending)
    }

    /// Opens a connection and enqueues its login. Returns `None` if the target is down.
    pub fn open(
        &mut self,
        db: usize,
        identity: usize,
        target: TargetNumber,
        owner: Option<Id>,
    ) -> Option<Id> {
        if self.dbs[db].is_down(target, self.io.now) {
            return None;
        }
        let primary = &self.dbs[db].topology.targets[usize::from(target)];
        let opened = socket::connect(primary.address, primary.unix_socket.as_deref());
        let is_local = primary.unix_socket.is_some();
        let stream = opened.ok().and_then(|fd| self.dbs[db].wire(fd, is_local));
        let Some(stream) = stream else {
            self.refused(db, target);
            return None;
        };
        let mut backend = Backend::new(stream, db, target, identity, owner);
        backend.used_at = self.io.now;
        backend.fences_with_hello = self.dbs[db].identities[identity].fences_with_hello;
        let id = self.backends.arena.insert(Box::new(backend));
        let backend = self.backends.arena.get_mut(id).expect("it was just inserted");
        if self.io.poll.add(backend.stream.fd(), Source::Backend(id), backend.interest).is_err() {
            self.backends.arena.remove(id);
            return None;
        }
        let mut greeting = Vec::new();
        greet(&mut greeting, &self.dbs[db].identities[identity].credentials);
        backend.enqueue(&greeting, Pending::internal(Purpose::Greeting));
        Some(id)
    }

    /// Changes user or protocol of a client. Its dedicated connections log in again, so that they
    /// keep watched keys, tracked keys and subscriptions.
    pub fn change_identity(&mut self, client: &mut Client, identity: usize) {
        let db = &mut self.dbs[client.db];
        if client.identity == identity {
            return;
        }
        db.identities[client.identity].clients -= 1;
        db.identities[identity].clients += 1;
        client.identity = identity;
        let Some(dedicated) = client.dedicated.as_deref() else { return };
        let mut greeting = Vec::new();
        greet(&mut greeting, &db.identities[identity].credentials);
        for connection in dedicated.all_backends() {
            let Some(backend) = self.backends.arena.get_mut(connection) else { continue };
            backend.identity = identity;
            self.enqueue(connection, &greeting, Pending::internal(Purpose::Greeting));
        }
    }

    pub fn refused(&mut self, db: usize, target: TargetNumber) {
        let until = self.io.now + RETRY;
        self.dbs[db].set_down(target, until);
        self.start_outage(db, target, false);
        self.dbs[db].stats.failed(Failure::Refused);
    }

    /// Connects the identity without a login to all primaries before the first request.
    pub fn preconnect(&mut self, db: usize) {
        let targets: Vec<_> = {
            let topology = &self.dbs[db].topology;
            topology.representatives().filter_map(|slot| topology.owner(slot)).collect()
        };
        for target in targets {
            if let Some(id) = self.shared_to(db, 0, target, 0) {
                self.backends.mark_dirty(id);
            }
        }
    }
}

impl Db {
    /// Whether the shard has accepted the login of the connection.
    pub fn has_greeted(&self, backend: &Backend) -> bool {
        let is_pending = backend.inflight.front().is_some_and(|oldest| oldest.purpose == Purpose::Greeting);
        !is_pending && self.identities[backend.identity].rejected.is_none()
    }

    /// Handles the reply of the shard to HELLO. `None`: this identity cannot execute commands.
    pub fn handle_hello_reply(&mut self, backend: &mut Backend, frame: &[u8]) -> Option<()> {
        let identity = &mut self.identities[backend.identity];
        identity.noauth = frame.starts_with(b"-NOAUTH");
        if frame[0] == b'-' && !identity.noauth {
            identity.rejected = Some(frame.to_vec());
            return None;
        }
        identity.rejected = None;
        backend.has_safe_scripts = reply_safety::has_safe_scripts(frame);
        self.learn_engine(frame);
        // On a dedicated connection, every reply belongs to the client.
        if frame[0] != b'-' && backend.owner.is_none() && self.commands.is_other_engine(frame) {
            backend.enqueue(b"*1\r\n$7\r\nCOMMAND\r\n", Pending::internal(Purpose::Commands));
        }
        Some(())
    }
}

fn greet(out: &mut Vec<u8>, credentials: &Credentials) {
    let version: &[u8] = if credentials.resp3 { b"3" } else { b"2" };
    let mut hello: Vec<&[u8]> = vec![b"HELLO", version];
    if let Some((user, password)) = &credentials.login {
        hello.extend([b"AUTH", user.as_slice(), password.as_slice()]);
    }
    hello.extend([&b"SETNAME"[..], b"shardboard-proxy"]);
    encode::command(out, hello.into_iter());
}
