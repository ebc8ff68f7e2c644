//! Restores of large values and of some keys, and to shards that fail.

use crate::dataset::Commands;
use crate::file::RdbFile;
use crate::lab::Lab;
use lab::wait;
use serde_json::json;

const SOURCE: u16 = 7000;
const TARGET: u16 = 7001;

/// Values that are written by several commands.
fn large_values() -> Vec<u8> {
    let mut commands = Commands::new(0);
    let long = |n: usize| [n.to_string().into_bytes(), vec![b'a' + (n % 26) as u8; 1000]].concat();
    let text: Vec<u8> = (0..1_500_000u32).flat_map(u32::to_le_bytes).collect();
    commands.add(&[b"SET", b"string", &text, b"PXAT", b"4000000000000"]);
    for n in 0..4500 {
        commands.add(&[b"RPUSH", b"list", &long(n)]);
        commands.add(&[b"SADD", b"set", &long(n)]);
        commands.add(&[b"ZADD", b"zset", (n as f64 / 7.0).to_string().as_bytes(), &long(n)]);
        commands.add(&[b"HSET", b"hash", &long(n), b"1"]);
        commands.add(&[b"XADD", b"stream", b"*", b"field", &long(n)]);
    }
    commands.add(&[b"HSET", b"hash", b"long", &text]);
    commands.add(&[b"HPEXPIREAT", b"hash", b"4000000000000", b"FIELDS", b"2", b"long", &long(7)]);
    commands.bytes
}

#[test]
fn large_values_are_written_in_pieces() {
    let mut lab = Lab::new();
    lab.shard(SOURCE, &["--rdbcompression", "no"]);
    lab.shard(TARGET, &[]);
    lab.fill(SOURCE, &large_values());
    lab.ask(TARGET, "SET list old");
    // A previous restore may have left a part.
    lab.ask(TARGET, "RPUSH shardboard-restore:0 x");
    let taken = lab.snapshot(SOURCE, "0-16383", "zstd");
    let file = taken.output.clone();
    let snapshot = taken.end();
    let restored = lab.restore(&[TARGET], &file, "").end();
    assert_eq!(restored["restored"], 6, "{restored}");
    assert_eq!(restored["slots"], snapshot["slots"]);
    lab.ask(TARGET, "DEL shardboard-restore:0");
    assert_eq!(lab.debug_digest(&[TARGET]), lab.debug_digest(&[SOURCE]));
    assert_eq!(lab.snapshot(TARGET, "0-16383", "none").end()["slots"], snapshot["slots"]);
    let commands = lab.ask(TARGET, "INFO commandstats");
    assert!(commands.contains("cmdstat_restore:calls=1,"), "{commands}");
    assert_eq!(lab.ask(TARGET, "PEXPIRETIME string"), ":4000000000000\r\n");
    assert_eq!(lab.ask(TARGET, "PEXPIRETIME list"), ":-1\r\n");
}

#[test]
fn only_matching_keys_that_have_not_expired_are_restored() {
    let mut lab = Lab::new();
    lab.shard(TARGET, &[]);
    lab.ask(TARGET, "SET a:1 old");
    let key = |file: RdbFile, key: &str| file.raw(&[0]).string(key).string("new");
    let mut file = RdbFile::new("REDIS0011").raw(&[245]).string(crate::dataset::FUNCTION);
    for name in ["a:1", "a:2", "b:1", "c"] {
        file = key(file, name);
    }
    file = key(file.raw(&[252]).raw(&1_000_000i64.to_le_bytes()), "a:3");
    file = key(file.raw(&[254, 1]), "a:4");
    let restored = lab.restore(&[TARGET], &file.end(), "--pattern='a:*' --pattern=c").end();
    let unsupported = json!({"key of a database other than 0": 1});
    for (field, expected) in [
        ("restored", json!(3)),
        ("skipped", json!(1)),
        ("expired", json!(1)),
        ("unsupported", unsupported),
        ("functions", json!([])),
    ] {
        assert_eq!(restored[field], expected, "{field}");
    }
    assert_eq!(
        lab.ask(TARGET, "MGET a:1 a:2 a:3 b:1 c"),
        "*5\r\n$3\r\nnew\r\n$3\r\nnew\r\n$-1\r\n$-1\r\n$3\r\nnew\r\n"
    );
    assert_eq!(lab.ask(TARGET, "FUNCTION LIST"), "*0\r\n");
}

