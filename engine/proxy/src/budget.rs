//! The memory that clients may use: a limit for the process, of which each database has an equal
//! share. A database may exceed its share while others leave capacity unused. When the limit is
//! reached, databases above their share must release memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

#[derive(Debug)]
pub struct Budget {
    limit: AtomicU64,
    databases: AtomicU64,
    used: AtomicI64,
}

/// Memory of one database in all workers.
#[derive(Debug, Default)]
pub struct DatabaseMemory(AtomicI64);

#[cfg(test)]
impl DatabaseMemory {
    pub fn bytes(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Budget {
    pub fn new() -> Arc<Self> {
        let limit = AtomicU64::new(default_limit());
        Arc::new(Self { limit, databases: AtomicU64::new(1), used: AtomicI64::new(0) })
    }

    /// Sets the limit in bytes (`None`: a quarter of the machine's memory) and the number of
    /// databases.
    pub fn divide(&self, limit: Option<u64>, databases: usize) {
        self.limit.store(limit.unwrap_or_else(default_limit), Ordering::Relaxed);
        self.databases.store(databases.max(1) as u64, Ordering::Relaxed);
    }

    /// Adds to the memory of a database; `bytes` is negative when it releases memory.
    pub fn add(&self, database: &DatabaseMemory, bytes: i64) {
        database.0.fetch_add(bytes, Ordering::Relaxed);
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the number of bytes that a database must release now.
    pub fn excess(&self, database: &DatabaseMemory) -> u64 {
        let limit = self.limit.load(Ordering::Relaxed);
        let share = limit / self.databases.load(Ordering::Relaxed);
        let over = |used: &AtomicI64, limit: u64| {
            u64::try_from(used.load(Ordering::Relaxed)).unwrap_or(0).saturating_sub(limit)
        };
        over(&self.used, limit).min(over(&database.0, share))
    }
}

fn default_limit() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"));
    total.and_then(|kilobytes| kilobytes.trim().parse::<u64>().ok()).map_or(1 << 30, |total| total * 1024 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_above_their_share_release_memory_when_the_limit_is_reached() {
        let budget = Budget::new();
        budget.divide(Some(1000), 2);
        let (small, large) = (DatabaseMemory::default(), DatabaseMemory::default());
        budget.add(&large, 900);
        assert_eq!(budget.excess(&large), 0);
        budget.add(&small, 300);
        assert_eq!((budget.excess(&small), budget.excess(&large)), (0, 200));
        budget.add(&large, -200);
        assert_eq!(budget.excess(&large), 0);
        assert!(default_limit() > 0);
    }
}
