//! Failure of a shard: which requests wait, which are repeated, and what is reported.

use crate::lab::{Lab, Proxy, REPLICAS, SHARDS, wait};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const LOST: &str =
    "-ERR the connection to the shard was lost; the write may or may not have been executed\r\n";

#[test]
fn requests_wait_for_the_new_primary() {
    let mut lab = Lab::new();
    let shards = lab.cluster(true);
    let mut proxy = lab.proxy(&lab.patient(&shards));
    let mut client = lab.client();
    // "a" is on the last shard.
    assert_eq!(client.command("SET a 1"), "+OK\r\n");
    lab.kill(SHARDS[2]);
    notice(&lab, &mut proxy);
    client.send("SET a 2");
    client.send("GET a");
    assert!(client.is_quiet());
    promote(&lab);
    proxy.apply(&lab.promoted(&shards));
    assert_eq!(client.reply(), "+OK\r\n");
    assert_eq!(client.reply(), "$1\r\n2\r\n");
}

#[test]
fn an_outage_is_reported_with_the_results_of_requests() {
    let mut lab = Lab::new();
    let shards = lab.cluster(true);
    let mut proxy = lab.proxy(&lab.patient(&shards));
    let (mut client, mut other) = (lab.client(), lab.client());
    assert_eq!(client.command("SET a 1"), "+OK\r\n");
    lab.freeze(SHARDS[2]);
    other.send("INCR a");
    proxy.metrics(|database| database["requests"]["write"] == 2);
    lab.kill(SHARDS[2]);
    assert_eq!(other.reply(), LOST);
    let began = proxy.expect("outage");
    assert_eq!((began["uid"].as_u64(), began["port"].as_u64()), (Some(1), Some(SHARDS[2].into())));
    assert_eq!(began["slots"], shards[2]["slots"]);
    assert_eq!(began["first_success_ms"], json!(null));
    assert!(began["last_success_ms"].as_u64() <= began["noticed_ms"].as_u64());
    client.send("SET a 2");
    assert!(client.is_quiet());
    promote(&lab);
    proxy.apply(&lab.promoted(&shards));
    assert_eq!(client.reply(), "+OK\r\n");
    let ended = proxy.expect("outage");
    assert!(ended["first_success_ms"].as_u64() >= began["noticed_ms"].as_u64());
    assert_eq!((&ended["waited"], &ended["failed"], &ended["lost"]), (&json!(1), &json!(0), &json!(1)));
    assert_eq!(ended["noticed_ms"], began["noticed_ms"]);
    proxy.reconnect(&lab.directory.join("control"));
    assert_eq!(proxy.expect("outage"), ended, "an agent that reconnects has missed nothing");
    assert_eq!(client.command("GET a"), "$1\r\n2\r\n");
    // Requests without a reply of a shard do not count as responses and have no latency.
    let metrics = proxy.metrics(|database| database["responses"]["read"] == 1);
    let database = &metrics["databases"][0];
    assert_eq!(database["requests"], json!({"read": 1, "write": 3, "other": 0, "blocking": 0}));
    assert_eq!(database["responses"], json!({"read": 1, "write": 2, "other": 0, "blocking": 0}));
}

#[test]
fn canaries_detect_an_outage_without_client_requests() {
    let mut lab = Lab::new();
    let (mut proxy, after) = watched(&mut lab);
    assert_eq!(lab.direct(SHARDS[2]).command("DBSIZE"), ":0\r\n");
    lab.kill(SHARDS[2]);
    let began = proxy.expect("outage");
    assert_eq!((began["port"].as_u64(), &began["watched"]), (Some(SHARDS[2].into()), &json!(true)));
    let silent = began["noticed_ms"].as_u64().unwrap() - began["last_success_ms"].as_u64().unwrap();
    assert!(silent < 60_000, "{began}");
    promote(&lab);
    proxy.apply(&after);
    let ended = proxy.expect("outage");
    assert_eq!(ended["noticed_ms"], began["noticed_ms"]);
    assert!(ended["first_success_ms"].as_u64() >= began["noticed_ms"].as_u64());
    assert_eq!((&ended["waited"], &ended["failed"], &ended["lost"]), (&json!(0), &json!(0), &json!(0)));
    let metrics = proxy.metrics(|_| true);
    let nothing = json!({"read": 0, "write": 0, "other": 0, "blocking": 0});
    assert_eq!(metrics["databases"][0]["requests"], nothing, "canaries are not counted as requests");
}