#[test]
fn a_full_shard_is_reported() {
    if std::env::var_os("SHARDBOARD_THOROUGH").is_none() {
        return; // it takes 10 s
    }
    let mut lab = Lab::new();
    lab.shard(TARGET, &["--maxmemory", "1", "--maxmemory-policy", "noeviction"]);
    let file = RdbFile::new("REDIS0011").raw(&[0]).string("a").string("1").end();
    assert_eq!(lab.restore(&[TARGET], &file, "").error().0, "out-of-memory");
}

/// The engine frees the memory of keys that were deleted with FLUSHALL ASYNC in the background.
#[test]
fn a_full_shard_gets_time_to_free_memory() {
    let mut lab = Lab::new();
    lab.shard(TARGET, &["--maxmemory", "1", "--maxmemory-policy", "noeviction"]);
    let file = RdbFile::new("REDIS0011").raw(&[0]).string("a").string("1").end();
    let restored = std::thread::scope(|scope| {
        let mover = scope.spawn(|| lab.restore(&[TARGET], &file, ""));
        wait("a rejected command", || lab.ask(TARGET, "INFO errorstats").contains("errorstat_OOM:count="));
        lab.ask(TARGET, "CONFIG SET maxmemory 0");
        mover.join().unwrap()
    });
    assert_eq!(restored.end()["restored"], 1);
}

/// A primary rejects commands for two seconds after its start.
#[test]
fn commands_are_repeated_until_the_shard_accepts_them() {
    let mut lab = Lab::new();
    let socket = lab.socket(TARGET);
    let line = format!("{:040x} {}:{TARGET}@12001 myself,master - 0 0 1 connected 0-16383", 1, lab.ip);
    let options = ["--unixsocket", socket.to_str().unwrap(), "--requirepass", crate::lab::PASSWORD];
    lab.member(TARGET, &format!("{line}\nvars currentEpoch 1 lastVoteEpoch 0\n"), &options);
    assert!(lab.ask(TARGET, "GET a").starts_with("-CLUSTERDOWN"));
    let long = vec![b'x'; 5_000_000];
    let file =
        RdbFile::new("REDIS0011").raw(&[0]).string("a").string("1").raw(&[0]).string("b").string(&long).end();
    let restored = lab.restore(&[TARGET], &file, "").end();
    assert_eq!(restored["restored"], 2, "{restored}");
    assert_eq!(lab.ask(TARGET, "STRLEN b"), ":5000000\r\n");
    assert_eq!(lab.ask(TARGET, "DBSIZE"), ":2\r\n");
}

#[test]
fn a_shard_that_stops_is_reported() {
    let mut lab = Lab::new();
    lab.shard(TARGET, &[]);
    let mut file = RdbFile::new("REDIS0011");
    for n in 0..20_000 {
        file = file.raw(&[0]).string(n.to_string()).string([b'x'; 1000]);
    }
    let file = file.end();
    lab.freeze(TARGET);
    let outcome = std::thread::scope(|scope| {
        let lab = &lab;
        let mover = scope.spawn(move || lab.restore(&[TARGET], &file, ""));
        wait("the connection", || {
            let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
            let path = lab.socket(TARGET);
            sockets.lines().filter(|line| line.ends_with(path.to_str().unwrap())).count() > 1
        });
        lab.resume(TARGET);
        lab.client(TARGET).send("SHUTDOWN NOSAVE FORCE");
        mover.join().unwrap()
    });
    assert_eq!(outcome.error().0, "shard-unavailable");
}

#[test]
fn an_unreachable_shard_is_reported() {
    let lab = Lab::new();
    let file = RdbFile::new("REDIS0011").end();
    let (code, message) = lab.restore(&[TARGET], &file, "").error();
    assert!(code == "shard-unavailable" && message.contains("cannot be reached"), "{message}");
}
