//! An outage of a shard from the perspective of one worker.

use crate::command::Class;
use crate::outage::Outage;
use crate::worker::types::request::Pending;

#[derive(Debug)]
pub struct OpenOutage {
    pub outage: Outage,
    /// Whether the shard answers but accepts no writes.
    pub is_read_only: bool,
    /// Number of waiting requests that may be sent to it in each retry round.
    pub retry_quota: u32,
}

impl OpenOutage {
    /// Whether the outage would end if the request were executed.
    pub fn concerns(&self, pending: &Pending) -> bool {
        self.has(pending.slot) && !(self.is_read_only && pending.class == Class::Read)
    }

    pub fn has(&self, slot: u16) -> bool {
        self.outage.slots.iter().any(|&(first, last)| (first..=last).contains(&slot))
    }
}
