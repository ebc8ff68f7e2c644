//! Counters of each command: calls, errors and latency. The index in the array is that of the command
//! in the table. Each command that occurs has one allocation, so counting a request takes two
//! additions.

use crate::learned::name_of;
use serde::Serialize;
use std::collections::BTreeMap;

/// Cells per power of two. The highest latency of a cell is at most 1/32 (3 %) above its lowest.
const STEPS: u32 = 32;
const STEP_BITS: u32 = STEPS.ilog2();
/// Longer latencies are counted as this value.
const MOST_MICROS: u64 = 60_000_000;
const CELLS: usize = cell_of(MOST_MICROS) + 1;

const fn cell_of(micros: u64) -> usize {
    if micros < STEPS as u64 {
        return micros as usize;
    }
    let power = micros.ilog2();
    ((power - STEP_BITS + 1) * STEPS) as usize + (micros >> (power - STEP_BITS) & (STEPS as u64 - 1)) as usize
}

/// Returns the highest number of microseconds that is counted in the cell.
fn highest_of(cell: usize) -> u64 {
    let (steps, cell) = (u64::from(STEPS), cell as u64);
    if cell < steps {
        return cell;
    }
    let width = cell / steps - 1;
    ((steps + cell % steps + 1) << width) - 1
}

/// Counters of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Replies, including errors of the proxy and of shards.
    pub calls: u64,
    pub errors: u64,
    /// Sum of the latency of all replies of shards.
    pub micros: u64,
    cells: [u32; CELLS],
}

impl Default for Counts {
    fn default() -> Self {
        Self { calls: 0, errors: 0, micros: 0, cells: [0; CELLS] }
    }
}

/// Counters by the index of the command.
#[derive(Debug, Default)]
pub struct CommandCounts(Vec<Option<Box<Counts>>>);

impl CommandCounts {
    #[inline]
    pub fn entry(&mut self, index: u16) -> &mut Counts {
        let index = usize::from(index);
        if index >= self.0.len() {
            self.0.resize(index + 1, None);
        }
        self.0[index].get_or_insert_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u16, &Counts)> {
        (0..).zip(&self.0).filter_map(|(index, counts)| Some((index, counts.as_deref()?)))
    }
}

impl Counts {
    /// Adds `count` replies of shards with the same latency.
    #[inline]
    pub fn record(&mut self, micros: u64, count: u64) {
        self.calls += count;
        self.micros += micros * count;
        let cell = &mut self.cells[cell_of(micros.min(MOST_MICROS))];
        *cell = cell.saturating_add(count as u32);
    }

    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.micros += other.micros;
        for (mine, theirs) in self.cells.iter_mut().zip(&other.cells) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    pub fn sparse(&self) -> SparseCounts {
        let used = (0..).zip(self.cells).filter(|&(_, count)| count > 0);
        SparseCounts { calls: self.calls, errors: self.errors, micros: self.micros, cells: used.collect() }
    }
}

/// The same counters without empty cells.
#[derive(Debug, Default)]
pub struct SparseCounts {
    calls: u64,
    errors: u64,
    micros: u64,
    cells: Vec<(u16, u32)>,
}

/// Counters as they are sent to the agent.
#[derive(Debug, Serialize)]
pub struct CommandMetrics {
    pub name: &'static str,
    pub calls: u64,
    pub errors: u64,
    /// Sum of the latency of all replies of shards.
    pub micros: u64,
    /// `[microseconds, count]`: the highest value of each used cell and how many replies of shards took that long.
    pub latency: Vec<(u64, u64)>,
}

/// Adds up the commands of one database over several periods. Returns the `most` most frequent
/// ones.
pub fn merge<'a>(parts: impl Iterator<Item = (u16, &'a SparseCounts)>, most: usize) -> Vec<CommandMetrics> {
    let mut sums: BTreeMap<&'static str, (CommandMetrics, BTreeMap<u16, u64>)> = BTreeMap::new();
    for (index, part) in parts {
        let name = name_of(index);
        let fresh = || CommandMetrics { name, calls: 0, errors: 0, micros: 0, latency: Vec::new() };
        let (sum, cells) = sums.entry(name).or_insert_with(|| (fresh(), BTreeMap::new()));
        sum.calls += part.calls;
        sum.errors += part.errors;
        sum.micros += part.micros;
        for &(cell, count) in &part.cells {
            *cells.entry(cell).or_default() += u64::from(count);
        }
    }
    let finished = sums.into_values().map(|(sum, cells)| {
        let latency = cells.into_iter().map(|(cell, count)| (highest_of(usize::from(cell)), count));
        CommandMetrics { latency: latency.collect(), ..sum }
    });
    let mut all: Vec<_> = finished.collect();
    all.sort_by_key(|command| std::cmp::Reverse(command.calls));
    all.truncate(most);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_index::{UNKNOWN, find};

    #[test]
    fn latencies_are_recorded_within_three_percent() {
        for micros in (0..26).flat_map(|power| [1u64 << power, (3 << power) / 2, (1 << power) - 1]) {
            let highest = highest_of(cell_of(micros));
            assert!((micros..=micros + micros / 32).contains(&highest), "{micros}: {highest}");
        }
        let mut counts = Counts::default();
        counts.record(u64::MAX >> 8, 1);
        assert_eq!(counts.sparse().cells, [(CELLS as u16 - 1, 1)]);
    }

    #[test]
    fn commands_are_summed_over_periods_and_sorted_by_calls() {
        let get = find(b"get").unwrap().index;
        let mut first = CommandCounts::default();
        first.entry(get).record(10, 3);
        first.entry(UNKNOWN.index).errors += 1;
        first.entry(UNKNOWN.index).calls += 1;
        let mut second = CommandCounts::default();
        second.entry(get).record(10, 1);
        second.entry(get).record(1_000, 1);
        second.entry(find(b"set").unwrap().index).record(7, 2);
        let spans: Vec<Vec<_>> = [&first, &second]
            .map(|span| span.iter().map(|(index, counts)| (index, counts.sparse())).collect())
            .into();
        let parts = || spans.iter().flatten().map(|(index, sparse)| (*index, sparse));
        let metrics = merge(parts(), 9);
        let names: Vec<_> =
            metrics.iter().map(|each| (each.name, each.calls, each.errors, each.micros)).collect();
        assert_eq!(names, [("get", 5, 0, 1_040), ("set", 2, 0, 14), ("unknown", 1, 1, 0)]);
        assert_eq!(metrics[0].latency, [(10, 4), (1_007, 1)]);
        assert_eq!(merge(parts(), 1).len(), 1);
    }
}
