//! Snapshot, restore to another number of shards, and comparison.

use crate::dataset::Commands;
use crate::lab::Lab;
use serde_json::Value;

const SOURCE: u16 = 7000;
const TARGETS: [u16; 3] = [7001, 7002, 7003];

/// Contents of the slots of all these shards, in the order of the slots.
fn slots(lab: &Lab, ports: &[u16]) -> Vec<Value> {
    let of_shard = |&port| lab.snapshot(port, "0-16383", "none").end()["slots"].as_array().unwrap().clone();
    ports.iter().flat_map(of_shard).collect()
}

#[test]
fn random_data_is_equal_after_a_restore_to_other_shards() {
    let seeds = if std::env::var_os("SHARDBOARD_THOROUGH").is_some() { 0..20 } else { 0..2 };
    let mut lab = Lab::new();
    lab.shard(SOURCE, &[]);
    for port in TARGETS {
        lab.shard(port, &[]);
    }
    for seed in seeds {
        let compression = ["zstd", "gzip", "none"][seed as usize % 3];
        let is_compressed = if seed % 2 == 0 { "yes" } else { "no" };
        lab.ask(SOURCE, &format!("CONFIG SET rdbcompression {is_compressed}"));
        lab.ask(SOURCE, "FUNCTION FLUSH");
        lab.fill(SOURCE, &Commands::new(seed).random(400));
        let taken = lab.snapshot(SOURCE, "0-16383", compression);
        let file = taken.output.clone();
        let snapshot = taken.end();
        assert_eq!(lab.ask(SOURCE, "DBSIZE"), format!(":{}\r\n", snapshot["keys"]));
        assert_eq!(snapshot["functions"][0], "lib");
        let inspected = lab.inspect(&file).end();
        for field in
            ["keys", "expires", "types", "slots", "raw_bytes", "bytes", "rdb_version", "replication_id"]
        {
            assert_eq!(inspected[field], snapshot[field], "seed {seed}: {field}");
        }
        let restored = lab.restore(&TARGETS, &file, "").end();
        assert_eq!(restored["restored"], snapshot["keys"], "seed {seed}: {restored}");
        assert_eq!(restored["slots"], snapshot["slots"], "seed {seed}");
        assert_eq!(Value::from(slots(&lab, &TARGETS)), snapshot["slots"], "seed {seed}");
        assert_eq!(lab.debug_digest(&TARGETS), lab.debug_digest(&[SOURCE]), "seed {seed}");
        assert!(lab.ask(TARGETS[2], "FUNCTION LIST").contains("lib"));
        for port in [SOURCE, TARGETS[0], TARGETS[1], TARGETS[2]] {
            lab.ask(port, "FLUSHALL");
        }
    }
}

#[test]
fn a_file_without_other_slots_is_loaded_by_the_engine() {
    let mut lab = Lab::new();
    lab.shard(SOURCE, &["--maxmemory-policy", "allkeys-lfu"]);
    lab.fill(SOURCE, &Commands::new(7).random(200));
    let taken = lab.snapshot(SOURCE, "100-9000,16383", "none");
    std::fs::write(lab.server_directory(TARGETS[0]).join("dump.rdb"), &taken.output).unwrap();
    let snapshot = taken.end();
    let keys = snapshot["keys"].as_u64().unwrap();
    assert!((1..200).contains(&keys), "{keys}");
    lab.shard(TARGETS[0], &[]);
    assert_eq!(lab.ask(TARGETS[0], "DBSIZE"), format!(":{keys}\r\n"));
    assert_eq!(Value::from(slots(&lab, &TARGETS[..1])), snapshot["slots"]);
}
