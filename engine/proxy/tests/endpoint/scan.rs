//! SCAN: every key that exists during the complete scan is returned, also while slots move and
//! shards fail.

use crate::lab::{Client, Lab, REPLICAS, SHARDS, wait};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Returns how often a complete scan has returned each key. `between` is called after each page.
fn scan(client: &mut Client, options: &str, mut between: impl FnMut(usize)) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut cursor = "0".to_string();
    for page in 0.. {
        assert!(page < 200_000, "the scan does not end; cursor {cursor}");
        let reply = client.command(&format!("SCAN {cursor}{options}"));
        let items = resp::items(reply.as_bytes()).unwrap_or_else(|| panic!("{reply}"));
        cursor = String::from_utf8(resp::text(items[0]).unwrap().to_vec()).unwrap();
        for key in resp::items(items[1]).unwrap() {
            *found.entry(String::from_utf8(resp::text(key).unwrap().to_vec()).unwrap()).or_default() += 1;
        }
        if cursor == "0" {
            return found;
        }
        between(page);
    }
    found
}

fn fill(client: &mut Client, count: usize) -> Vec<String> {
    let keys: Vec<_> =
        (0..count).map(|n| format!("key:{n}")).chain((0..200).map(|n| format!("{{one}}{n}"))).collect();
    for part in keys.chunks(500) {
        let words: Vec<_> = part.iter().flat_map(|key| [key.as_str(), "x"]).collect();
        assert_eq!(client.command(&format!("MSET {}", words.join(" "))), "+OK\r\n");
    }
    keys
}

fn check(found: &BTreeMap<String, usize>, keys: &[String], what: &str) {
    let missing: Vec<_> = keys.iter().filter(|key| !found.contains_key(*key)).collect();
    assert!(missing.is_empty(), "{what}: {} of {} keys are missing: {missing:?}", missing.len(), keys.len());
}

#[test]
fn without_changes_each_key_is_returned_once() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    let keys = fill(&mut client, 3000);
    for options in ["", " COUNT 1", " COUNT 1000000", " MATCH * COUNT 50", " TYPE string"] {
        let found = scan(&mut client, options, |_| {});
        check(&found, &keys, options);
        assert_eq!(found.values().sum::<usize>(), keys.len(), "{options}");
    }
    let found = scan(&mut client, " MATCH {one}* COUNT 7", |_| {});
    assert_eq!((found.len(), found.values().sum::<usize>()), (200, 200));
    assert!(scan(&mut client, " TYPE list", |_| {}).is_empty());
    // Errors are those of the engine. Numbers of other origin start a new scan.
    assert_eq!(client.command("SCAN x"), "-ERR invalid cursor\r\n");
    assert!(client.command("SCAN 0 COUNT 0").starts_with("-ERR"));
    assert!(client.command("SCAN 12345 COUNT 100000").starts_with("*2\r\n$19\r\n"));
    assert_eq!(client.command("HELLO 3").chars().next(), Some('%'));
    check(&scan(&mut client, " COUNT 100", |_| {}), &keys, "RESP3");
    // Without a right to list the shards, SCAN is available.
    for port in SHARDS {
        lab.direct(port).command("ACL SETUSER default -cluster");
    }
    check(&scan(&mut client, " COUNT 100", |_| {}), &keys, "without CLUSTER NODES");
}

