//! A database behind one address: routing, splitting and merging requests, and the order of
//! replies.

use crate::lab::{Lab, SHARDS};
use std::collections::BTreeSet;

#[test]
fn replies_keep_the_order_of_requests() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    let mut requests = Vec::new();
    for n in 0..2000 {
        let (key, value) = (format!("key:{n}"), format!("{n}"));
        resp::encode::command(&mut requests, [b"SET", key.as_bytes(), value.as_bytes()].into_iter());
        resp::encode::command(&mut requests, [b"GET", key.as_bytes()].into_iter());
        resp::encode::command(&mut requests, [b"ECHO", value.as_bytes()].into_iter());
    }
    client.send_raw(&requests);
    for n in 0..2000 {
        let bulk = format!("${}\r\n{n}\r\n", n.to_string().len());
        assert_eq!(client.reply(), "+OK\r\n");
        assert_eq!(client.reply(), bulk);
        assert_eq!(client.reply(), bulk);
    }
}

#[test]
fn keys_of_many_shards_are_one_database() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    let set: Vec<String> = (0..100).map(|n| format!("k{n} {n}")).collect();
    assert_eq!(client.command(&format!("MSET {}", set.join(" "))), "+OK\r\n");
    assert_eq!(
        client.command("MGET k1 k50 none k99 k1"),
        "*5\r\n$1\r\n1\r\n$2\r\n50\r\n$-1\r\n$2\r\n99\r\n$1\r\n1\r\n"
    );
    assert_eq!(client.command("DBSIZE"), ":100\r\n");
    assert_eq!(client.command("EXISTS k1 k2 none k3 k1"), ":4\r\n");
    assert_eq!(client.command("TOUCH k1 k2 none"), ":2\r\n");
    assert_eq!(client.command("DEL k1 k2 none"), ":2\r\n");
    assert_eq!(client.command("UNLINK k3 k4"), ":2\r\n");
    assert_eq!(client.command("DBSIZE"), ":96\r\n");
    assert!(client.command("RANDOMKEY").contains('k'));
    assert!(client.command("KEYS *").starts_with("*96\r\n"));
    assert!(client.command("INFO keyspace").contains("db0:keys=96,"));
    assert_eq!(client.command("FLUSHALL"), "+OK\r\n");
    assert_eq!(client.command("DBSIZE"), ":0\r\n");
    assert_eq!(client.command("RANDOMKEY"), "$-1\r\n");
    // Many keys of all slots, some of them repeated.
    let keys: Vec<_> = (0..60_000).map(|n| format!("{}", n % 50_000)).collect();
    let set: Vec<_> = keys.iter().flat_map(|key| [key.as_str(), key.as_str()]).collect();
    assert_eq!(client.command(&format!("MSET {}", set.join(" "))), "+OK\r\n");
    let got = client.command(&format!("MGET {}", keys.join(" ")));
    let got = resp::items(got.as_bytes()).unwrap();
    assert!(got.iter().zip(&keys).all(|(value, key)| resp::text(value) == Some(key.as_bytes())));
    assert_eq!(client.command(&format!("DEL {}", keys.join(" "))), ":50000\r\n");
    assert_eq!(client.command("DBSIZE"), ":0\r\n");
}

#[test]
fn a_complete_scan_finds_every_key() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    let expected: BTreeSet<String> = (0..500).map(|n| format!("key:{n}")).collect();
    for key in &expected {
        client.command(&format!("SET {key} x"));
    }
    let mut found = BTreeSet::new();
    let mut cursor = "0".to_string();
    loop {
        let reply = client.command(&format!("SCAN {cursor} COUNT 37 MATCH key:*"));
        let items = resp::items(reply.as_bytes()).unwrap();
        cursor = String::from_utf8(resp::text(items[0]).unwrap().to_vec()).unwrap();
        let keys = resp::items(items[1]).unwrap();
        found.extend(keys.iter().map(|key| String::from_utf8(resp::text(key).unwrap().to_vec()).unwrap()));
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn errors_are_those_of_the_engine() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    let crossslot = "-CROSSSLOT Keys in request don't hash to the same slot\r\n";
    assert_eq!(client.command("MSETNX a 1 b 2"), crossslot);
    assert_eq!(client.command("RENAME a b"), crossslot);
    assert_eq!(client.command("SUNION a b"), crossslot);
    assert_eq!(client.command("MSETNX {t}a 1 {t}b 2"), ":1\r\n");
    assert_eq!(client.command("GET"), "-ERR wrong number of arguments for 'get' command\r\n");
    assert_eq!(client.command("MSET a"), "-ERR wrong number of arguments for 'mset' command\r\n");
    assert_eq!(client.command("MSET a 1 b"), "-ERR wrong number of arguments for 'mset' command\r\n");
    assert!(client.command("NOSUCH x").starts_with("-ERR unknown command 'NOSUCH'"));
    assert_eq!(client.command("SELECT 1"), "-ERR DB index is out of range\r\n");
    assert_eq!(
        client.command("LPUSH {t}a x"),
        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
    );
    assert_eq!(client.command("SHUTDOWN"), "-ERR shutdown is not available through the endpoint\r\n");
}

