//! Snapshots of shards that fail or send something else.

use crate::file::RdbFile;
use crate::lab::{Lab, PASSWORD};
use lab::wait;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::time::Instant;

const SHARD: u16 = 7000;
const MARK: &[u8; 40] = b"0123456789012345678901234567890123456789";

#[test]
fn a_user_with_few_permissions_is_sufficient() {
    let mut lab = Lab::new();
    lab.shard(SHARD, &[]);
    lab.ask(SHARD, "SET a 1");
    lab.ask(SHARD, "ACL SETUSER backup on >password +info +sync +psync +replconf");
    let arguments =
        format!("snapshot --socket={SHARD}/socket --user=backup --slots=0-16383 --compression=zstd");
    let snapshot = lab.mover(&arguments, "password", b"").end();
    assert_eq!((&snapshot["keys"], &snapshot["rdb_version"]), (&1.into(), &80.into()));
    assert_eq!(snapshot["replication_id"].as_str().unwrap().len(), 40);

    let (code, message) = lab.mover(&arguments, "wrong", b"").error();
    assert_eq!(code, "shard-unavailable");
    assert!(message.contains("WRONGPASS"), "{message}");
}

#[test]
fn a_replica_without_its_primary_is_reported() {
    let mut lab = Lab::new();
    lab.shard(SHARD, &["--replicaof", "127.0.0.1 1"]);
    let (code, message) = lab.snapshot(SHARD, "0-16383", "zstd").error();
    assert_eq!(code, "shard-unavailable");
    assert!(message.contains("not connected to its primary"), "{message}");
}

#[test]
fn a_shard_that_stops_is_reported() {
    let mut lab = Lab::new();
    lab.shard(SHARD, &[]);
    lab.ask(SHARD, "DEBUG POPULATE 300000 key 100");
    let arguments = format!(
        "snapshot --socket={SHARD}/socket --user=default --slots=0-16383 --compression=none --max-bytes-per-second=1000000"
    );
    let outcome = std::thread::scope(|scope| {
        let mover = scope.spawn(|| lab.mover(&arguments, PASSWORD, b""));
        wait("the snapshot", || lab.ask(SHARD, "INFO persistence").contains("rdb_bgsave_in_progress:1"));
        lab.ask(SHARD, "CLIENT KILL TYPE replica");
        mover.join().unwrap()
    });
    let (code, message) = outcome.error();
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("shard-unavailable", "the shard closed the connection early")
    );
}

/// Takes a snapshot of a shard that replies to SYNC with these bytes.
fn snapshot_of(lab: &Lab, slots: &str, reply: &[u8]) -> crate::lab::Outcome {
    let path = lab.directory.join("fake");
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut input = Vec::new();
            let mut answer = |end: &str, reply: &[u8]| {
                while !String::from_utf8_lossy(&input).ends_with(&format!("{end}\r\n")) {
                    let mut bytes = [0; 1000];
                    let read = stream.read(&mut bytes).unwrap();
                    assert_ne!(read, 0);
                    input.extend_from_slice(&bytes[..read]);
                }
                stream.write_all(reply).unwrap();
            };
            answer("server", b"$22\r\nvalkey_version:9.1.2\r\n\r\n");
            for end in ["eof", "9.1.2", "1"] {
                answer(end, b"+OK\r\n");
            }
            answer("SYNC", reply);
        });
        let arguments = format!("snapshot --socket=fake --user=default --slots={slots} --compression=none");
        lab.mover(&arguments, "", b"")
    })
}

fn framed(file: &[u8], mark: &[u8]) -> Vec<u8> {
    [b"\n\n\n$EOF:", &MARK[..], b"\r\n", file, mark].concat()
}

#[test]
fn only_a_complete_file_is_accepted() {
    let lab = Lab::new();
    let file = RdbFile::new("VALKEY080").raw(&[0]).string("a").string("1").end();
    let taken = snapshot_of(&lab, "0-16383", &framed(&file, MARK));
    assert!(taken.output == file);
    assert_eq!(taken.end()["keys"], 1);
    // Without `capa eof`, a shard sends the length.
    let with_length = [format!("${}\r\n", file.len()).as_bytes(), &file].concat();
    assert_eq!(snapshot_of(&lab, "0-16383", &with_length).end()["keys"], 1);

    let mut wrong = file.clone();
    *wrong.last_mut().unwrap() ^= 1;
    let cases = [
        (framed(&file, &MARK[..39]), "shard-unavailable", "closed the connection early"),
        (framed(&file, &[b'x'; 40]), "shard-unavailable", "no valid end"),
        (framed(&file[..15], b""), "shard-unavailable", "closed the connection early"),
        (framed(&wrong, MARK), "file-corrupted", "checksum"),
        (b"-LOADING the dataset\r\n".to_vec(), "shard-unavailable", "LOADING"),
        (b"+OK\r\n".to_vec(), "shard-unavailable", "invalid reply to SYNC"),
    ];
    for (reply, expected, text) in cases {
        let (code, message) = snapshot_of(&lab, "0-16383", &reply).error();
        assert!(code == expected && message.contains(text), "{code} {message}");
    }
}

#[test]
fn slots_that_are_imported_are_left_out() {
    let lab = Lab::new();
    // "a" is in slot 15495 and "b" in slot 3300.
    let slot_info = |slot| RdbFile::new("").raw(&[244]).length(slot).raw(&[1, 0]);
    let file = RdbFile::new("VALKEY080")
        .raw(&[243])
        .string([b'j'; 40])
        .raw(&[1])
        .length(15000)
        .length(16000)
        .raw(&[254, 0])
        .raw(&slot_info(3300).bytes())
        .raw(&[0])
        .string("b")
        .string("2")
        .raw(&slot_info(15495).bytes())
        .raw(&[0])
        .string("a")
        .string("1")
        .end();
    let taken = snapshot_of(&lab, "3000-16383", &framed(&file, MARK));
    let expected = RdbFile::new("VALKEY080")
        .raw(&[254, 0])
        .raw(&slot_info(3300).bytes())
        .raw(&[0])
        .string("b")
        .string("2")
        .raw(&slot_info(15495).bytes())
        .end();
    assert!(taken.output == expected);
    let snapshot = taken.end();
    assert_eq!((&snapshot["keys"], &snapshot["slots"][0]["slot"]), (&1.into(), &3300.into()));
}

#[test]
fn movers_share_a_rate() {
    let mut lab = Lab::new();
    let ports = [SHARD, SHARD + 1];
    for port in ports {
        lab.shard(port, &[]);
        lab.ask(port, "DEBUG POPULATE 20000 key 100");
    }
    let start = Instant::now();
    let bytes: u64 = std::thread::scope(|scope| {
        let movers = ports.map(|port| {
            let arguments = format!(
                "snapshot --socket={port}/socket --user=default --slots=0-16383 --compression=none --pace=gentle --pace-file=pace --max-bytes-per-second=4000000"
            );
            let lab = &lab;
            scope.spawn(move || lab.mover(&arguments, PASSWORD, b"").end()["raw_bytes"].as_u64().unwrap())
        });
        movers.map(|mover| mover.join().unwrap()).iter().sum()
    });
    let seconds = start.elapsed().as_secs_f64();
    assert!(bytes as f64 / seconds < 4_100_000.0, "{bytes} bytes in {seconds} s");
}
