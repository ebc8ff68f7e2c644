//! The memory that clients may occupy: so much for the process, and of that an equal share for each database. A database may
//! take more while others leave it; once the whole is used up, whoever has more than its share gives way.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

#[derive(Debug)]
pub struct Budget {
    limit: AtomicU64,
    databases: AtomicU64,
    used: AtomicI64,
}

/// What one database occupies, in all workers.
#[derive(Debug, Default)]
pub struct Used(AtomicI64);

#[cfg(test)]
impl Used {
    pub fn bytes(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Budget {
    pub fn new() -> Arc<Self> {
        let limit = AtomicU64::new(default_limit());
        Arc::new(Self { limit, databases: AtomicU64::new(1), used: AtomicI64::new(0) })
    }

    /// So many bytes (without: a quarter of the machine's) for so many databases.
    pub fn divide(&self, limit: Option<u64>, databases: usize) {
        self.limit.store(limit.unwrap_or_else(default_limit), Ordering::Relaxed);
        self.databases.store(databases.max(1) as u64, Ordering::Relaxed);
    }

    /// A database takes so much more, or gives it back.
    pub fn take(&self, database: &Used, bytes: i64) {
        database.0.fetch_add(bytes, Ordering::Relaxed);
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// How much a database must give back now.
    pub fn excess(&self, database: &Used) -> u64 {
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
    fn who_has_more_than_its_share_gives_way_once_all_is_used() {
        let budget = Budget::new();
        budget.divide(Some(1000), 2);
        let (small, large) = (Used::default(), Used::default());
        budget.take(&large, 900);
        assert_eq!(budget.excess(&large), 0);
        budget.take(&small, 300);
        assert_eq!((budget.excess(&small), budget.excess(&large)), (0, 200));
        budget.take(&large, -200);
        assert_eq!(budget.excess(&large), 0);
        assert!(default_limit() > 0);
    }
}