/// Moves slots between shards until `done`, and counts the moves.
fn move_slots(done: &AtomicBool, moves: &AtomicUsize, mut step: impl FnMut(u16, u16, u16)) {
    let owner = |slot: usize| SHARDS[(0..3).find(|n| slot < (n + 1) * 16384 / 3).unwrap()];
    let mut owners: Vec<_> = (0..16384).map(owner).collect();
    let mut random = 12345u64;
    while !done.load(Ordering::Relaxed) {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let slot = (random >> 33) as u16 % 16384;
        let from = owners[usize::from(slot)];
        let to = SHARDS[(usize::from(from - SHARDS[0]) + 1 + (random >> 60) as usize % 2) % 3];
        step(slot, from, to);
        owners[usize::from(slot)] = to;
        moves.fetch_add(1, Ordering::Relaxed);
        // As agents do, wait until all shards have learned the new owner.
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// Moves one slot key by key, as Valkey 8 does.
fn move_key_by_key(lab: &Lab, direct: &mut BTreeMap<u16, Client>, slot: u16, from: u16, to: u16) {
    let id = |port: u16| format!("{port:040x}");
    let mut send = |port: u16, line: &str| direct.get_mut(&port).unwrap().command(line);
    assert_eq!(send(to, &format!("CLUSTER SETSLOT {slot} IMPORTING {}", id(from))), "+OK\r\n");
    assert_eq!(send(from, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", id(to))), "+OK\r\n");
    loop {
        let keys = send(from, &format!("CLUSTER GETKEYSINSLOT {slot} 3"));
        let keys = resp::items(keys.as_bytes()).unwrap();
        if keys.is_empty() {
            break;
        }
        for key in keys {
            let key = String::from_utf8(resp::text(key).unwrap().to_vec()).unwrap();
            assert_eq!(send(from, &format!("MIGRATE {} {to} {key} 0 5000", lab.ip)), "+OK\r\n");
        }
    }
    let other = SHARDS.into_iter().find(|port| ![from, to].contains(port)).unwrap();
    for port in [to, from, other] {
        assert_eq!(send(port, &format!("CLUSTER SETSLOT {slot} NODE {}", id(to))), "+OK\r\n");
    }
}

fn scan_while_slots_move(
    rounds: usize,
    step: impl Fn(&Lab, &mut BTreeMap<u16, Client>, u16, u16, u16) + Send + Sync + 'static,
) {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    let keys = fill(&mut client, 3000);
    let lab = Arc::new(lab);
    let done = Arc::new(AtomicBool::new(false));
    let moves = Arc::new(AtomicUsize::new(0));
    let mover = {
        let (lab, done, moves) = (Arc::clone(&lab), Arc::clone(&done), Arc::clone(&moves));
        std::thread::spawn(move || {
            let mut direct: BTreeMap<_, _> =
                SHARDS.into_iter().map(|port| (port, lab.direct(port))).collect();
            move_slots(&done, &moves, |slot, from, to| step(&lab, &mut direct, slot, from, to))
        })
    };
    let mut results = Vec::new();
    for round in 0.. {
        if round >= rounds && moves.load(Ordering::Relaxed) > 20 {
            break;
        }
        let options = [" COUNT 5", " COUNT 100", ""][round % 3];
        results.push((options, scan(&mut client, options, |_| {})));
        if mover.is_finished() {
            break;
        }
    }
    done.store(true, Ordering::Relaxed);
    mover.join().unwrap();
    for (options, found) in &results {
        check(found, &keys, options);
    }
    assert!(moves.load(Ordering::Relaxed) > 20);
}

#[test]
fn no_key_is_missing_while_slots_move_key_by_key() {
    scan_while_slots_move(6, move_key_by_key);
}

#[test]
fn no_key_is_missing_while_the_engine_moves_slots() {
    scan_while_slots_move(6, |_, direct, slot, from, to| {
        let source = direct.get_mut(&from).unwrap();
        let request = format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {to:040x}");
        assert_eq!(source.command(&request), "+OK\r\n");
        wait("the slot to move", || {
            let nodes = source.command("CLUSTER GETSLOTMIGRATIONS");
            !nodes.contains("snapshotting")
                && nodes.split("operation").nth(1).is_none_or(|job| job.contains("success"))
        });
    });
}

#[test]
fn no_key_is_missing_after_a_failover() {
    let mut lab = Lab::new();
    let shards = lab.cluster(true);
    let database = lab.patient(&shards);
    let mut proxy = lab.proxy(&database);
    let mut client = lab.client();
    let keys = fill(&mut client, 3000);
    lab.direct(SHARDS[2]).command("WAIT 1 5000");
    let promoted = lab.promoted(&shards);
    let mut is_promoted = false;
    let found = scan(&mut client, " COUNT 5", |page| {
        if page == 450 {
            is_promoted = true;
            assert_eq!(lab.direct(REPLICAS[2]).command("CLUSTER FAILOVER TAKEOVER"), "+OK\r\n");
            wait("the promotion", || lab.direct(REPLICAS[2]).command("ROLE").contains("master"));
            proxy.apply(&promoted);
        }
    });
    assert!(is_promoted);
    check(&found, &keys, "sharded");
}

#[test]
fn no_key_is_missing_after_a_failover_without_slots() {
    let mut lab = Lab::new();
    lab.server(21000, &[]);
    lab.server(22000, &["--replicaof", &format!("{} 21000", lab.ip.clone())]);
    wait("the replica", || lab.direct(22000).command("INFO replication").contains("master_link_status:up"));
    let database = |version: u64, primary: u16, replica: u16| {
        let mut database = lab
            .database(&[lab.shard(primary, "primary", json!([])), lab.shard(replica, "replica", json!([]))]);
        database["sharded"] = false.into();
        database["version"] = version.into();
        database
    };
    let mut proxy = lab.proxy(&database(1, 21000, 22000));
    let mut client = lab.client();
    let keys = fill(&mut client, 3000);
    lab.direct(21000).command("WAIT 1 5000");
    assert_eq!(scan(&mut client, "", |_| {}).values().sum::<usize>(), keys.len());
    let after = database(2, 22000, 21000);
    let found = scan(&mut client, " COUNT 10", |page| {
        if page == 100 {
            assert_eq!(lab.direct(22000).command("REPLICAOF NO ONE"), "+OK\r\n");
            proxy.apply(&after);
        }
    });
    check(&found, &keys, "failover");
    // A transaction uses the cursors of the engine.
    let first = client.command("SCAN 0 COUNT 10");
    let cursor =
        String::from_utf8(resp::text(resp::items(first.as_bytes()).unwrap()[0]).unwrap().to_vec()).unwrap();
    client.command("MULTI");
    assert_eq!(client.command(&format!("SCAN {cursor} COUNT 100000")), "+QUEUED\r\n");
    assert!(client.command("EXEC").starts_with("*1\r\n*2\r\n$1\r\n0\r\n*31"));
}
