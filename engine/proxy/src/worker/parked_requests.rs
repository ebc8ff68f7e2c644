//! Requests that no primary can execute now: they are kept, and sent again in the order in which
//! their clients sent them.

use crate::arena::Id;
use crate::stats::Failure;
use crate::worker::Worker;
use crate::worker::send::RETRY;
use crate::worker::types::request::{Pending, RequestResult};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A request that waits for a primary.
#[derive(Debug)]
pub struct Parked {
    pub pending: Pending,
    pub bytes: Vec<u8>,
    /// MULTI and other requests that precede the first command of a transaction. Their replies are
    /// discarded.
    pub opening: Vec<Vec<u8>>,
    pub identity: usize,
    pub is_dedicated: bool,
    /// Version of the topology that is known to be wrong for this request, which waits for a newer
    /// one.
    pub outdated: Option<u64>,
    /// Error for the client if no primary becomes available.
    pub error: Vec<u8>,
}

/// Requests by client, so that the cost of handling one client's reply does not depend on the
/// number of other waiting requests.
#[derive(Debug, Default)]
pub struct ParkedRequests {
    by_client: BTreeMap<Id, Vec<Parked>>,
}

impl ParkedRequests {
    pub fn is_empty(&self) -> bool {
        self.by_client.is_empty()
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.by_client.values().map(Vec::len).sum()
    }

    /// Returns the size of the requests, in bytes.
    pub fn memory(&self) -> usize {
        self.by_client.values().flatten().map(|parked| parked.bytes.len()).sum()
    }

    pub fn add(&mut self, parked: Parked) -> &mut Parked {
        let of_client = self.by_client.entry(parked.pending.reply_to.client).or_default();
        of_client.push(parked);
        of_client.last_mut().expect("it was just inserted")
    }

    /// Removes and returns all requests, those of each client in the order sent. Refused requests
    /// return in a different order.
    fn take(&mut self) -> impl Iterator<Item = Parked> + use<> {
        std::mem::take(&mut self.by_client).into_values().flat_map(|mut of_client| {
            of_client.sort_by(|one, other| order(one.pending.reply_to.number, other.pending.reply_to.number));
            of_client
        })
    }

    /// Removes and returns the requests of one client that match.
    pub fn extract(&mut self, client: Id, is_such: impl Fn(&Parked) -> bool) -> Vec<Parked> {
        let Some(of_client) = self.by_client.get_mut(&client) else { return Vec::new() };
        if !of_client.iter().any(&is_such) {
            return Vec::new();
        }
        let (extracted, others) = std::mem::take(of_client).into_iter().partition(is_such);
        *of_client = others;
        if of_client.is_empty() {
            self.by_client.remove(&client);
        }
        extracted
    }
}

/// Client and slot. Requests of one client for one slot are executed in the order in which they
/// arrived.
type ClientSlot = (Id, u16);

fn client_slot(pending: &Pending) -> ClientSlot {
    (pending.reply_to.client, pending.slot)
}

/// Compares the numbers of two requests of one client. The numbers may wrap around, but pending
/// ones are never that far apart.
fn order(number: u32, other: u32) -> Ordering {
    (number.wrapping_sub(other) as i32).cmp(&0)
}

/// Whether the client's request `number` arrived after `other`.
pub(super) fn is_later(number: u32, other: u32) -> bool {
    order(number, other).is_gt()
}

impl Worker {
    /// Keeps a request until a primary can execute it, or its time has expired.
    pub(super) fn park(
        &mut self,
        db: usize,
        identity: usize,
        is_dedicated: bool,
        bytes: &[u8],
        mut pending: Pending,
        error: &[u8],
    ) -> &mut Parked {
        if pending.deadline == 0 {
            pending.deadline = self.now + self.dbs[db].failover_wait();
            self.count_result(db, &pending, RequestResult::Waits);
        }
        let db = &mut self.dbs[db];
        if db.parked.is_empty() {
            db.retry_at = self.now + RETRY / 2;
        }
        let (bytes, error) = (bytes.to_vec(), error.to_vec());
        db.parked.add(Parked {
            pending,
            bytes,
            opening: Vec::new(),
            identity,
            is_dedicated,
            outdated: None,
            error,
        })
    }

    /// Sends waiting requests again. A shard that was unavailable receives only a few until it
    /// executes one: thousands of repeatedly refused requests would slow down the worker's other
    /// clients.
    pub(super) fn retry_parked(&mut self, db: usize) {
        self.dbs[db].retry_at = self.now + RETRY / 2;
        let sent = self.sent_behind_parked(db);
        let mut left: Vec<_> = self.dbs[db].outages.iter().map(|open| open.retry_quota).collect();
        let mut held = HashSet::new();
        for parked in self.dbs[db].parked.take() {
            if parked.pending.deadline <= self.now {
                self.dbs[db].stats.failed(Failure::Timeout);
                if !parked.opening.is_empty() {
                    self.never_opened(parked.pending.reply_to.client);
                }
                self.deliver_failure(db, &parked.pending, RequestResult::Failed, &parked.error);
                continue;
            }
            if self.clients.get(parked.pending.reply_to.client).is_none() {
                // It was not executed and must not be: its client has disconnected, and it had the
                // permissions of that client.
                continue;
            }
            let client_slot = client_slot(&parked.pending);
            let is_outdated = parked.outdated.is_some() && parked.outdated == self.dbs[db].topology.version;
            let is_behind = |last: &u32| is_later(*last, parked.pending.reply_to.number);
            let must_wait =
                is_outdated || held.contains(&client_slot) || sent.get(&client_slot).is_some_and(is_behind);
            let outage = self.dbs[db].outages.iter().position(|open| open.concerns(&parked.pending));
            let left = outage.and_then(|at| left.get_mut(at));
            let backend = if must_wait || left.as_ref().is_some_and(|left| **left == 0) {
                None
            } else if parked.is_dedicated {
                self.dedicated_again(db, &parked.pending)
            } else {
                self.shared(db, parked.identity, &parked.pending)
            };
            let Some(id) = backend else {
                held.insert(client_slot);
                self.dbs[db].parked.add(parked);
                continue;
            };
            if let Some(left) = left {
                *left -= 1;
            }
            if !parked.opening.is_empty() {
                self.opened(parked.pending.reply_to.client, id, &parked.opening);
            }
            let (bytes, pending) = self.with_remaining_timeout(&parked, parked.pending);
            self.enqueue(id, &bytes, pending);
        }
    }

    /// Returns, by client and slot, the last request that a shard has not answered yet, if earlier
    /// ones are parked. If these were sent again now, they could be executed after it. When it is
    /// answered, it is parked after them or has overtaken them.
    fn sent_behind_parked(&mut self, db: usize) -> HashMap<ClientSlot, u32> {
        let parked = &self.dbs[db].parked.by_client;
        let mut sent = HashMap::new();
        for id in self.backends.ids() {
            let Some(backend) = self.backends.get(id).filter(|backend| backend.db == db) else { continue };
            for pending in
                backend.inflight.iter().filter(|pending| parked.contains_key(&pending.reply_to.client))
            {
                let number = pending.reply_to.number;
                let last = sent.entry(client_slot(pending)).or_insert(number);
                if is_later(number, *last) {
                    *last = number;
                }
            }
        }
        sent
    }
}
