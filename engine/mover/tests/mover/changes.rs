//! Recorded changes: completeness, replay to a time, failovers, and interruptions.

use crate::dataset::Commands;
use crate::lab::Lab;
use crate::recorder::{ChangeFile, Recorder, joined};
use lab::wait;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;

pub const SOURCE: u16 = 7000;
const REPLICA: u16 = 7001;
pub const TARGETS: [u16; 3] = [7011, 7012, 7013];

pub fn slots(lab: &Lab, ports: &[u16]) -> Value {
    let of_shard = |&port| lab.snapshot(port, "0-16383", "none").end()["slots"].as_array().unwrap().clone();
    ports.iter().flat_map(of_shard).collect::<Vec<Value>>().into()
}

fn info(lab: &Lab, port: u16, name: &str) -> String {
    let info = lab.ask(port, "INFO everything");
    let found = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found.unwrap().trim().to_owned()
}

/// Commands that change what exists: all kinds of commands that are replicated in another form, or
/// belong together.
pub fn changes(lab: &Lab, port: u16, round: usize) {
    let script = "for n = 1, 50 do redis.call('INCRBY', 'counter:' .. n % 7, n) redis.call('LPUSH', 'lua', n) end \
                  redis.call('SPOP', 'letters', 2) return redis.call('TIME')[1]";
    let mut commands = Commands::new(1000 + round as u64);
    for args in [
        &["SADD", "letters", "a", "b", "c", "d", "e", "f", "g", "h"][..],
        &["EVAL", script, "0"],
        &["MULTI"],
        &["APPEND", "text", "more"],
        &["INCRBYFLOAT", "float", "1.5"],
        &["EXEC"],
        &["MSET", "m:1", "1", "m:2", "2", "m:3", "3"],
        &["DEL", "m:1", "m:2"],
        &["SET", "session", "1", "EX", "1000"],
        &["SET", "short", "1", "PX", "400"],
        &["INCR", "short"],
        &["EXPIRE", "m:3", "5000"],
        &["HSET", "{h}1", "f", "1", "g", "2"],
        &["HPEXPIRE", "{h}1", "900000", "FIELDS", "1", "f"],
        &["COPY", "{h}1", "{h}2", "REPLACE"],
        &["XADD", "events", "*", "n", "1"],
        &["XGROUP", "CREATE", "events", "readers", "0"],
        &["XREADGROUP", "GROUP", "readers", "me", "COUNT", "1", "STREAMS", "events", ">"],
        &["ZADD", "{z}1", "1", "a", "2", "b"],
        &["ZUNIONSTORE", "{z}2", "1", "{z}1"],
        &["SORT", "{z}1", "ALPHA", "STORE", "{z}3"],
        &["SETRANGE", "{b}1", "7", "bits"],
        &["BITOP", "NOT", "{b}2", "{b}1"],
        &["PFADD", "{p}1", "a", "b"],
        &["PFMERGE", "{p}2", "{p}1"],
        &["GETEX", "text", "EX", "9999"],
        &["PUBLISH", "channel", "message"],
        &["LMOVE", "lua", "lua", "LEFT", "RIGHT"],
    ] {
        if round > 0 && args[0] == "XGROUP" {
            continue;
        }
        let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
        commands.add(&args);
    }
    lab.fill(port, &commands.bytes);
}