#[test]
fn a_primary_that_stops_answering_is_reported_as_an_outage() {
    let mut lab = Lab::new();
    let (mut proxy, after) = watched(&mut lab);
    lab.freeze(SHARDS[2]);
    let began = proxy.expect("outage");
    assert_eq!((began["port"].as_u64(), &began["first_success_ms"]), (Some(SHARDS[2].into()), &json!(null)));
    assert!(began["noticed_ms"].as_u64() > began["last_success_ms"].as_u64());
    promote(&lab);
    proxy.apply(&after);
    assert_eq!(proxy.expect("outage")["noticed_ms"], began["noticed_ms"]);
}

#[test]
fn canaries_do_not_change_the_topology() {
    let mut lab = Lab::new();
    let shards = lab.cluster(true);
    let database = with_canary(&lab, lab.database(&shards));
    let mut proxy = lab.proxy(&database);
    wait_for_canaries(&lab, SHARDS[2]);
    swap(&lab);
    let refused = |times: u64| {
        let stats = lab.direct(SHARDS[2]).command("INFO errorstats");
        let count = stats.split("errorstat_MOVED:count=").nth(1).and_then(|rest| rest.split("\r\n").next());
        count.is_some_and(|count| count.parse::<u64>().unwrap() >= times)
    };
    wait("canaries that are redirected", || refused(3));
    proxy.order(&json!({"type": "apply", "databases": [database]}));
    assert!(proxy.heard_nothing_of("topology", "applied"), "the proxy reported another owner of a slot");
}

#[test]
fn shards_without_a_canary_user_receive_no_further_canaries() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut database = lab.database(&shards);
    database["canary"] = json!({"user": "nobody", "password": "x", "interval_ms": 100});
    let mut proxy = lab.proxy(&database);
    let mut client = lab.client();
    wait("a refusal", || {
        SHARDS
            .iter()
            .any(|port| lab.direct(*port).command("INFO stats").contains("acl_access_denied_auth:1\r\n"))
    });
    assert_eq!(client.command("SET a 1"), "+OK\r\n");
    assert!(proxy.heard_nothing_of("outage", "metrics"));
}

/// Starts a proxy that sends canaries to the last shard. Returns it, and the database after the
/// promotion of the replica of that shard.
fn watched(lab: &mut Lab) -> (Proxy, Value) {
    let shards = lab.cluster(true);
    let proxy = lab.proxy(&with_canary(lab, lab.patient(&shards)));
    wait_for_canaries(lab, SHARDS[2]);
    (proxy, with_canary(lab, lab.promoted(&shards)))
}

/// Adds canaries to the database and creates their user on the shards.
fn with_canary(lab: &Lab, mut database: Value) -> Value {
    for port in SHARDS.into_iter().chain(REPLICAS) {
        let user = "ACL SETUSER canary on >secret ~shardboard:canary:* -@all +zremrangebylex +command";
        assert_eq!(lab.direct(port).command(user), "+OK\r\n");
    }
    database["canary"] = json!({"user": "canary", "password": "secret", "interval_ms": 20});
    database
}

fn wait_for_canaries(lab: &Lab, port: u16) {
    wait("canaries", || {
        lab.direct(port).command("INFO commandstats").contains("cmdstat_zremrangebylex:calls=")
    });
}

#[test]
fn wait_never_confirms_writes_that_a_lost_primary_acknowledged() {
    let mut lab = Lab::new();
    let shards = lab.cluster(true);
    let mut proxy = lab.proxy(&lab.database(&shards));
    let (mut client, mut other) = (lab.client(), lab.client());
    assert_eq!(client.command("SET a 1"), "+OK\r\n");
    assert_eq!(client.command("WAIT 1 5000"), ":1\r\n");
    assert_eq!(client.command("SET a 2"), "+OK\r\n");
    swap(&lab);
    proxy.apply(&lab.promoted(&shards));
    // When the connections to the old primary have ended, writes of other clients are confirmed
    // again.
    wait("the others", || other.command("SET a 3") == "+OK\r\n" && other.command("WAIT 1 5000") == ":1\r\n");
    // All shards have a replica with all data. Only for the last write of this client, this is
    // unknown.
    assert_eq!(client.command("WAIT 1 5000"), ":0\r\n");
    assert_eq!(client.command("WAIT 1 5000"), ":0\r\n");
    wait("the client", || {
        client.command("SET a 4") == "+OK\r\n" && client.command("WAIT 1 5000") == ":1\r\n"
    });
}

