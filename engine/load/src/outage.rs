//! Outage accounting: for how long a shard returned no successful reply, and what happened to
//! requests during that time.
//!
//! Each thread records the periods in which it had no success. A shard was unavailable while no
//! thread had any.

use std::collections::BTreeMap;

/// A shorter time without a reply counts as latency, not as a gap.
const MIN_GAP: u64 = 1_000_000_000;
/// Shorter gaps with failed requests count as errors, not as an outage.
const SHORTEST: u64 = 1_000_000;

/// Time from the last successful reply before the gap to the first one after it, in nanoseconds of
/// the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    pub began: u64,
    /// `None`: the gap lasted until the end of the run.
    pub ended: Option<u64>,
}

/// Data of one thread about one shard.
#[derive(Debug, Clone, Default)]
pub struct OutageAccount {
    last_good: u64,
    /// Whether requests have failed since the last successful reply.
    failing: bool,
    gaps: Vec<Gap>,
    /// Errors with their time, in order. Each belongs to the outage that contains its time.
    events: Vec<(u64, Event)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Error(String, u64),
    /// Sent without a reply: the command may or may not have been executed.
    Lost(u64),
    Retried(u64),
}

/// Maximum number of entries. Identical errors within a millisecond are one entry.
const MAX_EVENTS: usize = 100_000;

impl OutageAccount {
    /// Records a successful reply to a request that was written at `sent`.
    #[inline]
    pub fn good(&mut self, now: u64, sent: u64) {
        if self.failing || now - self.last_good > MIN_GAP {
            self.close(now, sent);
        }
        self.last_good = now;
    }

    #[cold]
    fn close(&mut self, now: u64, sent: u64) {
        if self.failing && now - self.last_good >= SHORTEST {
            self.gaps.push(Gap { began: self.last_good, ended: Some(now) });
        } else if now.saturating_sub(sent) > MIN_GAP {
            self.gaps.push(Gap { began: sent.max(self.last_good), ended: Some(now) });
        }
        self.failing = false;
    }

    pub fn record_event(&mut self, now: u64, event: Event) {
        if !matches!(event, Event::Retried(_)) {
            self.failing = true;
        }
        // Identical events within a millisecond are one entry.
        if let Some((at, last)) = self.events.last_mut() {
            let same = now - *at < 1_000_000;
            match (last, &event) {
                (Event::Error(kind, count), Event::Error(other, more)) if same && kind == other => {
                    *count += more;
                    return;
                }
                (Event::Lost(count), Event::Lost(more)) | (Event::Retried(count), Event::Retried(more))
                    if same =>
                {
                    *count += more;
                    return;
                }
                _ => {}
            }
        }
        if self.events.len() < MAX_EVENTS {
            self.events.push((now, event));
        }
    }

    /// Completes the account at the end of the run. `oldest` is the send time of the oldest request
    /// without a reply.
    pub fn finish(&mut self, now: u64, oldest: Option<u64>) {
        let silent = oldest.is_some_and(|sent| now.saturating_sub(sent) > MIN_GAP);
        if (self.failing && now - self.last_good >= SHORTEST) || silent {
            let began = if self.failing { self.last_good } else { oldest.unwrap_or(now).max(self.last_good) };
            self.gaps.push(Gap { began, ended: None });
        }
    }
}

/// One outage of a shard, for all threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    pub gap: Gap,
    pub errors: BTreeMap<String, u64>,
    pub lost: u64,
    pub retried: u64,
}

/// Returns the outages of one shard: the periods in which no thread received a successful reply.
pub fn outages(accounts: &[&OutageAccount]) -> Vec<Outage> {
    let mut gaps: Option<Vec<Gap>> = None;
    for account in accounts.iter().filter(|account| account.last_good > 0 || !account.events.is_empty()) {
        gaps = Some(match gaps {
            None => account.gaps.clone(),
            Some(gaps) => both(&gaps, &account.gaps),
        });
    }
    let mut found: Vec<Outage> = gaps
        .unwrap_or_default()
        .into_iter()
        .map(|gap| Outage { gap, errors: BTreeMap::new(), lost: 0, retried: 0 })
        .collect();
    for (at, event) in accounts.iter().flat_map(|account| &account.events) {
        let inside = |gap: &Gap| gap.began <= *at && gap.ended.is_none_or(|ended| *at <= ended);
        let Some(outage) = found.iter_mut().find(|outage| inside(&outage.gap)) else { continue };
        match event {
            Event::Error(kind, count) => *outage.errors.entry(kind.clone()).or_default() += count,
            Event::Lost(count) => outage.lost += count,
            Event::Retried(count) => outage.retried += count,
        }
    }
    found
}

/// Returns the periods that are in both lists.
fn both(left: &[Gap], right: &[Gap]) -> Vec<Gap> {
    let end = |gap: &Gap| gap.ended.unwrap_or(u64::MAX);
    let mut common = Vec::new();
    for a in left {
        for b in right {
            let (began, ended) = (a.began.max(b.began), end(a).min(end(b)));
            if began + SHORTEST <= ended {
                common.push(Gap { began, ended: (ended != u64::MAX).then_some(ended) });
            }
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn an_outage_lasts_from_the_last_success_to_the_next_of_any_thread() {
        let mut one = OutageAccount::default();
        one.good(100 * MS, 99 * MS);
        one.record_event(130 * MS, Event::Lost(3));
        one.record_event(150 * MS, Event::Error("CLUSTERDOWN".into(), 2));
        one.record_event(150 * MS, Event::Error("CLUSTERDOWN".into(), 1));
        one.good(900 * MS, 899 * MS);
        let mut two = OutageAccount::default();
        two.good(120 * MS, 119 * MS);
        two.record_event(140 * MS, Event::Lost(1));
        two.good(870 * MS, 869 * MS);
        assert_eq!(
            outages(&[&one, &two]),
            [Outage {
                gap: Gap { began: 120 * MS, ended: Some(870 * MS) },
                errors: [("CLUSTERDOWN".to_owned(), 3)].into(),
                lost: 4,
                retried: 0
            }]
        );
    }

    #[test]
    fn success_in_one_thread_means_no_outage() {
        let mut one = OutageAccount::default();
        one.good(100 * MS, 99 * MS);
        one.record_event(130 * MS, Event::Lost(3));
        one.good(900 * MS, 899 * MS);
        let mut two = OutageAccount::default();
        two.good(100 * MS, 99 * MS);
        two.good(850 * MS, 849 * MS);
        assert_eq!(outages(&[&one, &two]), []);
    }

    #[test]
    fn silence_is_an_outage_and_idleness_is_not() {
        let mut account = OutageAccount::default();
        account.good(100 * MS, 99 * MS);
        account.good(5_000 * MS, 4_999 * MS);
        account.good(8_000 * MS, 5_500 * MS);
        assert_eq!(account.gaps, [Gap { began: 5_500 * MS, ended: Some(8_000 * MS) }]);
        account.finish(9_500 * MS, Some(8_100 * MS));
        assert_eq!(account.gaps[1], Gap { began: 8_100 * MS, ended: None });
    }
}
