//! Clusters: requests reach the shards of their keys, redirections are followed, and lost shards
//! are recorded as outages.

use crate::lab::Lab;
use resp::slot;
use serde_json::json;

const PORTS: [u16; 3] = [21101, 21102, 21103];

#[test]
fn requests_reach_the_owner_of_the_key_with_and_without_hash_tags() {
    let mut lab = Lab::new();
    lab.cluster(&PORTS);
    let populate = "--cluster-mode -t 2 -c 2 --pipeline=5 --key-minimum=1 --key-maximum=3000 -n allkeys --key-pattern=P:P --ratio=1:0";
    let (end, said, _) = lab.load(PORTS[1], populate).end();
    assert_eq!((&end["ops"], &end["redirected"], &end["errors"]), (&json!(3_000), &json!(0), &json!({})));
    assert!(said.contains("MOVED/sec"), "{said}");
    let keys = |port: &u16| lab.ask(*port, "DBSIZE").trim_matches([':', '\r', '\n']).parse::<u64>().unwrap();
    assert_eq!(PORTS.iter().map(keys).sum::<u64>(), 3_000);
    let (end, ..) = lab.load(PORTS[0], &format!("{populate} --key-prefix={{t}}k")).end();
    assert_eq!((&end["ops"], &end["redirected"]), (&json!(3_000), &json!(0)));
    // Any seed is sufficient if the first address is unavailable.
    let seeds = format!("--seeds={0}:21199,{0}:{1}", lab.ip, PORTS[2]);
    let (end, ..) = lab.load(21198, &format!("{populate} {seeds}")).end();
    assert_eq!(end["ops"], 3_000);
}

#[test]
fn redirections_are_followed_and_counted_separately() {
    let mut lab = Lab::new();
    lab.cluster(&PORTS);
    // One slot of the first server. It contains no key, so CLUSTER SETSLOT is enough to move it.
    let tag = (0..).map(|n| format!("t{n}")).find(|tag| slot::of_key(tag.as_bytes()) < 5000).unwrap();
    let number = slot::of_key(tag.as_bytes());
    let reads = format!(
        "--cluster-mode -t 1 -c 2 --ratio=0:1 --key-maximum=100 --key-prefix={{{tag}}} --test-time=3000"
    );
    let mut load = lab.load(PORTS[0], &reads);
    load.expect("second");
    let id = |port: u16| format!("{port:040x}");
    lab.ask(PORTS[1], &format!("CLUSTER SETSLOT {number} IMPORTING {}", id(PORTS[0])));
    lab.ask(PORTS[0], &format!("CLUSTER SETSLOT {number} MIGRATING {}", id(PORTS[1])));
    while load.expect("second")["ask"] == 0 {}
    for port in [PORTS[1], PORTS[0], PORTS[2]] {
        lab.ask(port, &format!("CLUSTER SETSLOT {number} NODE {}", id(PORTS[1])));
    }
    let mut moved = 0;
    loop {
        let second = load.expect("second");
        moved += second["moved"].as_u64().unwrap();
        if moved > 0 && second["redirected"] == 0 && second["ops"] != 0 {
            break;
        }
    }
    load.terminate();
    let (end, ..) = load.end();
    assert_eq!((&end["errors"], &end["outages"]), (&json!({}), &json!([])), "{end}");
}

#[test]
fn a_killed_primary_is_reported_as_an_outage_and_the_run_ends_on_time() {
    let mut lab = Lab::new();
    lab.cluster(&PORTS);
    let mut load = lab
        .load(PORTS[0], "--cluster-mode -t 2 -c 2 --key-maximum=10000 --test-time=4 --distinct-client-seed");
    load.expect("second");
    lab.kill(PORTS[0]);
    let (end, said, status) = load.end();
    assert!(status.success());
    assert_eq!(end["seconds"], 4.0);
    let outages = end["outages"].as_array().unwrap();
    // The last one, because one connection may still receive a reply from before the kill after
    // another has reported the loss.
    let lost = outages
        .iter()
        .rfind(|outage| outage["shard"] == format!("{}:{}", lab.ip, PORTS[0]))
        .expect("an outage");
    assert_eq!(lost["ended"], json!(null));
    assert!(lost["errors"]["CONNECT"].as_u64() > Some(0), "{lost}");
    assert!(said.contains("Outage of"), "{said}");
}