#[test]
fn a_time_between_changes_can_be_restored_to_other_shards() {
    let mut lab = Lab::new();
    for port in [SOURCE, TARGETS[0], TARGETS[1], TARGETS[2]] {
        lab.shard(port, &[]);
    }
    lab.fill(SOURCE, &Commands::new(1).random(200));
    lab.ask(SOURCE, "SET before 1 PX 1500");
    let recorder = Recorder::start(&lab, SOURCE, "");
    changes(&lab, SOURCE, 0);
    let taken = lab.snapshot(SOURCE, "0-16383", "zstd");
    let base = taken.output.clone();
    let taken = taken.end();
    let after = taken["replication_offset"].as_u64().unwrap();

    // The recorder is killed: what it has not stored is sent again.
    let position = recorder.last();
    let delete =
        "for _, k in ipairs(redis.call('KEYS', '*')) do if k ~= 'before' then redis.call('DEL', k) end end";
    let deleted = lab.client(SOURCE).try_command(&[b"EVAL", delete.as_bytes(), b"0"]);
    assert_eq!(deleted.as_deref(), Some("$-1\r\n"));
    lab.ask(SOURCE, "FUNCTION FLUSH");
    lab.fill(SOURCE, &Commands::new(2).random(200));
    recorder.kill();
    let options = format!(
        "--replication-id={} --offset={}",
        position["replication_id"].as_str().unwrap(),
        position["offset"]
    );
    let recorder = Recorder::start(&lab, SOURCE, &options);
    changes(&lab, SOURCE, 0);
    let library = b"#!lua name=other\nserver.register_function('g', function() return 2 end)";
    lab.client(SOURCE).try_command(&[b"FUNCTION", b"LOAD", b"REPLACE", library]);
    let time = recorder.catch_up(&lab, SOURCE);
    let expected = slots(&lab, &[SOURCE]);
    lab.ask(SOURCE, "INCR before");
    changes(&lab, SOURCE, 2);
    lab.ask(SOURCE, "FLUSHALL");
    changes(&lab, SOURCE, 0);
    recorder.catch_up(&lab, SOURCE);
    let last = slots(&lab, &[SOURCE]);
    // Now the keys that lived for a short time have expired.
    wait("the expiry", || lab.ask(SOURCE, "EXISTS short") == ":0\r\n");
    let (files, end) = recorder.stop();
    assert_eq!(end["reason"], "stopped", "{end}");
    assert_eq!(end["offset"].as_u64().unwrap(), files.last().unwrap().number("end"));
    for pair in files.windows(2) {
        assert_eq!(pair[0].number("end"), pair[1].number("start"));
        assert!(pair[0].number("until") <= pair[1].number("until"));
    }

    lab.ask(TARGETS[1], "SET counter:1 100");
    let changes = joined(&files);
    let options = format!("--after={after} --until={time}");
    let replayed = lab.restore_with_changes(&TARGETS, &base, &changes, &options).end();
    assert!(replayed["replayed"].as_u64().unwrap() > 100, "{replayed}");
    let without = |slots: &Value, keys: &[&str]| -> Vec<Value> {
        let left_out: Vec<u16> = keys.iter().map(|key| resp::slot::of_key(key.as_bytes())).collect();
        let all = slots.as_array().unwrap().iter();
        all.filter(|slot| !left_out.contains(&(slot["slot"].as_u64().unwrap() as u16))).cloned().collect()
    };
    // The keys that have expired since are not there.
    let expired = ["short", "before"];
    assert_eq!(without(&slots(&lab, &TARGETS), &expired), without(&expected, &expired));
    for port in TARGETS {
        wait("the expiry", || {
            lab.ask(port, "EXISTS short") == ":0\r\n" && lab.ask(port, "EXISTS before") == ":0\r\n"
        });
        assert!(lab.ask(port, "FUNCTION LIST").contains("other"));
        assert!(lab.ask(port, "CONFIG GET import-mode").contains("no"));
    }

    let options = format!("--after={after}");
    lab.restore_with_changes(&TARGETS, &base, &changes, &options).end();
    assert_eq!(without(&slots(&lab, &TARGETS), &["short"]), without(&last, &["short"]));
}

#[test]
fn changes_outside_cluster_mode_are_replayed_to_clusters() {
    let mut lab = Lab::new();
    lab.shard(SOURCE, &[]);
    for (port, slots) in [(TARGETS[0], "0 8191"), (TARGETS[1], "8192 16383")] {
        lab.shard(port, &["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"]);
        assert_eq!(lab.ask(port, &format!("CLUSTER ADDSLOTSRANGE {slots}")), "+OK\r\n");
        wait("the cluster", || lab.ask(port, "CLUSTER INFO").contains("cluster_state:ok"));
    }
    let recorder = Recorder::start(&lab, SOURCE, "");
    lab.fill(SOURCE, &Commands::new(5).random(100));
    let taken = lab.snapshot(SOURCE, "0-16383", "zstd");
    let base = taken.output.clone();
    let after = taken.end()["replication_offset"].as_u64().unwrap();
    lab.ask(SOURCE, "FLUSHALL");
    changes(&lab, SOURCE, 0);
    lab.ask(SOURCE, "DEL short");
    recorder.catch_up(&lab, SOURCE);
    let (files, _) = recorder.stop();
    lab.restore_with_changes(&TARGETS[..2], &base, &joined(&files), &format!("--after={after}")).end();
    assert_eq!(slots(&lab, &TARGETS[..2]), slots(&lab, &[SOURCE]));
}