#[test]
fn scripts_and_functions_are_available_on_all_shards() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    client.send_args(&[b"SCRIPT", b"LOAD", b"return redis.call('get', KEYS[1])"]);
    let sha = client.reply()[5..45].to_string();
    for n in 0..30 {
        client.command(&format!("SET key:{n} {n}"));
        assert!(client.command(&format!("EVALSHA {sha} 1 key:{n}")).contains(&n.to_string()));
    }
    assert_eq!(client.command(&format!("SCRIPT EXISTS {sha} {}", "0".repeat(40))), "*2\r\n:1\r\n:0\r\n");
    client.send_args(&[
        b"FUNCTION",
        b"LOAD",
        b"#!lua name=l\nredis.register_function('f', function(k) return k[1] end)",
    ]);
    assert_eq!(client.reply(), "$1\r\nl\r\n");
    for n in 0..30 {
        assert!(client.command(&format!("FCALL f 1 key:{n}")).contains(&format!("key:{n}")));
    }
    assert_eq!(client.command("SCRIPT FLUSH"), "+OK\r\n");
    assert_eq!(client.command(&format!("SCRIPT EXISTS {sha}")), "*1\r\n:0\r\n");
}

#[test]
fn requests_follow_moving_slots() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let mut client = lab.client();
    let slot = resp::slot::of_key(b"moving");
    assert_eq!(client.command("SET moving 1"), "+OK\r\n");
    assert_eq!(client.command("SET {moving}b 2"), "+OK\r\n");
    let owner = usize::from(slot) * 3 / 16384;
    let (from, to) = (crate::lab::SHARDS[owner], crate::lab::SHARDS[(owner + 1) % 3]);
    let id = |port: u16| format!("{port:040x}");
    lab.direct(to).command(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", id(from)));
    lab.direct(from).command(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", id(to)));
    let ip = &lab.ip;
    assert_eq!(lab.direct(from).command(&format!("MIGRATE {ip} {to} moving 0 5000")), "+OK\r\n");
    // One key is on the new owner already (ASK), the other is not.
    assert_eq!(client.command("GET moving"), "$1\r\n1\r\n");
    assert_eq!(client.command("GET {moving}b"), "$1\r\n2\r\n");
    assert_eq!(lab.direct(from).command(&format!("MIGRATE {ip} {to} {{moving}}b 0 5000")), "+OK\r\n");
    for port in [to, from] {
        assert_eq!(lab.direct(port).command(&format!("CLUSTER SETSLOT {slot} NODE {}", id(to))), "+OK\r\n");
    }
    let mut pipeline = Vec::new();
    for n in 0..100 {
        resp::encode::command(&mut pipeline, [b"SET", &b"moving"[..], n.to_string().as_bytes()].into_iter());
    }
    client.send_raw(&pipeline);
    for _ in 0..100 {
        assert_eq!(client.reply(), "+OK\r\n");
    }
    assert_eq!(client.command("GET moving"), "$2\r\n99\r\n");
    let hint = proxy.expect("topology");
    assert_eq!((hint["slot"].as_u64(), hint["port"].as_u64()), (Some(slot.into()), Some(to.into())));
}

#[test]
fn both_protocols_and_inline_commands_are_supported() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    client.send_raw(b"\r\nSET a 'x y'\r\nGET a\r\n*0\r\n*-1\r\nPING\r\n");
    assert_eq!(client.reply(), "+OK\r\n");
    assert_eq!(client.reply(), "$3\r\nx y\r\n");
    assert_eq!(client.reply(), "+PONG\r\n");
    assert_eq!(client.command("HGETALL none"), "*0\r\n");
    assert!(client.command("HELLO 3").starts_with("%7\r\n$6\r\nserver\r\n"));
    assert_eq!(client.command("HGETALL none"), "%0\r\n");
    assert_eq!(client.command("GET none"), "_\r\n");
    assert_eq!(client.command("MGET none {x}none a"), "*3\r\n_\r\n_\r\n$3\r\nx y\r\n");
    assert!(client.command("HELLO 2").starts_with("*14\r\n"));
    assert_eq!(client.command("GET none"), "$-1\r\n");
    assert_eq!(client.command("HELLO 4"), "-NOPROTO unsupported protocol version\r\n");
    // Byte by byte.
    for byte in b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n" {
        client.send_raw(&[*byte]);
    }
    assert_eq!(client.reply(), "$3\r\nx y\r\n");
    let large = vec![b'x'; 5_000_000];
    client.send_args(&[b"SET", b"large", &large]);
    assert_eq!(client.reply(), "+OK\r\n");
    assert_eq!(client.command("STRLEN large"), ":5000000\r\n");
    assert_eq!(client.command("GET large").len(), 5_000_000 + "$5000000\r\n\r\n".len());
}

