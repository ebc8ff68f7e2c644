//! Where the bytes are: by type, by prefix of the key, and by expiry time; and the largest keys.

use crate::clock::now_ms;
use crate::rdb::{Entry, Kind};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

const MAX_PREFIXES: usize = 100;
/// More than are reported, because the largest ones are only known at the end.
const MAX_CANDIDATES: usize = 10_000;
const MAX_PREFIX_BYTES: usize = 128;
const LARGEST: usize = 20;
const MAX_KEY_BYTES: usize = 256;

/// Upper limits of the time to live in seconds, and their names.
const LIFETIMES: [(i64, &str); 5] =
    [(0, "expired"), (3600, "1 hour"), (86_400, "1 day"), (7 * 86_400, "7 days"), (30 * 86_400, "30 days")];
const LONGER: &str = "longer";
const UNLIMITED: &str = "none";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Total {
    keys: u64,
    bytes: u64,
}

impl Total {
    fn add(&mut self, other: Self) {
        self.keys += other.keys;
        self.bytes += other.bytes;
    }

    fn json(self) -> Value {
        json!({"keys": self.keys, "bytes": self.bytes})
    }
}

struct LargeKey {
    bytes: u64,
    key: Vec<u8>,
    kind: Kind,
    elements: u64,
}

pub struct Analysis {
    now: i64,
    kinds: [Total; Kind::ALL.len()],
    prefixes: HashMap<Box<[u8]>, Total>,
    other_prefixes: Total,
    lifetimes: [Total; LIFETIMES.len() + 2],
    /// Without order, at most twice the reported number.
    largest: Vec<LargeKey>,
    /// Smaller keys are not among the largest.
    smallest: u64,
}

impl Default for Analysis {
    fn default() -> Self {
        Self {
            now: now_ms(),
            kinds: Default::default(),
            prefixes: HashMap::new(),
            other_prefixes: Total::default(),
            lifetimes: Default::default(),
            largest: Vec::new(),
            smallest: 0,
        }
    }
}

impl Analysis {
    pub fn add(&mut self, entry: &Entry, elements: u64, bytes: u64) {
        let total = Total { keys: 1, bytes };
        self.kinds[entry.value.kind as usize].add(total);
        self.lifetimes[self.lifetime(entry.expires)].add(total);
        self.prefix(prefix(&entry.key)).add(total);
        if bytes > self.smallest {
            self.add_large(entry, elements, bytes);
        }
    }

    /// Index in `lifetimes`.
    fn lifetime(&self, expires: Option<i64>) -> usize {
        let Some(at) = expires else { return LIFETIMES.len() + 1 };
        let left = at.saturating_sub(self.now);
        LIFETIMES.iter().position(|(seconds, _)| left <= seconds * 1000).unwrap_or(LIFETIMES.len())
    }

    fn prefix(&mut self, prefix: &[u8]) -> &mut Total {
        if !self.prefixes.contains_key(prefix) {
            if self.prefixes.len() >= MAX_CANDIDATES {
                return &mut self.other_prefixes;
            }
            self.prefixes.insert(prefix.into(), Total::default());
        }
        self.prefixes.get_mut(prefix).expect("it was inserted")
    }

    fn add_large(&mut self, entry: &Entry, elements: u64, bytes: u64) {
        let key = entry.key[..entry.key.len().min(MAX_KEY_BYTES)].to_vec();
        self.largest.push(LargeKey { bytes, key, kind: entry.value.kind, elements });
        if self.largest.len() >= 2 * LARGEST {
            self.largest.sort_by_key(|large| std::cmp::Reverse(large.bytes));
            self.largest.truncate(LARGEST);
            self.smallest = self.largest[LARGEST - 1].bytes;
        }
    }