/// The engine does not replicate consumers that have received nothing.
fn delete_idle_consumers(lab: &Lab, port: u16) {
    let script =
        b"for _, k in ipairs(redis.call('KEYS', '*')) do if redis.call('TYPE', k).ok == 'stream' then \
        for _, c in ipairs(redis.call('XINFO', 'CONSUMERS', k, 'group')) do \
        if c[4] == 0 then redis.call('XGROUP', 'DELCONSUMER', k, 'group', c[2]) end end end end";
    assert_eq!(lab.client(port).try_command(&[b"EVAL", script, b"0"]).as_deref(), Some("$-1\r\n"));
}

/// Kills recorders at random moments, and lets others continue where it was reported that they were.
#[test]
fn killed_recorders_lose_nothing() {
    let seeds = if std::env::var_os("SHARDBOARD_THOROUGH").is_some() { 0..20 } else { 0..1 };
    for seed in seeds {
        let mut lab = Lab::new();
        for port in [SOURCE, TARGETS[0]] {
            lab.shard(port, &["--repl-backlog-size", "64mb"]);
        }
        let base = lab.snapshot(SOURCE, "0-16383", "none").output;
        let mut random = SmallRng::seed_from_u64(seed);
        let mut options = String::new();
        let mut files: Vec<ChangeFile> = Vec::new();
        let mut after = None;
        for round in 0..4 {
            let mut recorder = Recorder::start(&lab, SOURCE, &options);
            after.get_or_insert(recorder.last()["offset"].as_u64().unwrap());
            lab.ask(SOURCE, "FUNCTION FLUSH");
            lab.ask(SOURCE, "FLUSHALL");
            lab.fill(SOURCE, &Commands::new(seed * 10 + round).random(60));
            if random.random() {
                files.extend(recorder.next());
                recorder.request("stored");
            }
            // The position that is reported can be older than what is stored.
            let last = recorder.last();
            if round == 3 {
                recorder.catch_up(&lab, SOURCE);
                files.extend(recorder.stop().0);
                break;
            }
            recorder.kill();
            let id = last["replication_id"].as_str().unwrap();
            options = format!("--replication-id={id} --offset={}", last["offset"]);
        }
        files.sort_by_key(|file| (file.number("start"), file.number("end")));
        let options = format!("--after={}", after.unwrap());
        lab.restore_with_changes(&TARGETS[..1], &base, &joined(&files), &options).end();
        for port in [SOURCE, TARGETS[0]] {
            delete_idle_consumers(&lab, port);
        }
        assert_eq!(slots(&lab, &TARGETS[..1]), slots(&lab, &[SOURCE]), "seed {seed}");
    }
}

#[test]
fn a_promoted_replica_continues_the_recording() {
    let mut lab = Lab::new();
    lab.shard(SOURCE, &["--primaryuser", "default", "--primaryauth", "secret"]);
    let primary = format!("{} {SOURCE}", lab.ip);
    lab.shard(REPLICA, &["--replicaof", &primary, "--primaryuser", "default", "--primaryauth", "secret"]);
    lab.shard(TARGETS[0], &[]);
    wait("the replica", || info(&lab, REPLICA, "master_link_status") == "up");
    let base = lab.snapshot(SOURCE, "0-16383", "zstd");
    let file = base.output.clone();
    let after = base.end()["replication_offset"].as_u64().unwrap();
    let recorder = Recorder::start(
        &lab,
        REPLICA,
        &format!("--replication-id={} --offset={after}", info(&lab, SOURCE, "master_replid")),
    );
    changes(&lab, SOURCE, 0);
    recorder.catch_up(&lab, SOURCE);
    wait("the replica", || {
        info(&lab, REPLICA, "master_repl_offset") == info(&lab, SOURCE, "master_repl_offset")
    });
    let old = info(&lab, REPLICA, "master_replid");
    lab.kill(SOURCE);
    lab.ask(REPLICA, "REPLICAOF NO ONE");
    changes(&lab, REPLICA, 1);
    recorder.catch_up(&lab, REPLICA);
    let syncs = info(&lab, REPLICA, "sync_full");
    let (files, end) = recorder.stop();
    assert_eq!(end["replication_id"].as_str().unwrap(), info(&lab, REPLICA, "master_replid"));
    let ids: Vec<&str> = files.iter().map(|file| file.header["replication_id"].as_str().unwrap()).collect();
    assert!(ids.contains(&&old[..]) && ids.contains(&end["replication_id"].as_str().unwrap()), "{ids:?}");
    assert_eq!(syncs, "0");
    lab.restore_with_changes(&TARGETS[..1], &file, &joined(&files), &format!("--after={after}")).end();
    lab.ask(REPLICA, "DEL short");
    lab.ask(TARGETS[0], "DEL short");
    assert_eq!(slots(&lab, &TARGETS[..1]), slots(&lab, &[REPLICA]));
}