#[test]
fn client_settings_are_kept_by_the_proxy() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    assert_eq!(client.command("CLIENT GETNAME"), "$-1\r\n");
    assert_eq!(client.command("CLIENT SETNAME me"), "+OK\r\n");
    assert_eq!(client.command("CLIENT GETNAME"), "$2\r\nme\r\n");
    assert_eq!(client.command("CLIENT SETINFO LIB-NAME lib"), "+OK\r\n");
    assert!(client.command("CLIENT INFO").contains("name=me "));
    assert!(client.command("CLIENT ID").starts_with(':'));
    client.send("CLIENT REPLY OFF");
    client.send("SET a 1");
    assert_eq!(client.command("CLIENT REPLY ON"), "+OK\r\n");
    client.send("CLIENT REPLY SKIP");
    client.send("SET a 2");
    assert_eq!(client.command("GET a"), "$1\r\n2\r\n");
    assert_eq!(client.command("RESET"), "+RESET\r\n");
    assert_eq!(client.command("CLIENT GETNAME"), "$-1\r\n");
    assert_eq!(client.command("QUIT"), "+OK\r\n");
    assert_eq!(client.try_reply(), None);
}

#[test]
fn one_primary_without_cluster_mode_accepts_commands_with_several_keys() {
    let mut lab = Lab::new();
    let database = lab.single();
    let _proxy = lab.proxy(&database);
    let mut client = lab.client();
    assert_eq!(client.command("MSETNX a 1 b 2 c 3"), ":1\r\n");
    assert_eq!(client.command("RENAME a d"), "+OK\r\n");
    assert_eq!(client.command("MGET b c d"), "*3\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n1\r\n");
}

#[test]
fn names_of_clients_cannot_forge_lines_and_have_a_limit() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    let invalid = "-ERR Client names cannot contain spaces, newlines or special characters.\r\n";
    for name in [&b"a b\nid=1 addr=10.0.0.1:1"[..], b"a b", b"a\r\n", b"\x7f", "ü".as_bytes()] {
        client.send_args(&[b"HELLO", b"3", b"SETNAME", name]);
        assert_eq!(client.reply(), invalid);
        client.send_args(&[b"HELLO", b"3", b"AUTH", b"default", b"x", b"SETNAME", name]);
        assert_eq!(client.reply(), invalid);
        client.send_args(&[b"CLIENT", b"SETNAME", name]);
        assert_eq!(client.reply(), invalid);
    }
    let long = "x".repeat(257);
    for line in [format!("HELLO 3 SETNAME {long}"), format!("CLIENT SETNAME {long}")] {
        assert!(client.command(&line).starts_with("-ERR Client names cannot be longer than 256 bytes"));
    }
    let request = format!("CLIENT SETINFO LIB-NAME {long}");
    assert!(client.command(&request).starts_with("-ERR LIB-NAME cannot be longer than 256 bytes"));
    // As in the engine, nothing has changed.
    assert_eq!(client.command("CLIENT GETNAME"), "$-1\r\n");
    assert!(client.command(&format!("HELLO 3 SETNAME {}", "x".repeat(256))).starts_with('%'));
    assert!(client.command("HELLO 3 SETNAME n").starts_with('%'));
    client.send_args(&[b"HELLO", b"3", b"SETNAME", b""]);
    assert!(client.reply().starts_with('%'));
    assert_eq!(client.command("CLIENT GETNAME"), "_\r\n");
    assert_eq!(client.command("CLIENT INFO").matches("id=").count(), 1);
}

