//! The process: metrics, threads, adding and removing databases, draining.

use crate::lab::{Client, ENDPOINT, Lab, Process, Proxy, wait};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

#[test]
fn metrics_count_requests_and_responses() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let mut client = lab.client();
    for n in 0..30 {
        client.command(&format!("SET key:{n} x"));
        client.command(&format!("GET key:{n}"));
        client.command(&format!("GET key:{n}"));
    }
    client.command("PING");
    client.command("MGET key:1 key:2 key:3");
    client.command("GET");
    let metrics = proxy.metrics(|database| database["responses"]["read"] == 62);
    let database = &metrics["databases"][0];
    assert_eq!(database["requests"], json!({"read": 62, "write": 30, "other": 1, "blocking": 0}));
    assert_eq!(database["requests"], database["responses"]);
    assert_eq!(database["connections"], 1);
    assert_eq!(database["errors"]["other"], 1);
    let counted = |kind: &str| {
        let buckets = database["latency"][kind].as_array().unwrap();
        buckets.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!((counted("read"), counted("write"), counted("other")), (62, 30, 1));
    assert!(metrics["cpu_seconds"].as_f64().unwrap() > 0.0);
    // Errors of the proxy do not count as responses of any class.
    for line in ["EXEC", "SELECT 7", "SHUTDOWN", "CLIENT NOSUCH x"] {
        assert!(client.command(line).starts_with('-'), "{line}");
    }
    let counts = json!({"read": 62, "write": 30, "other": 1, "blocking": 0});
    let metrics = proxy.metrics(|database| database["errors"]["other"] == 5);
    assert_eq!(metrics["databases"][0]["requests"], counts);
    assert_eq!(metrics["databases"][0]["responses"], counts);
    assert_eq!(metrics["databases"][0]["unserved"]["other"], 4);
    assert!(metrics["rss_bytes"].as_u64().unwrap() < 25 << 20);
}

#[test]
fn blocking_requests_are_counted_separately() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let mut client = lab.client();
    assert_eq!(client.command("BLPOP queue 0.2"), "*-1\r\n");
    assert_eq!(client.command("XREAD BLOCK 200 STREAMS stream $"), "*-1\r\n");
    assert_eq!(client.command("XREAD STREAMS stream 0"), "*-1\r\n");
    client.command("SET a 1");
    assert!(client.command("WAIT 0 10").starts_with(':'));
    // Commands in a transaction do not block.
    client.command("MULTI");
    assert_eq!(client.command("BLPOP queue 1"), "+QUEUED\r\n");
    assert_eq!(client.command("EXEC"), "*1\r\n*-1\r\n");
    let counts = json!({"read": 1, "write": 2, "other": 2, "blocking": 3});
    let metrics = proxy.metrics(|database| database["responses"] == counts);
    let database = &metrics["databases"][0];
    assert_eq!(database["requests"], counts);
    let longest = |kind: &str| {
        let buckets = database["latency"][kind].as_array().unwrap();
        buckets.iter().map(|bucket| bucket[0].as_u64().unwrap()).max().unwrap()
    };
    assert!(longest("blocking") >= 200_000);
    let all = ["read", "write", "other"].map(longest);
    assert!(all.iter().all(|&micros| micros < 200_000), "{all:?}");
}

#[test]
fn each_command_is_counted_for_a_minute_and_reported_on_request() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    proxy.order(&json!({"type": "threads", "threads": 2}));
    let mut clients: Vec<_> = (0..2).map(|_| lab.client()).collect();
    for client in &mut clients {
        for n in 0..10 {
            client.send(&format!("SET key:{n} x"));
            client.send(&format!("get key:{n}"));
        }
        for _ in 0..20 {
            client.reply();
        }
        assert!(client.command("LPUSH key:1 x").starts_with("-WRONGTYPE"));
        assert!(client.command("SHUTDOWN").starts_with('-'));
        assert!(client.command("NOSUCH").starts_with('-'));
    }
    // Workers report once a second, and the last command may be in a later second than the others.
    let all = json!({"read": 20, "write": 22, "other": 2, "blocking": 0});
    proxy.metrics(|database| database["responses"] == all && database["unserved"]["other"] == 2);
    for uids in [json!([1]), json!(null)] {
        proxy.order(&json!({"type": "commands", "uids": uids}));
        let reported = proxy.expect("commands");
        assert!(reported["seconds"].as_f64().unwrap() <= 60.0);
        assert_eq!(reported["databases"].as_array().unwrap().len(), 1);
        let commands = reported["databases"][0]["commands"].as_array().unwrap();
        let of = |name: &str| commands.iter().find(|each| each["name"] == name).unwrap();
        let counts = |name: &str| (of(name)["calls"].as_u64().unwrap(), of(name)["errors"].as_u64().unwrap());
        assert_eq!((counts("set"), counts("get")), ((20, 0), (20, 0)));
        assert_eq!((counts("lpush"), counts("shutdown"), counts("unknown")), ((2, 2), (2, 2), (2, 2)));
        let timed = |name: &str| {
            let cells = of(name)["latency"].as_array().unwrap();
            cells.iter().map(|cell| cell[1].as_u64().unwrap()).sum::<u64>()
        };
        // Requests without a reply of a shard have no latency.
        assert_eq!((timed("get"), timed("lpush"), timed("shutdown")), (20, 2, 0));
        assert!(of("get")["micros"].as_u64().unwrap() > 0);
    }
}