#[test]
fn a_blocking_command_continues_on_the_new_primary() {
    let mut lab = Lab::new();
    let shards = lab.cluster(true);
    let mut proxy = lab.proxy(&lab.database(&shards));
    let (mut blocked, mut other) = (lab.client(), lab.client());
    blocked.send("BLPOP {a}list 0");
    assert!(blocked.is_quiet());
    swap(&lab);
    proxy.apply(&lab.promoted(&shards));
    assert!(blocked.is_quiet());
    assert_eq!(other.command("RPUSH {a}list x"), ":1\r\n");
    assert_eq!(blocked.reply(), "*2\r\n$7\r\n{a}list\r\n$1\r\nx\r\n");
}

/// Waits until the proxy has detected the loss of the shard of "a". A write sent before may or may
/// not be lost.
fn notice(lab: &Lab, proxy: &mut Proxy) {
    let mut reader = lab.client();
    reader.send("GET a");
    proxy.metrics(|database| database["errors"]["refused"].as_u64() > Some(0));
}

fn promote(lab: &Lab) {
    assert_eq!(lab.direct(REPLICAS[2]).command("CLUSTER FAILOVER TAKEOVER"), "+OK\r\n");
    wait("the promotion", || lab.direct(REPLICAS[2]).command("INFO replication").contains("role:master"));
}

/// Promotes the replica while the primary is running, which becomes a replica.
fn swap(lab: &Lab) {
    promote(lab);
    wait("the replica", || {
        lab.direct(SHARDS[2]).command("INFO replication").contains("master_link_status:up")
    });
}

#[test]
fn a_transaction_never_continues_on_another_primary() {
    let mut lab = Lab::new();
    let shards = lab.cluster(true);
    let mut proxy = lab.proxy(&lab.database(&shards));
    let (mut queueing, mut watching, mut other) = (lab.client(), lab.client(), lab.client());
    assert_eq!(queueing.command("MULTI"), "+OK\r\n");
    assert_eq!(queueing.command("SET a queued"), "+QUEUED\r\n");
    assert_eq!(watching.command("WATCH a"), "+OK\r\n");
    swap(&lab);
    proxy.apply(&lab.promoted(&shards));
    assert_eq!(other.command("SET a other"), "+OK\r\n");
    // Nothing is executed, whether the old connection still answers or not.
    queueing.command("INCR {a}n");
    assert!(queueing.command("EXEC").starts_with("-EXECABORT"));
    watching.command("MULTI");
    watching.command("SET a watching");
    assert!(!watching.command("EXEC").contains("OK"));
    assert_eq!(other.command("GET a"), "$5\r\nother\r\n");
    assert_eq!(other.command("EXISTS {a}n"), ":0\r\n");
    // Later transactions work as usual.
    for client in [&mut queueing, &mut watching] {
        client.command("WATCH a");
        client.command("MULTI");
        assert_eq!(client.command("INCR {a}n"), "+QUEUED\r\n");
        assert!(client.command("EXEC").starts_with("*1\r\n:"));
    }
}

#[test]
fn a_transaction_of_a_lost_primary_is_not_executed() {
    let mut lab = Lab::new();
    let shards = lab.cluster(true);
    let mut proxy = lab.proxy(&lab.patient(&shards));
    let (mut before, mut between) = (lab.client(), lab.client());
    assert_eq!(before.command("MULTI"), "+OK\r\n");
    assert_eq!(before.command("INCR a"), "+QUEUED\r\n");
    lab.kill(SHARDS[2]);
    // This transaction starts while there is no primary, and waits for one.
    for line in ["MULTI", "INCR a", "INCR a", "EXEC"] {
        between.send(line);
    }
    promote(&lab);
    proxy.apply(&lab.promoted(&shards));
    assert_eq!(between.reply(), "+OK\r\n");
    assert_eq!(between.reply(), "+QUEUED\r\n");
    assert_eq!(between.reply(), "+QUEUED\r\n");
    assert_eq!(between.reply(), "*2\r\n:1\r\n:2\r\n");
    assert_eq!(before.command("INCR a"), "+QUEUED\r\n");
    assert!(before.command("EXEC").starts_with("-EXECABORT"));
    assert_eq!(before.command("GET a"), "$1\r\n2\r\n");
}