#[test]
fn data_cannot_be_moved_to_other_numbered_databases() {
    let mut lab = Lab::new();
    let database = lab.single();
    let _proxy = lab.proxy(&database);
    let mut client = lab.client();
    assert_eq!(client.command("SET a 1"), "+OK\r\n");
    for line in
        ["MOVE a 1", "COPY a b DB 1", "COPY a b REPLACE DB 15", "SWAPDB 0 1", "SWAPDB 3 0", "SELECT 1"]
    {
        assert_eq!(client.command(line), "-ERR DB index is out of range\r\n", "{line}");
        if !line.starts_with("SELECT") {
            client.command("MULTI");
            assert_eq!(client.command(line), "-ERR DB index is out of range\r\n", "{line}");
            assert!(client.command("EXEC").starts_with("-EXECABORT"));
        }
    }
    assert_eq!(lab.direct(21000).command("INFO keyspace").matches("db").count(), 1);
    assert_eq!(client.command("GET a"), "$1\r\n1\r\n");
    // Other replies are those of the engine.
    assert_eq!(client.command("MOVE a 0"), "-ERR source and destination objects are the same\r\n");
    assert_eq!(client.command("MOVE a x"), "-ERR value is not an integer or out of range\r\n");
    assert_eq!(client.command("COPY a b DB 0"), ":1\r\n");
    assert_eq!(client.command("SWAPDB 0 0"), "+OK\r\n");
    assert!(client.command("MOVE a").starts_with("-ERR wrong number of arguments"));
}

#[test]
fn inline_requests_are_split_as_in_the_engine() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    for line in [
        &br#"echo "a b\x41\n\\" "#[..],
        b"echo 'a \\'b' ",
        b"\x0b echo \x0c\x0ba\x0b",
        b"echo a\rb",
        b"echo \"\"",
        b"echo a\"b c\"",
        b"\"echo\" a",
        b"echo \"a",
        b"echo 'a",
        b"echo \"a\\",
        b"\"\"",
    ] {
        let mut clients = [lab.client(), lab.direct(SHARDS[0])];
        let [proxied, direct] = clients.each_mut().map(|client| {
            client.send_raw(&[line, b"\r\nPING\r\n"].concat());
            (client.try_reply(), client.try_reply())
        });
        assert_eq!(proxied, direct, "{:?}", String::from_utf8_lossy(line));
    }
    // The engine does not find the end of a line after a NUL byte.
    let mut client = lab.client();
    client.send_raw(b"echo a\0b\r\n");
    assert!(client.is_quiet());
    client.send_raw(&[b'x'; 70_000]);
    assert_eq!(client.reply(), "-ERR Protocol error: too big inline request\r\n");
}

/// Returns the text of an INFO reply after a check that it does not describe the machines.
fn info(lab: &Lab, client: &mut crate::lab::Client, sections: &str) -> String {
    let text = client.command(&format!("INFO {sections}"));
    let directory = lab.directory.to_str().unwrap();
    for inner in
        [&lab.ip, directory, "valkey-server", ":2100", "=2100", ":2200", "=2200", "slave0", "listener"]
    {
        assert!(!text.contains(inner), "{inner}: {text}");
    }
    text
}

