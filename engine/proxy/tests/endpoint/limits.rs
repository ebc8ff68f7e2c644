//! Limits, and the errors when they are exceeded.

use crate::lab::{Lab, SHARDS, wait};
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
    let metrics =
        proxy.metrics(|database| database["connections_total"] == 2 && database["connections"] == 0);
    let database = &metrics["databases"][0];
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
    let metrics =
        proxy.metrics(|database| database["connections_total"] == 2 && database["connections"] == 1);
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

/// Sends the requests and the end of the client's data, and returns all replies.
fn all_replies(lab: &Lab, requests: &[&str]) -> Vec<String> {
    let mut client = lab.client();
    let mut bytes = Vec::new();
    for line in requests {
        resp::encode::command(&mut bytes, line.split(' ').map(str::as_bytes).collect::<Vec<_>>().into_iter());
    }
    client.send_raw(&bytes);
    client.send_end();
    std::iter::from_fn(|| client.try_reply()).collect()
}

#[test]
fn a_client_that_has_closed_its_sending_side_receives_all_replies() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let ok = "+OK\r\n";
    let queued = "+QUEUED\r\n";
    for _ in 0..20 {
        let replies =
            all_replies(&lab, &["SET a 1", "MULTI", "SET a 2", "GET a", "EXEC", "SET a 3", "GET a"]);
        assert_eq!(replies, [ok, ok, queued, queued, "*2\r\n+OK\r\n$1\r\n2\r\n", ok, "$1\r\n3\r\n"]);
        let replies = all_replies(&lab, &["WATCH a", "GET a", "MULTI", "SET a 3", "EXEC", "GET b", "QUIT"]);
        assert_eq!(replies, [ok, "$1\r\n3\r\n", ok, queued, "*1\r\n+OK\r\n", "$-1\r\n", ok]);
        assert_eq!(all_replies(&lab, &["GET a", "DBSIZE", "QUIT"]), ["$1\r\n3\r\n", ":1\r\n", ok]);
        assert_eq!(all_replies(&lab, &["FUNCTION LIST", "GET a"]), ["*0\r\n", "$1\r\n3\r\n"]);
        assert_eq!(all_replies(&lab, &["GET a", "FUNCTION STATS"]).len(), 2);
        // These need not wait.
        let replies = all_replies(&lab, &["RPUSH l x y", "BLPOP l 0", "WAIT 0 0", "LPOP l", "GET a"]);
        let popped = "*2\r\n$1\r\nl\r\n$1\r\nx\r\n";
        assert_eq!(replies, [":2\r\n", popped, ":0\r\n", "$1\r\ny\r\n", "$1\r\n3\r\n"]);
        let replies = all_replies(&lab, &["SUBSCRIBE c d", "SSUBSCRIBE a"]);
        assert_eq!(replies.len(), 3, "{replies:?}");
        let replies = all_replies(&lab, &["HELLO 3", "CLIENT TRACKING ON", "GET a", "CLIENT TRACKING OFF"]);
        assert_eq!(replies[1..], [ok, "$1\r\n3\r\n", ok]);
        assert_eq!(all_replies(&lab, &["MONITOR"])[0], ok);
    }
}

#[test]
fn a_client_that_has_closed_its_sending_side_takes_no_element_later() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut other = lab.client();
    assert_eq!(all_replies(&lab, &["SET a 1", "BLPOP l 0", "SET a 2"]), ["+OK\r\n"]);
    wait("the shard to unblock it", || lab.mentions("INFO clients", "blocked_clients:0") == 3);
    assert_eq!(other.command("RPUSH l x"), ":1\r\n");
    assert_eq!(other.command("LLEN l"), ":1\r\n");
    // As in the engine, later requests are not executed.
    assert_eq!(other.command("GET a"), "$1\r\n1\r\n");
    // The same if the command that blocks is handled after the end of the data.
    let slow = "EVAL for\ti=1,5e7\tdo\tend\treturn\t1 1 a";
    assert_eq!(all_replies(&lab, &[slow, "BLPOP none 0", "SET a 2"]), [":1\r\n"]);
    // The time until it was handled does not count. By default, the engine checks timeouts every 100 ms.
    for port in SHARDS {
        assert_eq!(lab.direct(port).command("CONFIG SET hz 100"), "+OK\r\n");
    }
    // A shard on a busy machine may need longer than the grace time.
    let received =
        (0..5).map(|_| all_replies(&lab, &[slow, "WAIT 1 40", "GET a"])).find(|replies| replies.len() > 1);
    assert_eq!(received.expect("a reply to WAIT"), [":1\r\n", ":0\r\n", "$1\r\n1\r\n"]);
}

#[test]
fn tracked_prefixes_count_toward_the_memory_budget() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut proxy = lab.proxy(&lab.database(&shards));
    let order = json!({"type": "apply", "memory_bytes": 24 << 20, "databases": [lab.database(&shards)]});
    proxy.order(&order);
    proxy.expect("applied");
    let mut tracking = lab.client();
    assert!(tracking.command("HELLO 3").starts_with('%'));
    let prefix = "x".repeat(1 << 20);
    let closed = (0..64).any(|n| {
        let request = format!("CLIENT TRACKING ON BCAST PREFIX {n:02}{prefix}");
        tracking.try_command(&request.split(' ').map(str::as_bytes).collect::<Vec<_>>()).is_none()
    });
    assert!(closed);
}