#[test]
fn a_recorder_does_not_count_as_a_replica() {
    let mut lab = Lab::new();
    lab.shard(SOURCE, &[]);
    let recorder = Recorder::start(&lab, SOURCE, "");
    let mut client = lab.client(SOURCE);
    client.command("SET a 1");
    recorder.catch_up(&lab, SOURCE);
    assert_eq!(client.command("WAIT 1 100"), ":0\r\n");
    recorder.stop();
}

#[test]
fn a_position_that_the_shard_does_not_have_costs_no_copy() {
    let mut lab = Lab::new();
    lab.shard(SOURCE, &["--repl-backlog-size", "16384"]);
    let recorder = Recorder::start(&lab, SOURCE, "");
    let position = recorder.last();
    recorder.kill();
    let forks = info(&lab, SOURCE, "total_forks");
    lab.fill(SOURCE, &Commands::new(3).random(300));
    let id = position["replication_id"].as_str().unwrap();
    for (id, offset, text) in [
        (id, position["offset"].as_u64().unwrap(), "the replication backlog starts after offset"),
        (id, 1 << 40, "the shard has only changes up to offset"),
        (&"c".repeat(40)[..], 0, "another history"),
    ] {
        let recorder = Recorder::spawn(&lab, SOURCE, &format!("--replication-id={id} --offset={offset}"));
        let (files, end) = recorder.finish();
        assert!(files.is_empty() && end["reason"] == "stream-lost", "{end}");
        assert!(end["details"].as_str().unwrap().contains(text), "{end}");
        assert_eq!((end["replication_id"].as_str().unwrap(), end["offset"].as_u64().unwrap()), (id, offset));
    }
    assert_eq!(info(&lab, SOURCE, "total_forks"), forks);
}

#[test]
fn a_slow_location_does_not_lose_changes() {
    let mut lab = Lab::new();
    lab.shard(SOURCE, &["--repl-backlog-size", "64mb"]);
    lab.shard(TARGETS[0], &[]);
    let base = lab.snapshot(SOURCE, "0-16383", "none").output;
    let recorder = Recorder::start(&lab, SOURCE, "--memory-bytes=1000 --spool-bytes=2000");
    let after = recorder.last()["offset"].as_u64().unwrap();
    // Nothing is stored, so the recorder keeps what it may, and then disconnects.
    let mut seed = 10;
    wait("the limit", || {
        seed += 1;
        lab.fill(SOURCE, &Commands::new(seed).random(30)[..]);
        lab.ask(SOURCE, "FUNCTION FLUSH");
        lab.ask(SOURCE, "FLUSHALL");
        info(&lab, SOURCE, "connected_slaves") == "0"
    });
    assert!(recorder.last()["waiting_bytes"].as_u64().unwrap() >= 2000);
    changes(&lab, SOURCE, 0);
    let offset: u64 = info(&lab, SOURCE, "master_repl_offset").parse().unwrap();
    let mut recorder = recorder;
    let mut files: Vec<ChangeFile> = Vec::new();
    while files.last().is_none_or(|file| file.number("end") < offset) {
        files.extend(recorder.next());
        recorder.request("stored");
    }
    let (rest, end) = recorder.stop();
    files.extend(rest);
    assert_eq!(end["reason"], "stopped", "{end}");
    assert_eq!(
        std::fs::read_dir(&lab.directory)
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".spool") })
            .count(),
        0
    );
    lab.restore_with_changes(&TARGETS[..1], &base, &joined(&files), &format!("--after={after}")).end();
    lab.ask(SOURCE, "DEL short");
    lab.ask(TARGETS[0], "DEL short");
    assert_eq!(slots(&lab, &TARGETS[..1]), slots(&lab, &[SOURCE]));
}

#[test]
fn a_shard_that_stops_ends_the_recording() {
    let mut lab = Lab::new();
    lab.shard(SOURCE, &[]);
    let recorder = Recorder::start(&lab, SOURCE, "--retry-seconds=1");
    lab.ask(SOURCE, "SET a 1");
    recorder.catch_up(&lab, SOURCE);
    lab.kill(SOURCE);
    let (files, end) = recorder.finish();
    assert_eq!(end["reason"], "copy-lost", "{end}");
    assert_eq!(end["offset"].as_u64().unwrap(), files.last().unwrap().number("end"));
}
