//! Clients -> connections: selects the connection of each request, limits the number in flight, and
//! sends them with one write.

use crate::connection::{Connection, State};
use crate::outage::Event;
use crate::request::Operation;
use crate::worker::{SECOND, Worker};
use net::arena::Id;
use net::poll::{Interest, Source};
use rand::Rng;
use resp::slot;
use std::io;

/// Maximum number of requests of one client that wait for one shard.
const MAX_QUEUE: usize = 1_000;
/// The same with a schedule, which does not wait for replies.
const MAX_BACKLOG: usize = 100_000;
/// Requests that wait for an unavailable shard fail after this time.
const QUEUE_PATIENCE: u64 = 30 * SECOND;

impl Worker {
    /// Fills and writes every connection that has work to do.
    pub fn serve_touched(&mut self) {
        loop {
            if !self.deferred.is_empty() {
                self.enqueue_deferred();
            }
            let Some(id) = self.touched.pop() else { return };
            let Some(mut connection) = self.connections.take(id) else { continue };
            connection.touched = false;
            self.fill(id, &mut connection);
            let outcome = self.flush(id, &mut connection);
            self.connections.put_back(id, connection);
            if outcome.is_err() {
                self.handle_loss(id, "RESET");
            }
        }
    }

    /// Adds requests to the connection until its pipeline is full.
    fn fill(&mut self, id: Id, connection: &mut Connection) {
        if !connection.is_ready() || self.stopping.is_some() {
            return;
        }
        let pipeline = self.shared.options.pipeline;
        if self.shared.options.reconnect_interval.is_some_and(|interval| connection.served >= interval) {
            if connection.in_flight.is_empty() {
                self.close(id, connection);
            }
            return;
        }
        while connection.in_flight.len() < pipeline {
            if self.shared.options.reconnect_interval.is_some_and(|interval| connection.served >= interval) {
                return;
            }
            if let Some(limit) = self.shared.options.rate_limiting {
                let now = self.shared.now();
                if connection.next_due > now {
                    self.set_timer(connection.next_due, id);
                    return;
                }
                // A missed slot is not made up for later.
                connection.next_due = (connection.next_due + SECOND / limit).max(now);
            }
            if let Some(operation) = connection.queue.pop_front() {
                self.queued -= 1;
                self.put(connection, operation);
                self.release_held(connection.client);
                continue;
            }
            if self.schedule.is_some() {
                return;
            }
            let Some(operation) = self.generate(connection.client) else { return };
            let other = self.connection_for(connection.client, &operation);
            if other == id {
                self.put(connection, operation);
            } else if !self.try_enqueue(connection.client, other, operation) {
                return;
            }
        }
    }

    #[inline]
    pub fn generate(&mut self, seat: usize) -> Option<Operation> {
        if let Some(operation) = self.seats[seat].held.take() {
            let id = self.connection_for(seat, &operation);
            if !self.try_enqueue(seat, id, operation) {
                return None;
            }
        }
        let place = &mut self.seats[seat];
        let drawn = place.client.next(&self.shared.options, &self.shared.workload);
        place.drawn_all = drawn.is_none();
        drawn
    }

    /// Returns the connection of the client to the owner of the key, which is created if necessary.
    #[inline]
    pub fn connection_for(&mut self, seat: usize, operation: &Operation) -> Id {
        let target = if self.shared.options.cluster {
            let slot = slot::of_key(self.writer.key(operation.key));
            // For a slot without an owner, any server returns the correct error.
            let owner = self.topology.slots[usize::from(slot)];
            if owner == crate::topology::NO_OWNER { 0 } else { owner }
        } else {
            0
        };
        self.connection_to(seat, target)
    }

    pub fn connection_to(&mut self, seat: usize, target: u16) -> Id {
        let known = self.seats[seat].connections.get(usize::from(target)).copied().unwrap_or(Id::NONE);
        if known != Id::NONE {
            return known;
        }
        let now = self.shared.now();
        let id = self.connections.insert(Box::new(Connection::new(seat, target, now)));
        let places = &mut self.seats[seat].connections;
        if places.len() <= usize::from(target) {
            places.resize(usize::from(target) + 1, Id::NONE);
        }
        places[usize::from(target)] = id;
        // A timer opens the connection, because the caller may be serving another one.
        let (low, high) = self.shared.options.start_jitter;
        let jitter = if high == 0 { 0 } else { rand::rng().random_range(low..=high) * 1_000 };
        self.set_timer(jitter * (seat as u64 + 1), id);
        id
    }

    /// Queues a request for another shard (closed loop). Returns `false` if that queue is full and
    /// the client must wait.
    fn try_enqueue(&mut self, seat: usize, id: Id, operation: Operation) -> bool {
        let Some(connection) = self.connections.get(id) else {
            // The connection has been retired. The request goes to the current owner of its key.
            self.deferred.push((seat, operation));
            return true;
        };
        if connection.queue.len() < MAX_QUEUE {
            self.enqueue(seat, id, operation);
            return true;
        }
        if !connection.is_ready() && !self.shared.workload.is_walk(operation.template) {
            // The shard is unavailable and its queue is full. The client continues with other
            // shards.
            self.tally.skipped += 1;
            return true;
        }
        self.seats[seat].held = Some(operation);
        self.touch(id);
        false
    }

