//! Requests that no primary can execute now are kept.

use crate::worker::types::request::{Pending, RequestResult};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::db::{Db, RETRY};
use crate::worker::upstream::parked_requests::{ClientSlot, Parked, client_slot, is_later};
use std::collections::HashMap;

impl Db {
    /// Keeps a request until a primary can execute it, or its time has expired.
    pub fn park(
        &mut self,
        now: u64,
        identity: usize,
        is_dedicated: bool,
        bytes: &[u8],
        mut pending: Pending,
        error: &[u8],
    ) -> &mut Parked {
        if pending.deadline == 0 {
            pending.deadline = now + self.failover_wait();
            self.count_result(&pending, RequestResult::Waits);
        }
        if self.parked.is_empty() {
            self.retry_at = now + RETRY / 2;
        }
        let (bytes, error) = (bytes.to_vec(), error.to_vec());
        self.parked.add(Parked {
            pending,
            bytes,
            opening: Vec::new(),
            identity,
            is_dedicated,
            outdated: None,
            error,
        })
    }
}

impl Upstream {
    /// Returns, by client and slot, the last request that a shard has not answered yet, if earlier
    /// ones are parked. If these were sent again now, they could be executed after it. When it is
    /// answered, it is parked after them or has overtaken them.
    pub fn sent_behind_parked(&self, db: usize) -> HashMap<ClientSlot, u32> {
        let parked = &self.dbs[db].parked;
        let mut sent = HashMap::new();
        for id in self.backends.arena.ids() {
            let Some(backend) = self.backends.arena.get(id).filter(|backend| backend.db == db) else {
                continue;
            };
            for pending in backend.inflight.iter().filter(|pending| parked.has(pending.reply_to.client)) {
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
