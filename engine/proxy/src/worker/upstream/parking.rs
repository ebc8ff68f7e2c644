//! Requests that no primary can execute now are kept.

use crate::worker::types::request::{Pending, RequestResult};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::db::{Db, RETRY};
use crate::worker::upstream::parked_requests::{ClientSlot, Parked, Sent, client_slot, is_later};
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
    /// Returns, by client and slot, the requests of clients with parked requests that a shard has not
    /// answered yet.
    pub fn sent_beside_parked(&self, db: usize) -> HashMap<ClientSlot, Sent> {
        let parked = &self.dbs[db].parked;
        let mut sent: HashMap<_, Sent> = HashMap::new();
        for id in self.backends.arena.ids() {
            let Some(backend) = self.backends.arena.get(id).filter(|backend| backend.db == db) else {
                continue;
            };
            for pending in backend.inflight.iter().filter(|pending| parked.has(pending.reply_to.client)) {
                let last = pending.reply_to.number;
                let all = sent.entry(client_slot(pending)).or_insert(Sent { last, at: Some(id) });
                if is_later(last, all.last) {
                    all.last = last;
                }
                all.at = all.at.filter(|at| *at == id);
            }
        }
        sent
    }
}
