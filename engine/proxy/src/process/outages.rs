//! A shard that answers no more, as all workers together have seen it.

use serde::Serialize;
use std::collections::BTreeMap;

/// What one worker has seen.
#[derive(Debug, Clone)]
pub struct Part {
    pub worker: usize,
    pub outage: Outage,
}

/// Times are milliseconds since 1970.
#[derive(Debug, Clone, Serialize)]
pub struct Outage {
    pub uid: u64,
    /// Of the primary that was lost.
    pub address: String,
    pub port: u16,
    /// Inclusive ranges that it served.
    pub slots: Vec<(u16, u16)>,
    /// When it answered a request for the last time; null: never.
    pub last_success_ms: Option<u64>,
    /// When a connection to it was lost or refused, or it refused a request.
    pub noticed_ms: u64,
    /// When it, or its heir, answered a request for the first time after that; null: not yet.
    pub first_success_ms: Option<u64>,
    /// Requests that waited for a primary meanwhile, however that ended.
    pub waited: u64,
    /// Those that were answered with an error in the end, without having been executed.
    pub failed: u64,
    /// Those that it had got and not answered, of which nobody knows.
    pub lost: u64,
}

/// Outages that at least one worker still sees.
#[derive(Debug, Default)]
pub(super) struct Outages {
    open: BTreeMap<(u64, String, u16), BTreeMap<usize, Outage>>,
}

impl Outages {
    /// What the agent is to hear: that one begins, and what it was once it is over for all who saw it.
    pub(super) fn add(&mut self, part: Part) -> Option<Outage> {
        let Part { worker, outage } = part;
        let key = (outage.uid, outage.address.clone(), outage.port);
        let parts = self.open.entry(key.clone()).or_default();
        let is_first = parts.is_empty();
        parts.insert(worker, outage);
        if parts.values().all(|part| part.first_success_ms.is_some()) {
            return joined(&self.open.remove(&key)?);
        }
        is_first.then(|| joined(parts)).flatten()
    }

    pub(super) fn forget(&mut self, uid: u64) {
        self.open.retain(|(of, _, _), _| *of != uid);
    }
}

/// What clients of any worker saw: the shard was there while it answered anyone.
fn joined(parts: &BTreeMap<usize, Outage>) -> Option<Outage> {
    let one = parts.values().next()?;
    let sum = |of: fn(&Outage) -> u64| parts.values().map(of).sum();
    Some(Outage {
        last_success_ms: parts.values().filter_map(|part| part.last_success_ms).max(),
        noticed_ms: parts.values().map(|part| part.noticed_ms).min()?,
        first_success_ms: parts.values().filter_map(|part| part.first_success_ms).min(),
        waited: sum(|part| part.waited),
        failed: sum(|part| part.failed),
        lost: sum(|part| part.lost),
        ..one.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_workers_saw_is_one_outage() {
        let part = |worker, last, first| {
            let outage = Outage {
                uid: 1,
                address: "127.0.0.1".into(),
                port: 20000,
                slots: vec![(0, 16383)],
                last_success_ms: Some(last),
                noticed_ms: last + 5,
                first_success_ms: first,
                waited: 2,
                failed: 1,
                lost: 0,
            };
            Part { worker, outage }
        };
        let mut outages = Outages::default();
        assert_eq!(outages.add(part(1, 100, None)).unwrap().first_success_ms, None);
        assert!(outages.add(part(2, 110, None)).is_none());
        assert!(outages.add(part(1, 100, Some(300))).is_none());
        let told = outages.add(part(2, 110, Some(290))).unwrap();
        assert_eq!((told.last_success_ms, told.noticed_ms), (Some(110), 105));
        assert_eq!((told.first_success_ms, told.waited, told.failed), (Some(290), 4, 2));
        assert!(outages.open.is_empty());
    }
}
