//! Counters of each command in the last minute. They are kept here, in pieces of a few seconds, and
//! sent only on request: sending them every second would transfer the histograms of hundreds of
//! databases that are not displayed.

use crate::command_counts::{Counts, SparseCounts, merge};
use crate::metrics::Commands;
use crate::stats::Stats;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

const PIECE: Duration = Duration::from_secs(5);
/// With the current piece, about a minute. `commands_of` returns the exact period, because a piece
/// ends with the first second after its length.
const PIECES: usize = 11;
/// Maximum number of commands per database sent to the agent: more than are displayed, so that the
/// commands of all nodes can be merged.
const MOST: usize = 128;

type Key = (u64, u16);

#[derive(Debug)]
pub(super) struct RecentCommands {
    began: Instant,
    open: BTreeMap<Key, Counts>,
    /// Completed pieces with their start time, oldest first.
    past: VecDeque<(Instant, BTreeMap<Key, SparseCounts>)>,
}

impl RecentCommands {
    pub(super) fn new(now: Instant) -> Self {
        Self { began: now, open: BTreeMap::new(), past: VecDeque::new() }
    }

    /// Adds the counters of one worker for one database since its last report.
    pub(super) fn add(&mut self, uid: u64, stats: &Stats) {
        for (index, counts) in stats.commands.iter() {
            self.open.entry((uid, index)).or_default().add(counts);
        }
    }

    /// Called once a second.
    pub(super) fn rotate(&mut self, now: Instant) {
        if now.duration_since(self.began) < PIECE {
            return;
        }
        let piece = sparse(&std::mem::take(&mut self.open));
        self.past.push_back((std::mem::replace(&mut self.began, now), piece));
        if self.past.len() > PIECES {
            self.past.pop_front();
        }
    }

    /// Returns the commands of these databases and the period in seconds in which they were
    /// counted.
    pub(super) fn commands_of(&self, uids: &[u64], now: Instant) -> (f64, Vec<Commands>) {
        let since = self.past.front().map_or(self.began, |(began, _)| *began);
        let open = sparse(&self.open);
        let pieces = || self.past.iter().map(|(_, piece)| piece).chain([&open]);
        let commands = uids.iter().map(|&uid| {
            let own = pieces().flat_map(|piece| piece.range((uid, 0)..=(uid, u16::MAX)));
            Commands { uid, commands: merge(own.map(|((_, index), part)| (*index, part)), MOST) }
        });
        (now.duration_since(since).as_secs_f64(), commands.collect())
    }

    pub(super) fn remove(&mut self, uid: u64) {
        self.open.retain(|(of, _), _| *of != uid);
        for (_, piece) in &mut self.past {
            piece.retain(|(of, _), _| *of != uid);
        }
    }
}

fn sparse(piece: &BTreeMap<Key, Counts>) -> BTreeMap<Key, SparseCounts> {
    piece.iter().map(|(key, counts)| (*key, counts.sparse())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Class;
    use crate::command_index::find;
    use crate::stats::ReplyBatch;

    fn counted(command: &str, served: u64) -> Stats {
        let index = find(command.as_bytes()).unwrap().index;
        let mut stats = Stats::default();
        let replies = ReplyBatch {
            arrived: 100,
            class: Class::Read,
            command_index: index,
            served,
            unserved: 0,
            errors: 1,
        };
        stats.replied(&replies, 120);
        stats
    }

    #[test]
    fn commands_are_forgotten_after_a_minute() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let mut recent = RecentCommands::new(began);
        recent.add(1, &counted("get", 3));
        recent.add(2, &counted("set", 9));
        let calls = |recent: &RecentCommands, now: u64| {
            let (seconds, databases) = recent.commands_of(&[1], at(now));
            assert_eq!(databases.len(), 1);
            (seconds, databases[0].commands.iter().map(|each| (each.name, each.calls)).collect::<Vec<_>>())
        };
        assert_eq!(calls(&recent, 2), (2.0, vec![("get", 3)]));
        for second in 1..=58 {
            recent.rotate(at(second));
            if second == 30 {
                recent.add(1, &counted("get", 4));
            }
        }
        assert_eq!(calls(&recent, 58), (58.0, vec![("get", 7)]));
        for second in 59..=61 {
            recent.rotate(at(second));
        }
        assert_eq!(calls(&recent, 61), (56.0, vec![("get", 4)]));
        recent.remove(1);
        assert_eq!(calls(&recent, 61), (56.0, vec![]));
    }
}
