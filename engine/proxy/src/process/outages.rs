//! A shard that answers no more, as all workers together have seen it.

use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

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
    /// When a connection to it was lost or refused, or it refused a request. With `uid`, `address` and `port` the name of it.
    pub noticed_ms: u64,
    /// When it, or its promoted replica, answered a request for the first time after that; null: not yet.
    pub first_success_ms: Option<u64>,
    /// Requests that waited for a primary meanwhile, however that ended.
    pub waited: u64,
    /// Those that were answered with an error in the end, without having been executed.
    pub failed: u64,
    /// Those that it had got and not answered, of which nobody knows.
    pub lost: u64,
    /// Whether the proxy wrote by itself before and after: the times hold although no client asked.
    pub watched: bool,
}

/// Outages that at least one worker still sees, and what was told of those and of the ones before.
#[derive(Debug, Default)]
pub(super) struct Outages {
    open: BTreeMap<(u64, String, u16), Open>,
    told: VecDeque<Outage>,
}

#[derive(Debug, Default)]
struct Open {
    /// As it was told first: it names the outage, so it stays although another worker may have noticed earlier.
    noticed_ms: u64,
    parts: BTreeMap<usize, Outage>,
}

impl Open {
    fn was_over_by(&self, at: u64) -> bool {
        self.parts.values().any(|part| part.first_success_ms.is_some_and(|first| first <= at))
    }
}

/// Told again to every agent that connects: what the one before it heard may have ended with it.
const KEPT: usize = 128;

impl Outages {
    /// What the agent is to hear: that one begins, that it is over for one worker's clients, and what it was for each other's.
    pub(super) fn add(&mut self, part: Part) -> Option<Outage> {
        let Part { worker, outage } = part;
        let key = (outage.uid, outage.address.clone(), outage.port);
        let open = self.open.entry(key.clone()).or_default();
        if outage.first_success_ms.is_none() && open.was_over_by(outage.noticed_ms) {
            // Some worker has had no request for it since: that must not hide that it is lost again.
            *open = Open::default();
        }
        let (is_first, has_ended) = (open.parts.is_empty(), outage.first_success_ms.is_some());
        if is_first {
            open.noticed_ms = outage.noticed_ms;
        }
        open.parts.insert(worker, outage);
        let told = joined(open).filter(|_| is_first || has_ended);
        if open.parts.values().all(|part| part.first_success_ms.is_some()) {
            self.open.remove(&key);
        }
        if let Some(told) = &told {
            self.keep(told.clone());
        }
        told
    }

    /// The newest that were told, each as it was told last, oldest first.
    pub(super) fn told(&self) -> impl Iterator<Item = &Outage> {
        self.told.iter()
    }

    fn keep(&mut self, outage: Outage) {
        let same = |other: &Outage| {
            (other.uid, &other.address, other.port, other.noticed_ms)
                == (outage.uid, &outage.address, outage.port, outage.noticed_ms)
        };
        self.told.retain(|other| !same(other));
        self.told.push_back(outage);
        if self.told.len() > KEPT {
            self.told.pop_front();
        }
    }

    pub(super) fn forget(&mut self, uid: u64) {
        self.open.retain(|(of, _, _), _| *of != uid);
        self.told.retain(|outage| outage.uid != uid);
    }
}

/// What clients of any worker saw: the shard was there while it answered anyone.
fn joined(Open { noticed_ms, parts }: &Open) -> Option<Outage> {
    let one = parts.values().next()?;
    let sum = |of: fn(&Outage) -> u64| parts.values().map(of).sum();
    Some(Outage {
        last_success_ms: parts.values().filter_map(|part| part.last_success_ms).max(),
        noticed_ms: *noticed_ms,
        first_success_ms: parts.values().filter_map(|part| part.first_success_ms).min(),
        waited: sum(|part| part.waited),
        failed: sum(|part| part.failed),
        lost: sum(|part| part.lost),
        watched: parts.values().any(|part| part.watched),
        ..one.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outage(last: u64, first: Option<u64>) -> Outage {
        Outage {
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
            watched: false,
        }
    }

    fn part(worker: usize, last: u64, first: Option<u64>) -> Part {
        Part { worker, outage: outage(last, first) }
    }

    #[test]
    fn what_several_workers_saw_is_one_outage() {
        let mut outages = Outages::default();
        assert_eq!(outages.add(part(1, 100, None)).unwrap().first_success_ms, None);
        assert!(outages.add(part(2, 110, None)).is_none());
        let told = outages.add(part(1, 100, Some(300))).unwrap();
        assert_eq!(
            (told.last_success_ms, told.first_success_ms),
            (Some(110), Some(300)),
            "an idle worker hides nothing"
        );
        let told = outages.add(part(2, 110, Some(290))).unwrap();
        assert_eq!((told.last_success_ms, told.noticed_ms), (Some(110), 105));
        assert_eq!((told.first_success_ms, told.waited, told.failed), (Some(290), 4, 2));
        assert!(outages.open.is_empty());
    }

    #[test]
    fn an_outage_keeps_the_moment_that_names_it() {
        let mut outages = Outages::default();
        assert_eq!(outages.add(part(1, 110, None)).unwrap().noticed_ms, 115);
        assert!(outages.add(part(2, 100, None)).is_none());
        assert_eq!(outages.add(part(1, 110, Some(300))).unwrap().noticed_ms, 115);
        assert_eq!(outages.add(part(2, 100, Some(290))).unwrap().noticed_ms, 115);
    }

    #[test]
    fn a_shard_that_is_lost_again_is_told_although_a_worker_had_no_request_meanwhile() {
        let mut outages = Outages::default();
        outages.add(part(1, 100, None));
        outages.add(part(2, 100, None));
        outages.add(part(1, 100, Some(300)));
        let again = outages.add(part(1, 900, None)).unwrap();
        assert_eq!((again.noticed_ms, again.first_success_ms), (905, None));
        assert_eq!(outages.add(part(1, 900, Some(1_200))).unwrap().last_success_ms, Some(900));
        assert_eq!(outages.told().count(), 2);
    }

    #[test]
    fn what_was_told_is_kept_for_the_next_agent_as_it_was_told_last() {
        let mut outages = Outages::default();
        for begin in (0..300).map(|number| number * 1000) {
            outages.add(part(1, begin, None));
            outages.add(part(1, begin, Some(begin + 300)));
        }
        outages.add(part(1, 900_000, None));
        let told: Vec<_> = outages.told().collect();
        assert_eq!(told.len(), KEPT);
        assert_eq!(told[KEPT - 2].first_success_ms, Some(299_300));
        assert_eq!((told[KEPT - 1].noticed_ms, told[KEPT - 1].first_success_ms), (900_005, None));
        outages.forget(1);
        assert_eq!(outages.told().count(), 0);
    }
}