#[test]
fn clients_keep_working_while_the_number_of_threads_changes() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let mut clients: Vec<_> = (0..20).map(|_| lab.client()).collect();
    let mut total = 0;
    for threads in [3, 1, 4, 2, 1] {
        for client in &mut clients {
            client.command("CLIENT SETNAME stays");
            client.send("INCR n");
        }
        proxy.order(&json!({"type": "threads", "threads": threads}));
        assert_eq!(proxy.expect("applied")["threads"], threads);
        for client in &mut clients {
            assert!(client.reply().starts_with(':'));
            total += 1;
        }
    }
    assert_eq!(clients[0].command("GET n"), format!("$3\r\n{total}\r\n"));
    assert_eq!(clients[0].command("CLIENT GETNAME"), "$5\r\nstays\r\n");
    let metrics = proxy.metrics(|database| database["requests"]["write"] == total);
    assert_eq!(metrics["databases"][0]["connections"], 20);
    assert_eq!(metrics["threads"], 1);
}

#[test]
fn clients_of_all_threads_are_listed() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    proxy.order(&json!({"type": "threads", "threads": 3}));
    proxy.expect("applied");
    let mut clients: Vec<_> = (0..6).map(|_| lab.client()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.command(&format!("CLIENT SETNAME client-{n}")), "+OK\r\n");
    }
    clients[0].send("CLIENT LIST");
    clients[0].send("PING");
    let list = clients[0].reply();
    assert_eq!(clients[0].reply(), "+PONG\r\n");
    assert_eq!(list.matches("id=").count(), 6, "{list}");
    assert!((0..6).all(|n| list.contains(&format!("name=client-{n} "))), "{list}");
}

#[test]
fn clients_with_a_transaction_stay_on_their_thread_until_it_ends() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let (mut waited, mut queueing, mut watching) = (lab.client(), lab.client(), lab.client());
    for threads in [3, 1, 2, 1] {
        assert_eq!(waited.command("WAIT 0 10"), ":0\r\n");
        assert_eq!(queueing.command("MULTI"), "+OK\r\n");
        assert_eq!(queueing.command("INCR n"), "+QUEUED\r\n");
        assert_eq!(watching.command("WATCH n"), "+OK\r\n");
        proxy.order(&json!({"type": "threads", "threads": threads}));
        assert_eq!(proxy.expect("applied")["threads"], threads);
        assert_eq!(waited.command("PING"), "+PONG\r\n");
        assert_eq!(queueing.command("INCR n"), "+QUEUED\r\n");
        assert!(queueing.command("EXEC").starts_with("*2\r\n"));
        assert_eq!(watching.command("MULTI"), "+OK\r\n");
        assert_eq!(watching.command("INCR n"), "+QUEUED\r\n");
        assert_eq!(watching.command("EXEC"), "*-1\r\n");
    }
    assert_eq!(waited.command("GET n"), "$1\r\n8\r\n");
    // Clients that no longer need their dedicated connections are disconnected when the process
    // drains.
    proxy.order(&json!({"type": "drain"}));
    assert_eq!(waited.try_reply(), None);
    assert!(proxy.process.wait().unwrap().success());
}

