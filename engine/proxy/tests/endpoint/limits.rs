//! What is bounded, and what is said about it.

use crate::lab::Lab;
use serde_json::json;

#[test]
fn connections_requests_and_words_have_limits() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut database = lab.database(&shards);
    database["max_connections"] = json!(2);
    database["max_request_bytes"] = json!(100_000);
    let mut proxy = lab.proxy(&database);
    let (mut one, mut two) = (lab.client(), lab.client());
    assert_eq!(one.ask("PING"), "+PONG\r\n");
    assert_eq!(two.ask("PING"), "+PONG\r\n");
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
fn who_does_not_read_is_closed_and_harms_nobody() {
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
        assert_eq!(other.ask("PING"), "+PONG\r\n");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let metrics = proxy.metrics(|database| database["connections"] == 1);
    assert!(metrics["rss_bytes"].as_u64().unwrap() < 400 << 20);
}