#[test]
fn info_describes_the_endpoint() {
    let mut lab = Lab::new();
    let shards = lab.cluster(true);
    let mut database = lab.database(&shards);
    database["max_connections"] = serde_json::json!(77);
    let mut proxy = lab.proxy(&database);
    let mut client = lab.client();
    let text = info(&lab, &mut client, "everything");
    for line in [
        "tcp_port:12000",
        "connected_clients:1",
        "maxclients:77",
        "cluster_enabled:0",
        "server_mode:standalone",
    ] {
        assert!(text.contains(&format!("\r\n{line}\r\n")), "{line}: {text}");
    }
    let field = |name: &str| {
        let start = format!("{name}:");
        let line = text.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
        line.trim_end_matches(['K', 'M']).parse::<f64>().unwrap()
    };
    assert!((field("used_memory") / 1048576.0 - field("used_memory_human")).abs() < 0.01, "{text}");
    assert!(field("used_memory") > field("used_memory_dataset"), "{text}");
    let text = client.command("INFO keyspace");
    assert_eq!(text, "$12\r\n# Keyspace\r\n\r\n");
    // As many replicas as WAIT can count.
    assert!(info(&lab, &mut client, "replication").contains("connected_slaves:1\r\n"));
    lab.kill(crate::lab::REPLICAS[1]);
    crate::lab::wait("the end of the replica", || {
        info(&lab, &mut client, "replication").contains("connected_slaves:0\r\n")
    });
    client.command("MULTI");
    assert_eq!(client.command("INFO"), "-ERR Command not allowed inside a transaction\r\n");
    client.command("DISCARD");
    database["mode"] = serde_json::json!("oss_cluster");
    database["version"] = serde_json::json!(2);
    proxy.apply(&database);
    crate::lab::wait("cluster mode", || {
        let text = info(&lab, &mut client, "everything");
        text.contains("cluster_enabled:1\r\n") && text.contains("server_mode:cluster\r\n")
    });
    client.command("HELLO 3");
    let text = info(&lab, &mut client, "server keyspace");
    assert!(text.starts_with('=') && text.contains("\r\ntxt:# Server\r\n"), "{text}");
}

#[test]
fn scripts_cannot_read_addresses_and_paths_of_shards() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut database = lab.database(&shards);
    let password = "0123456789abcdef".repeat(4);
    database["canary"] = serde_json::json!({"user": "canary", "password": password, "interval_ms": 1000});
    let hidden = "on >secret ~* &* +@all -cluster -info";
    for port in SHARDS {
        for user in [
            format!(
                "canary on >{password} ~shardboard:canary:* -@all +zremrangebylex +command +cluster|nodes"
            ),
            format!("user {hidden} +info|{}", &password[..32]),
            format!("other {hidden}"),
        ] {
            assert_eq!(lab.direct(port).command(&format!("ACL SETUSER {user}")), "+OK\r\n");
        }
    }
    let _proxy = lab.proxy(&database);
    let mut client = lab.client();
    assert_eq!(client.command("AUTH user secret"), "+OK\r\n");
    assert!(client.command("INFO").contains("\r\ntcp_port:12000\r\n"));
    assert!(info(&lab, &mut client, "everything").contains("\r\ntcp_port:12000\r\n"));
    assert!(info(&lab, &mut client, "memory stats").starts_with('$'));
    for call in [
        "'info'",
        "'info', 'server'",
        "'cluster', 'nodes'",
        "'cluster', 'slots'",
        "'cluster', 'shards'",
        "'cluster', 'info'",
    ] {
        client.send_args(&[b"EVAL", format!("return redis.call({call})").as_bytes(), b"1", b"a"]);
        let reply = client.reply();
        assert!(reply.contains("has no permissions to run the"), "{call}: {reply}");
    }
    // The proxy reads the owners of slots as another user.
    assert_eq!(client.command("SET a 1"), "+OK\r\n");
    let (mut cursor, mut found) = ("0".to_string(), 0);
    loop {
        let reply = client.command(&format!("SCAN {cursor} COUNT 1000"));
        let page = resp::items(reply.as_bytes()).unwrap();
        found += resp::items(page[1]).unwrap().len();
        cursor = String::from_utf8(resp::text(page[0]).unwrap().to_vec()).unwrap();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(found, 1);
    assert_eq!(client.command("AUTH other secret"), "+OK\r\n");
    assert_eq!(client.command("INFO"), "-NOPERM User other has no permissions to run the 'info' command\r\n");
}
