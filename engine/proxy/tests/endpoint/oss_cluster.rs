//! Cluster mode: each endpoint acts as the node that owns the slots of its primaries.

use crate::lab::{Lab, Proxy, SHARDS};
use serde_json::{Value, json};

const PORTS: [u16; 2] = [12000, 12001];

/// Returns two endpoints on one address: the first serves two shards, the second serves one.
fn databases(lab: &Lab, shards: &[Value]) -> [Value; 2] {
    let id = |n: usize| format!("{:040x}", 0xe0 + n);
    [0, 1].map(|me| {
        let mut database = lab.database(shards);
        database["mode"] = json!("oss_cluster");
        database["port"] = json!(PORTS[me]);
        for (n, shard) in database["shards"].as_array_mut().unwrap().iter_mut().enumerate() {
            let serves = usize::from(n == 2);
            shard["proxy"] = json!(id(serves));
            if serves == me {
                shard["unix_socket"] = json!(lab.unix_socket(SHARDS[n]));
            }
        }
        let proxies =
            [0, 1].map(|n| json!({"id": id(n), "address": lab.ip, "port": PORTS[n], "local": n == me}));
        database["proxies"] = json!(proxies);
        database
    })
}

#[test]
fn each_endpoint_is_a_node() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let [first, second] = databases(&lab, &shards);
    let mut one = Proxy::start(&lab.directory.join("one"));
    let mut two = Proxy::start(&lab.directory.join("two"));
    one.apply(&first);
    two.apply(&second);
    let (mut here, mut there) = (lab.direct(PORTS[0]), lab.direct(PORTS[1]));
    // "a" is on the last shard, "b" on the first.
    let slot = resp::slot::of_key(b"a");
    assert_eq!(here.command("SET a 1"), format!("-MOVED {slot} {}:{}\r\n", lab.ip, PORTS[1]));
    assert_eq!(there.command("SET a 1"), "+OK\r\n");
    assert_eq!(here.command("SET b 1"), "+OK\r\n");
    assert!(there.command("GET b").starts_with("-MOVED "));
    assert_eq!(here.command("DBSIZE"), ":1\r\n");
    assert_eq!(here.command("MGET b {b}c"), "*2\r\n$1\r\n1\r\n$-1\r\n");
    assert_eq!(here.command("MGET b foo"), "-CROSSSLOT Keys in request don't hash to the same slot\r\n");
    assert_eq!(here.command("READONLY"), "+OK\r\n");
    let slots = here.command("CLUSTER SLOTS");
    assert!(slots.starts_with("*2\r\n*3\r\n:0\r\n:10921\r\n*4\r\n"), "{slots}");
    assert_eq!(slots, there.command("CLUSTER SLOTS"));
    assert!(here.command("CLUSTER INFO").contains("cluster_state:ok"));
    assert!(
        here.command("CLUSTER NODES")
            .contains(&format!("{}:12000@12000 myself,master - 0 0 1 connected 0-10921", lab.ip))
    );
    assert!(here.command("CLUSTER SHARDS").starts_with("*2\r\n*4\r\n$5\r\nslots\r\n*2\r\n:0\r\n:10921\r\n"));
    assert_eq!(here.command("CLUSTER KEYSLOT a"), format!(":{slot}\r\n"));
    here.command("MULTI");
    assert_eq!(here.command("SET b 2"), "+QUEUED\r\n");
    assert!(here.command("SET a 2").starts_with("-MOVED "));
    assert!(here.command("EXEC").starts_with("-EXECABORT"));
}

#[test]
fn slots_of_a_promoted_replica_without_a_named_endpoint_are_served() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let [mut first, _] = databases(&lab, &shards);
    first["shards"][2]["proxy"] = json!(null);
    let _one = lab.proxy(&first);
    let mut client = lab.direct(PORTS[0]);
    assert!(client.command("CLUSTER INFO").contains("cluster_slots_assigned:16384"));
    assert!(client.command("CLUSTER SLOTS").starts_with("*1\r\n*3\r\n:0\r\n:16383\r\n"));
    assert_eq!(client.command("SET a 1"), "+OK\r\n");
}

#[test]
fn endpoints_that_disagree_do_not_redirect_clients_in_a_loop() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let [first, second] = databases(&lab, &shards);
    let mut one = Proxy::start(&lab.directory.join("one"));
    let mut two = Proxy::start(&lab.directory.join("two"));
    one.apply(&first);
    two.apply(&second);
    // The slot of "b" moves from a shard of the first endpoint to one of the second, without a
    // message to the endpoints.
    let slot = resp::slot::of_key(b"b");
    for port in [SHARDS[2], SHARDS[0], SHARDS[1]] {
        let id = shards[2]["id"].as_str().unwrap();
        assert_eq!(lab.direct(port).command(&format!("CLUSTER SETSLOT {slot} NODE {id}")), "+OK\r\n");
    }
    let (mut here, mut there) = (lab.direct(PORTS[0]), lab.direct(PORTS[1]));
    let to = |n: usize| format!("-MOVED {slot} {}:{}\r\n", lab.ip, PORTS[n]);
    // The first endpoint learns it from its shard, executes the request, and knows the new owner.
    assert_eq!(here.command("SET b 1"), "+OK\r\n");
    assert_eq!(here.command("SET b 1"), to(1));
    // The second endpoint redirects to the old owner once, and then queries the shards.
    assert_eq!(there.command("SET b 2"), to(0));
    assert_eq!(there.command("SET b 2"), "+OK\r\n");
    assert_eq!(there.command("GET b"), "$1\r\n2\r\n");
}

#[test]
fn a_cluster_client_finds_every_key() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let [first, second] = databases(&lab, &shards);
    let mut one = Proxy::start(&lab.directory.join("one"));
    let mut two = Proxy::start(&lab.directory.join("two"));
    one.apply(&first);
    two.apply(&second);
    for n in 0..20 {
        let output = std::process::Command::new("valkey-cli")
            .args(["-c", "-h", &lab.ip, "-p", "12000", "SET", &format!("key:{n}"), "x"])
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"OK\n");
    }
    let count = |port| lab.direct(port).command("DBSIZE")[1..].trim().parse::<u32>().unwrap();
    assert_eq!(count(PORTS[0]) + count(PORTS[1]), 20);
}
