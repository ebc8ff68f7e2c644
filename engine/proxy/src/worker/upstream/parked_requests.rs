//! Requests that no primary can execute now: they are kept, and sent again in the order in which
//! their clients sent them.

use crate::arena::Id;
use crate::worker::types::request::Pending;
use std::cmp::Ordering;
use std::collections::BTreeMap;

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

    /// Whether requests of this client are waiting.
    pub fn has(&self, client: Id) -> bool {
        self.by_client.contains_key(&client)
    }

    /// Whether earlier requests of the same client and slot are waiting.
    pub fn has_earlier(&self, pending: &Pending) -> bool {
        self.by_client.get(&pending.reply_to.client).is_some_and(|of_client| {
            of_client.iter().any(|parked| {
                parked.pending.slot == pending.slot
                    && is_later(pending.reply_to.number, parked.pending.reply_to.number)
            })
        })
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
    pub fn take(&mut self) -> impl Iterator<Item = Parked> + use<> {
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
pub type ClientSlot = (Id, u16);

/// Requests of one client for one slot that a shard has not answered yet.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// The number of the last one.
    pub last: u32,
    /// The connection of all of them. `None`: there are several.
    pub at: Option<Id>,
}

impl Sent {
    /// Whether a parked request would change the order if it were sent on this connection now: it
    /// could be executed after a later one, or before an earlier one on another connection. When a
    /// later one is answered, it is parked after this one or has overtaken it.
    pub fn delays(&self, pending: &Pending, connection: Id) -> bool {
        is_later(self.last, pending.reply_to.number) || self.at != Some(connection)
    }
}

pub fn client_slot(pending: &Pending) -> ClientSlot {
    (pending.reply_to.client, pending.slot)
}

/// Compares the numbers of two requests of one client. The numbers may wrap around, but pending
/// ones are never that far apart.
fn order(number: u32, other: u32) -> Ordering {
    (number.wrapping_sub(other) as i32).cmp(&0)
}

/// Whether the client's request `number` arrived after `other`.
pub fn is_later(number: u32, other: u32) -> bool {
    order(number, other).is_gt()
}