    /// Appends a request to the queue of a connection.
    pub fn enqueue(&mut self, seat: usize, id: Id, operation: Operation) {
        let Some(connection) = self.connections.get_mut(id) else {
            // The connection is being served or was retired: enqueue the request later in this
            // round.
            self.deferred.push((seat, operation));
            return;
        };
        if connection.queue.len() >= MAX_BACKLOG {
            self.fail(&operation, "OVERFLOW");
            return;
        }
        connection.queue.push_back(operation);
        self.queued += 1;
        self.touch(id);
    }

    fn enqueue_deferred(&mut self) {
        for (seat, operation) in std::mem::take(&mut self.deferred) {
            let id = self.connection_for(seat, &operation);
            self.enqueue(seat, id, operation);
        }
    }

    /// Puts a request at the head of the queue, because it was sent before.
    pub fn enqueue_first(&mut self, seat: usize, id: Id, operation: Operation) {
        let Some(connection) = self.connections.get_mut(id) else {
            self.deferred.push((seat, operation));
            return;
        };
        connection.queue.push_front(operation);
        self.queued += 1;
        self.touch(id);
    }

    /// Enqueues the held request of a client, because the queue has free capacity again.
    #[inline]
    fn release_held(&mut self, seat: usize) {
        if self.seats[seat].held.is_none() {
            return;
        }
        let Some(operation) = self.seats[seat].held.take() else { return };
        let id = self.connection_for(seat, &operation);
        self.enqueue(seat, id, operation);
        for id in self.seats[seat].connections.clone() {
            self.touch(id);
        }
    }

    #[inline]
    fn put(&mut self, connection: &mut Connection, operation: Operation) {
        let before = connection.out.len();
        let data = if self.writer.template(operation.template).has_data {
            self.values.next(&operation, &mut self.writer)
        } else {
            &[]
        };
        self.writer.write(&operation, data, &mut connection.out);
        let row = self.shared.workload.rows[usize::from(operation.template)];
        self.tally.rows[row].sent += (connection.out.len() - before) as u64;
        connection.in_flight.push_back(operation);
        connection.unsent_count += 1;
        connection.served += 1;
        self.in_flight += 1;
    }

    /// Writes the buffer. The time of this write is the send time of its requests.
    pub fn flush(&mut self, id: Id, connection: &mut Connection) -> io::Result<()> {
        let Some(stream) = &mut connection.stream else { return Ok(()) };
        if matches!(connection.state, State::Connecting { .. }) {
            return Ok(());
        }
        if connection.unsent_count > 0 {
            let now = self.shared.now();
            for operation in connection.in_flight.iter_mut().rev().take(connection.unsent_count) {
                if operation.sent == 0 {
                    operation.sent = now;
                }
            }
            connection.unsent_count = 0;
        }
        let mut full = false;
        while connection.written < connection.out.len() {
            match stream.write(&connection.out[connection.written..]) {
                Ok(count) => connection.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    full = true;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if connection.written == connection.out.len() {
            connection.out.clear();
            connection.written = 0;
        }
        let wants = Interest { read: true, write: full || stream.wants_write(), hangup: false };
        if wants != connection.interest {
            connection.interest = wants;
            self.poll.change(stream.fd(), Source::Backend(id), wants)?;
        }
        Ok(())
    }

    /// Fails the requests that wait for a shard that has been unreachable for too long.
    pub fn expire_queue(&mut self, id: Id, now: u64) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        if connection.is_ready() || now < connection.down_since + QUEUE_PATIENCE {
            return;
        }
        let waiting = std::mem::take(&mut connection.queue);
        self.queued -= waiting.len() as u64;
        for operation in &waiting {
            self.fail(operation, "UNREACHABLE");
        }
        self.seats
            .iter()
            .position(|seat| seat.held.is_some())
            .into_iter()
            .for_each(|seat| self.release_held(seat));
    }

    /// Handles a transient failure: sends the request again if the options allow it, otherwise
    /// counts it as failed.
    pub fn fail_or_retry(&mut self, mut operation: Operation, seat: usize, kind: &str) {
        let options = &self.shared.options;
        let allowed = options.max_retries < 0 || i64::from(operation.retries) < options.max_retries;
        if !options.retry_on_error || !allowed || self.stopping.is_some() {
            self.fail(&operation, kind);
            return;
        }
        operation.retries = operation.retries.saturating_add(1);
        operation.redirections = 0;
        let now = self.shared.now();
        let group = self.group_of(&operation);
        self.tally.retried += 1;
        self.accounts[usize::from(group)].record_event(now, Event::Error(kind.into(), 1));
        self.accounts[usize::from(group)].record_event(now, Event::Retried(1));
        let there = self.connection_for(seat, &operation);
        self.enqueue(seat, there, operation);
    }

    /// Counts a request that will not be retried.
    pub fn fail(&mut self, operation: &Operation, kind: &str) {
        let now = self.shared.now();
        let group = self.group_of(operation);
        self.tally.failed(kind, 1);
        let row = self.shared.workload.rows[usize::from(operation.template)];
        self.tally.rows[row].errors += 1;
        self.accounts[usize::from(group)].record_event(now, Event::Error(kind.into(), 1));
    }

    /// Returns the index of the account of the shard that the request is for.
    #[inline]
    pub fn group_of(&mut self, operation: &Operation) -> u16 {
        if self.accounts.len() == 1 {
            return 0;
        }
        self.shared.groups[usize::from(slot::of_key(self.writer.key(operation.key)))]
    }
}
