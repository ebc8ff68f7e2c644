//! Outages of shards, merged from the observations of all workers.

use crate::outage::{Outage, OutageObservation};
use std::collections::{BTreeMap, VecDeque};

/// Outages that at least one worker still observes, and the latest reports.
#[derive(Debug, Default)]
pub(super) struct Outages {
    open: BTreeMap<(u64, String, u16), OpenOutage>,
    latest_reports: VecDeque<Outage>,
}

#[derive(Debug, Default)]
struct OpenOutage {
    /// As in the first report: it identifies the outage, so it stays even if another worker
    /// detected the outage earlier.
    noticed_ms: u64,
    parts: BTreeMap<usize, Outage>,
}

impl OpenOutage {
    fn was_over_by(&self, at: u64) -> bool {
        self.parts.values().any(|part| part.first_success_ms.is_some_and(|first| first <= at))
    }
}

/// Number of reports that are sent to each agent that connects, because the previous agent may have
/// ended before it processed them.
const KEPT: usize = 128;

impl Outages {
    /// Adds an observation. Returns a report when the outage starts, when it ends for the clients
    /// of one worker, and for each further worker.
    pub(super) fn add(&mut self, part: OutageObservation) -> Option<Outage> {
        let OutageObservation { worker, outage } = part;
        let key = (outage.uid, outage.address.clone(), outage.port);
        let open = self.open.entry(key.clone()).or_default();
        if outage.first_success_ms.is_none() && open.was_over_by(outage.noticed_ms) {
            // A worker without requests for the shard has not observed the recovery. This must not
            // hide a new outage.
            *open = OpenOutage::default();
        }
        let (is_first, has_ended) = (open.parts.is_empty(), outage.first_success_ms.is_some());
        if is_first {
            open.noticed_ms = outage.noticed_ms;
        }
        open.parts.insert(worker, outage);
        let report = joined(open).filter(|_| is_first || has_ended);
        if open.parts.values().all(|part| part.first_success_ms.is_some()) {
            self.open.remove(&key);
        }
        if let Some(report) = &report {
            self.keep(report.clone());
        }
        report
    }

    /// Returns the latest reports of the newest outages, oldest first.
    pub(super) fn latest_reports(&self) -> impl Iterator<Item = &Outage> {
        self.latest_reports.iter()
    }

    fn keep(&mut self, outage: Outage) {
        let same = |other: &Outage| {
            (other.uid, &other.address, other.port, other.noticed_ms)
                == (outage.uid, &outage.address, outage.port, outage.noticed_ms)
        };
        self.latest_reports.retain(|other| !same(other));
        self.latest_reports.push_back(outage);
        if self.latest_reports.len() > KEPT {
            self.latest_reports.pop_front();
        }
    }

    pub(super) fn remove(&mut self, uid: u64) {
        self.open.retain(|(of, _, _), _| *of != uid);
        self.latest_reports.retain(|outage| outage.uid != uid);
    }
}

/// Merges the observations of all workers: the shard was available while it answered any client.
fn joined(OpenOutage { noticed_ms, parts }: &OpenOutage) -> Option<Outage> {
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

    fn part(worker: usize, last: u64, first: Option<u64>) -> OutageObservation {
        OutageObservation { worker, outage: outage(last, first) }
    }

    #[test]
    fn observations_of_several_workers_are_one_outage() {
        let mut outages = Outages::default();
        assert_eq!(outages.add(part(1, 100, None)).unwrap().first_success_ms, None);
        assert!(outages.add(part(2, 110, None)).is_none());
        let report = outages.add(part(1, 100, Some(300))).unwrap();
        assert_eq!(
            (report.last_success_ms, report.first_success_ms),
            (Some(110), Some(300)),
            "an idle worker does not hide the recovery"
        );
        let report = outages.add(part(2, 110, Some(290))).unwrap();
        assert_eq!((report.last_success_ms, report.noticed_ms), (Some(110), 105));
        assert_eq!((report.first_success_ms, report.waited, report.failed), (Some(290), 4, 2));
        assert!(outages.open.is_empty());
    }

    #[test]
    fn the_detection_time_of_an_outage_does_not_change() {
        let mut outages = Outages::default();
        assert_eq!(outages.add(part(1, 110, None)).unwrap().noticed_ms, 115);
        assert!(outages.add(part(2, 100, None)).is_none());
        assert_eq!(outages.add(part(1, 110, Some(300))).unwrap().noticed_ms, 115);
        assert_eq!(outages.add(part(2, 100, Some(290))).unwrap().noticed_ms, 115);
    }

    #[test]
    fn a_second_outage_is_reported_even_if_a_worker_had_no_request_since_the_first() {
        let mut outages = Outages::default();
        outages.add(part(1, 100, None));
        outages.add(part(2, 100, None));
        outages.add(part(1, 100, Some(300)));
        let again = outages.add(part(1, 900, None)).unwrap();
        assert_eq!((again.noticed_ms, again.first_success_ms), (905, None));
        assert_eq!(outages.add(part(1, 900, Some(1_200))).unwrap().last_success_ms, Some(900));
        assert_eq!(outages.latest_reports().count(), 2);
    }

    #[test]
    fn the_latest_reports_are_kept_for_the_next_agent() {
        let mut outages = Outages::default();
        for begin in (0..300).map(|number| number * 1000) {
            outages.add(part(1, begin, None));
            outages.add(part(1, begin, Some(begin + 300)));
        }
        outages.add(part(1, 900_000, None));
        let reports: Vec<_> = outages.latest_reports().collect();
        assert_eq!(reports.len(), KEPT);
        assert_eq!(reports[KEPT - 2].first_success_ms, Some(299_300));
        assert_eq!((reports[KEPT - 1].noticed_ms, reports[KEPT - 1].first_success_ms), (900_005, None));
        outages.remove(1);
        assert_eq!(outages.latest_reports().count(), 0);
    }
}