    pub fn json(&self) -> Value {
        let names = LIFETIMES.iter().map(|(_, name)| *name).chain([LONGER, UNLIMITED]);
        let totals =
            |names: &mut dyn Iterator<Item = &'static str>, totals: &[Total]| -> Map<String, Value> {
                let used = names.zip(totals).filter(|(_, total)| total.keys > 0);
                used.map(|(name, total)| (name.to_owned(), total.json())).collect()
            };
        let (prefixes, other) = self.prefixes_by_size();
        let mut largest: Vec<&LargeKey> = self.largest.iter().collect();
        largest.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.key.cmp(&b.key)));
        largest.truncate(LARGEST);
        json!({
            "types": totals(&mut Kind::ALL.iter().map(|kind| kind.name()), &self.kinds),
            "prefixes": prefixes,
            "other_prefixes": other.json(),
            "lifetimes": totals(&mut names.into_iter(), &self.lifetimes),
            "largest": largest.iter().map(|large| json!({
                "key": String::from_utf8_lossy(&large.key), "type": large.kind.name(),
                "bytes": large.bytes, "elements": large.elements,
            })).collect::<Value>(),
        })
    }

    fn prefixes_by_size(&self) -> (Vec<Value>, Total) {
        // Different bytes can be the same text.
        let mut by_text: BTreeMap<String, Total> = BTreeMap::new();
        for (prefix, total) in &self.prefixes {
            by_text.entry(String::from_utf8_lossy(prefix).into_owned()).or_default().add(*total);
        }
        let mut all: Vec<(String, Total)> = by_text.into_iter().collect();
        all.sort_by_key(|(_, total)| std::cmp::Reverse(total.bytes));
        let mut other = self.other_prefixes;
        for (_, total) in all.iter().skip(MAX_PREFIXES) {
            other.add(*total);
        }
        all.truncate(MAX_PREFIXES);
        let json = |(prefix, total): (String, Total)| json!({"prefix": prefix, "keys": total.keys, "bytes": total.bytes});
        (all.into_iter().map(json).collect(), other)
    }
}

/// The key up to the first colon, or nothing if it has none.
fn prefix(key: &[u8]) -> &[u8] {
    let start = &key[..key.len().min(MAX_PREFIX_BYTES)];
    start.iter().position(|&byte| byte == b':').map_or(&[], |at| &start[..=at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdb::{Family, Type};

    fn entry(key: &str, expires: Option<i64>) -> Entry {
        Entry {
            key: key.as_bytes().to_vec(),
            value: Type::new(0, Family::Valkey).unwrap(),
            expires,
            frequency: None,
            idle_seconds: None,
            database: 0,
            slot: 0,
            is_importing: false,
            start: 0,
        }
    }

    #[test]
    fn small_prefixes_are_summed() {
        let mut analysis = Analysis::default();
        for n in 0..MAX_CANDIDATES as u64 + 50 {
            analysis.add(&entry(&format!("p{n}:x"), None), 1, 1000 + n % 150);
        }
        analysis.add(&entry("none", None), 1, 5000);
        let json = analysis.json();
        let prefixes = json["prefixes"].as_array().unwrap();
        assert_eq!(prefixes.len(), MAX_PREFIXES);
        assert_eq!(prefixes[0]["bytes"], 1149);
        assert_eq!(json["other_prefixes"]["keys"], MAX_CANDIDATES + 51 - MAX_PREFIXES);
        assert_eq!(json["types"]["string"]["keys"], MAX_CANDIDATES + 51);
    }

    #[test]
    fn keys_are_grouped_by_lifetime() {
        let mut analysis = Analysis::default();
        let now = analysis.now;
        for expires in [None, Some(0), Some(now + 1000), Some(now + 3_600_001), Some(i64::MAX)] {
            analysis.add(&entry("a:1", expires), 1, 7);
        }
        let one = json!({"keys": 1, "bytes": 7});
        let expected = json!({"none": one, "expired": one, "1 hour": one, "1 day": one, "longer": one});
        assert_eq!(analysis.json()["lifetimes"], expected);
        assert_eq!(analysis.json()["prefixes"], json!([{"prefix": "a:", "keys": 5, "bytes": 35}]));
    }

    #[test]
    fn the_largest_keys_are_found() {
        let mut analysis = Analysis::default();
        for n in 0..1000u64 {
            let bytes = n * 7919 % 1000;
            analysis.add(&entry(&format!("key{bytes}"), None), 1, bytes);
        }
        let json = analysis.json();
        let largest: Vec<_> =
            json["largest"].as_array().unwrap().iter().map(|key| key["bytes"].as_u64()).collect();
        assert_eq!(largest, (980..1000).rev().map(Some).collect::<Vec<_>>());
    }
}
