//! Limits, and the errors when they are exceeded.

use crate::lab::Lab;
use serde_json::json;

#[test]
fn connections_requests_and_arguments_have_limits() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut database = lab.database(&shards);
    database["max_connections"] = json!(2);
    database["max_request_bytes"] = json!(100_000);
    let mut proxy = lab.proxy(&database);
    let (mut one, mut two) = (lab.client(), lab.client());
    assert_eq!(one.command("PING"), "+PONG\r\n");
    assert_eq!(two.command("PING"), "+PONG\r\n");
    assert_eq!(lab.client().reply(), "-ERR max number of clients reached\r\n");
    one.send_raw(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$200000\r\n");
    assert_eq!(one.reply(), "-ERR Protocol error: invalid bulk length\r\n");
    assert_eq!(one.try_reply(), None);
    two.send_raw(b"*1\r\n:1\r\n");
    assert_eq!(two.reply(), "-ERR Protocol error: expected '$', got ':'\r\n");
    assert_eq!(two.try_reply(), None);
    let metrics = proxy.metrics(|database| database["connections"] == 0);
    let database = &metrics["databases"][0];
    assert_eq!(database["connections_total"], 2);
    assert_eq!(database["connections_rejected"], 1);
    assert_eq!(database["errors"]["maxclients"], 1);
    assert_eq!(database["errors"]["protocol"], 2);
}

#[test]
fn a_client_that_does_not_read_is_disconnected_without_affecting_others() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut database = lab.database(&shards);
    database["output_limit_bytes"] = json!(20 << 20);
    let mut proxy = lab.proxy(&database);
    let (mut slow, mut other) = (lab.client(), lab.client());
    other.send_args(&[b"SET", b"large", &vec![b'x'; 1 << 20]]);
    assert_eq!(other.reply(), "+OK\r\n");
    let mut requests = Vec::new();
    for _ in 0..100 {
        resp::encode::command(&mut requests, [&b"GET"[..], b"large"].into_iter());
    }
    slow.send_raw(&requests);
    for _ in 0..20 {
        assert_eq!(other.command("PING"), "+PONG\r\n");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let metrics = proxy.metrics(|database| database["connections"] == 1);
    assert!(metrics["rss_bytes"].as_u64().unwrap() < 400 << 20);
}

#[test]
fn clients_that_use_too_much_memory_are_disconnected() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut proxy = lab.proxy(&lab.database(&shards));
    let order = json!({"type": "apply", "memory_bytes": 64 << 20, "databases": [lab.database(&shards)]});
    proxy.order(&order);
    assert_eq!(proxy.expect("applied")["failures"], json!([]));
    let mut other = lab.client();
    assert_eq!(other.command("SET a 1"), "+OK\r\n");
    let megabyte = vec![b'x'; 1 << 20];
    // Commands before the first key of a transaction, an incomplete request, and unread replies.
    let mut queueing = lab.client();
    assert_eq!(queueing.command("MULTI"), "+OK\r\n");
    let queued = (0..200).take_while(|_| queueing.try_command(&[b"ECHO", &megabyte]).is_some()).count();
    assert!((32..100).contains(&queued), "{queued}");
    let mut partial = lab.client();
    partial.send_raw(b"*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$200000000\r\n");
    let sent = (0..190).take_while(|_| partial.try_send_raw(&megabyte)).count();
    assert!((32..150).contains(&sent), "{sent}");
    let mut slow = lab.client();
    assert_eq!(slow.try_command(&[b"SET", b"large", &megabyte]).as_deref(), Some("+OK\r\n"));
    let requests = b"*2\r\n$3\r\nGET\r\n$5\r\nlarge\r\n".repeat(200);
    slow.send_raw(&requests);
    let metrics = proxy
        .metrics(|database| database["errors"]["memory"].as_u64() >= Some(3) && database["connections"] == 1);
    assert!(metrics["rss_bytes"].as_u64().unwrap() < 400 << 20);
    assert_eq!(other.command("GET a"), "$1\r\n1\r\n");
}

#[test]
fn a_client_that_closes_its_sending_side_receives_all_replies() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let _proxy = lab.proxy(&lab.database(&shards));
    let mut client = lab.client();
    assert_eq!(client.command("PING"), "+PONG\r\n");
    // More requests than are handled in one round, which need no shard.
    client.send_raw(&b"*1\r\n$4\r\nPING\r\n".repeat(10_000));
    client.send_end();
    let replies = std::iter::from_fn(|| client.try_reply()).count();
    assert_eq!(replies, 10_000);
}