#[test]
fn without_a_new_primary_requests_fail_after_the_timeout() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut database = lab.database(&shards);
    database["failover_wait_ms"] = json!(400);
    let _proxy = lab.proxy(&database);
    let mut client = lab.client();
    lab.kill(SHARDS[2]);
    let started = Instant::now();
    assert!(client.command("GET a").starts_with("-CLUSTERDOWN no primary of the shard can be reached"));
    assert!(started.elapsed() > Duration::from_millis(350));
    // The other shards are not affected.
    assert_eq!(client.command("SET b 1"), "+OK\r\n");
}

#[test]
fn requests_received_by_a_shard_that_failed_are_not_repeated() {
    let mut lab = Lab::new();
    let shards = lab.cluster(true);
    let mut proxy = lab.proxy(&lab.patient(&shards));
    let (mut writer, mut reader) = (lab.client(), lab.client());
    assert_eq!(writer.command("SET a 1"), "+OK\r\n");
    // Both requests are sent to a shard that never continues. Each may be the cause of its failure.
    lab.freeze(SHARDS[2]);
    writer.send("INCR a");
    reader.send("GET a");
    proxy.metrics(|database| {
        database["requests"] == json!({"read": 1, "write": 2, "other": 0, "blocking": 0})
    });
    lab.kill(SHARDS[2]);
    assert_eq!(writer.reply(), LOST);
    assert_eq!(reader.reply(), "-ERR the connection to the shard was lost before it answered\r\n");
    promote(&lab);
    let promoted = lab.direct(REPLICAS[2]).command("INFO commandstats");
    proxy.apply(&lab.promoted(&shards));
    assert_eq!(writer.command("SET {a}2 1"), "+OK\r\n");
    assert!(
        !promoted.contains("cmdstat_get:")
            && !lab.direct(REPLICAS[2]).command("INFO commandstats").contains("cmdstat_get:")
    );
    assert_eq!(reader.command("GET a"), "$1\r\n1\r\n");
}

#[test]
fn requests_to_a_frozen_shard_time_out() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut database = lab.database(&shards);
    database["request_timeout_ms"] = json!(2_000);
    let _proxy = lab.proxy(&database);
    let (mut writer, mut reader, mut blocked) = (lab.client(), lab.client(), lab.client());
    assert_eq!(writer.command("SET a 1"), "+OK\r\n");
    blocked.send("BLPOP {a}list 0");
    assert!(blocked.is_quiet());
    lab.freeze(SHARDS[2]);
    writer.send("INCR a");
    reader.send("GET a");
    for client in [&mut writer, &mut reader] {
        assert!(client.reply().starts_with("-ERR the shard did not answer in time"));
    }
    assert_eq!(reader.command("SET b 1"), "+OK\r\n");
    // The shard is used again when it continues. The blocking command has waited the entire time.
    lab.resume(SHARDS[2]);
    wait("the shard", || writer.command("RPUSH {a}list x").starts_with(':'));
    assert_eq!(blocked.reply(), "*2\r\n$7\r\n{a}list\r\n$1\r\nx\r\n");
}

#[test]
fn a_shard_that_comes_back_is_used_again() {
    let mut lab = Lab::new();
    let mut database = lab.single();
    database["failover_wait_ms"] = json!(60_000);
    let mut proxy = lab.proxy(&database);
    let mut client = lab.client();
    assert_eq!(client.command("SET a 1"), "+OK\r\n");
    lab.kill(21000);
    notice(&lab, &mut proxy);
    client.send("SET a 2");
    lab.server(21000, &[]);
    assert_eq!(client.reply(), "+OK\r\n");
    assert_eq!(client.command("GET a"), "$1\r\n2\r\n");
}