#[test]
fn a_removed_database_stops_listening() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut proxy = lab.proxy(&lab.database(&shards));
    let mut client = lab.client();
    assert_eq!(client.command("PING"), "+PONG\r\n");
    proxy.order(&json!({"type": "apply", "databases": []}));
    proxy.expect("applied");
    assert_eq!(client.try_reply(), None);
    wait("the endpoint to close", || std::net::TcpStream::connect(lab.address(ENDPOINT)).is_err());
    wait("its connections to be closed", || lab.mentions("CLIENT LIST", " name=shardboard-proxy ") == 0);
    // Other databases can use its port, and so can it when it is added again.
    for uid in [2, 1, 2] {
        proxy.order(&json!({"type": "apply", "databases": []}));
        proxy.expect("applied");
        wait("the endpoint to close", || std::net::TcpStream::connect(lab.address(ENDPOINT)).is_err());
        let mut database = lab.database(&shards);
        database["uid"] = json!(uid);
        proxy.apply(&database);
        assert_eq!(lab.client().command("SET a 1"), "+OK\r\n");
    }
}

#[test]
fn draining_completes_pending_requests() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let mut client = lab.client();
    lab.freeze(21002);
    client.send("SET a 1");
    proxy.metrics(|database| database["requests"]["write"] == 1);
    proxy.order(&json!({"type": "drain"}));
    proxy.expect("draining");
    lab.resume(21002);
    assert_eq!(client.reply(), "+OK\r\n");
    assert_eq!(client.try_reply(), None);
    assert!(proxy.process.wait().unwrap().success());
}

#[test]
fn invalid_control_messages_are_answered_with_an_error() {
    let lab = Lab::new();
    let mut proxy = Proxy::start(&lab.directory.join("control"));
    proxy.order(&json!({"type": "dance"}));
    assert!(proxy.expect("error")["message"].as_str().unwrap().contains("dance"));
    proxy.order(&json!({"type": "apply", "databases": [
        {"uid": 7, "address": "203.0.113.1", "port": 12000, "mode": "hidden", "shards": []}
    ]}));
    assert_eq!(proxy.expect("applied")["failures"][0]["uid"], 7);
}

#[test]
fn a_successor_takes_over_without_losing_a_connection() {
    let mut lab = Lab::new();
    let mut old = lab.hidden();
    let mut before = lab.client();
    assert_eq!(before.command("SET a 1"), "+OK\r\n");
    let stop = Arc::new(AtomicBool::new(false));
    let knocks = Arc::new(AtomicUsize::new(0));
    let knocking = {
        let (stop, knocks, address) = (stop.clone(), knocks.clone(), lab.address(ENDPOINT));
        std::thread::spawn(move || {
            while !stop.load(Relaxed) {
                let mut client = Client::connect(address).expect("the endpoint always listens");
                assert_eq!(client.command("GET a"), "$1\r\n1\r\n");
                knocks.fetch_add(1, Relaxed);
            }
        })
    };
    let more = |count: usize| {
        let enough = knocks.load(Relaxed) + count;
        wait("clients to be accepted", || knocking.is_finished() || knocks.load(Relaxed) >= enough);
    };
    more(10);
    let mut new = Proxy::start_beside(&lab.directory.join("control"), old.process.id());
    old.expect("draining");
    more(10);
    stop.store(true, Relaxed);
    knocking.join().unwrap();
    assert_eq!(before.command("GET a"), "$1\r\n1\r\n");
    drop(before);
    assert!(old.process.wait().unwrap().success());
    assert_eq!(lab.client().command("GET a"), "$1\r\n1\r\n");
    let metrics = new.metrics(|database| database["connections_total"] != 0);
    assert_eq!(metrics["pid"], new.process.id());
}

#[test]
fn of_several_processes_started_together_one_stays_reachable() {
    let lab = Lab::new();
    let path = lab.directory.join("control");
    let mut all: Vec<_> = (0..6).map(|_| Process::start(&path)).collect();
    wait("all but one to end", || {
        all.retain_mut(|each| !each.has_ended());
        all.len() == 1
    });
    let mut found = Proxy::start_beside(&path, all[0].id());
    assert!(all[0].wait().unwrap().success(), "the remaining process was reachable and handed over");
    found.order(&json!({"type": "drain"}));
    assert!(found.process.wait().unwrap().success());
    assert!(!path.exists());
}

#[test]
fn a_draining_process_rejects_new_state() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let mut client = lab.client();
    lab.freeze(21002);
    client.send("SET a 1");
    proxy.metrics(|database| database["requests"]["write"] == 1);
    proxy.order(&json!({"type": "drain", "seconds": 60}));
    proxy.expect("draining");
    for order in
        [json!({"type": "threads", "threads": 3}), json!({"type": "apply", "threads": 3, "databases": []})]
    {
        proxy.order(&order);
        assert_eq!(proxy.expect("error")["message"], "this process is stopping");
    }
    lab.resume(21002);
    assert_eq!(client.reply(), "+OK\r\n");
    drop(client);
    assert!(proxy.process.wait().unwrap().success());
}
