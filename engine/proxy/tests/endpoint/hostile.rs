//! Requests of one client do not harm others: scripts that imitate errors of shards, and commands
//! that change connections.

use crate::lab::{Client, Lab, SHARDS, wait};
use serde_json::json;
use std::net::TcpListener;

/// Runs a script that counts its runs and returns the error `says`.
fn script(client: &mut Client, key: &str, says: &str) -> String {
    let code = format!("redis.call('INCR', KEYS[1]) return redis.error_reply('{says}')");
    client.send_args(&[b"EVAL", code.as_bytes(), b"1", key.as_bytes()]);
    client.reply()
}

#[test]
fn redirections_from_scripts_are_not_followed() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let unrelated = TcpListener::bind(lab.address(7777)).unwrap();
    unrelated.set_nonblocking(true).unwrap();
    let (mut forger, mut other) = (lab.client(), lab.client());
    let slot = resp::slot::of_key(b"a");
    let ip = lab.ip.clone();
    let words = [
        format!("MOVED {slot} {ip}:7777"),
        format!("ASK {slot} {ip}:7777"),
        // Shards of this database, but not the owners of the slot.
        format!("MOVED {slot} {ip}:{}", SHARDS[0]),
        format!("ASK {slot} {ip}:{}", SHARDS[0]),
        format!("MOVED {} {ip}:{}", slot + 1, SHARDS[0]),
        "MOVED nonsense".into(),
        "READONLY You can not write against a read only replica.".into(),
        "LOADING now".into(),
        "CLUSTERDOWN now".into(),
        "MASTERDOWN now".into(),
        "TRYAGAIN now".into(),
        "UNBLOCKED force unblock".into(),
    ];
    for (n, says) in words.iter().enumerate() {
        let key = format!("{{a}}{n}");
        assert_eq!(script(&mut forger, &key, says), format!("-{says}\r\n"));
        assert_eq!(other.command(&format!("GET {key}")), "$1\r\n1\r\n", "{says}");
        assert_eq!(other.command("SET a x"), "+OK\r\n", "{says}");
    }
    for port in SHARDS {
        let moved = lab.direct(port).command("INFO errorstats");
        assert_eq!(
            moved.contains("errorstat_MOVED"),
            port == SHARDS[2],
            "only the script returned MOVED: {moved}"
        );
    }
    assert!(unrelated.accept().is_err(), "a request was sent to an unrelated server");
    // Scripts without keys: their errors have no effect either.
    assert_eq!(forger.command("EVAL return(redis.error_reply('CLUSTERDOWN:')) 0"), "-ERR CLUSTERDOWN:\r\n");
    proxy.order(&json!({"type": "dance"}));
    assert!(
        proxy.heard_nothing_of("topology", "error"),
        "a move that did not happen was reported to the agent"
    );
}

#[test]
fn scripts_follow_their_keys() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let mut client = lab.client();
    let count = "EVAL return(redis.call('INCR',KEYS[1])) 1 a";
    assert_eq!(client.command(count), ":1\r\n");
    let slot = resp::slot::of_key(b"a");
    let (from, to) = (SHARDS[2], SHARDS[0]);
    let id = |port: u16| format!("{port:040x}");
    lab.direct(to).command(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", id(from)));
    lab.direct(from).command(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", id(to)));
    assert_eq!(lab.direct(from).command(&format!("MIGRATE {} {to} a 0 5000", lab.ip)), "+OK\r\n");
    assert_eq!(client.command(count), ":2\r\n");
    for port in [to, from] {
        assert_eq!(lab.direct(port).command(&format!("CLUSTER SETSLOT {slot} NODE {}", id(to))), "+OK\r\n");
    }
    assert_eq!(client.command(count), ":3\r\n");
    let hint = proxy.expect("topology");
    assert_eq!((hint["slot"].as_u64(), hint["port"].as_u64()), (Some(slot.into()), Some(to.into())));
}

#[test]
fn shards_receive_requests_only_after_the_agent_has_named_them() {
    let mut lab = Lab::new();
    let shards = lab.cluster(false);
    let mut database = lab.patient(&shards[..2]);
    database["shards"][0]["slots"] = json!([[0, 5460], [10922, 16383]]);
    let mut proxy = lab.proxy(&database);
    let mut client = lab.client();
    // "a" is on the shard that was not named. The shard that receives the request redirects it.
    client.send("SET a 1");
    let hint = proxy.expect("topology");
    assert_eq!(hint["port"], SHARDS[2]);
    assert!(client.is_quiet());
    database = lab.patient(&shards);
    database["version"] = json!(2);
    proxy.apply(&database);
    assert_eq!(client.reply(), "+OK\r\n");
}

#[test]
fn commands_cannot_change_a_shared_connection() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut other) = (lab.client(), lab.client());
    for (line, reply) in [
        ("SCRIPT DEBUG YES", "-ERR SCRIPT DEBUG is not available through the endpoint\r\n"),
        ("SCRIPT debug SYNC", "-ERR SCRIPT DEBUG is not available through the endpoint\r\n"),
        ("CLIENT CAPA redirect", "-ERR CLIENT CAPA is not available through the endpoint\r\n"),
        ("CLIENT IMPORT-SOURCE ON", "-ERR CLIENT IMPORT-SOURCE is not available through the endpoint\r\n"),
        ("CLIENT KILL x", "-ERR CLIENT KILL is not available through the endpoint\r\n"),
        ("CLIENT NOSUCH x", "-ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP.\r\n"),
        ("script nosuch", "-ERR unknown subcommand 'nosuch'. Try SCRIPT HELP.\r\n"),
        ("CONFIG SET maxmemory 1", "-ERR CONFIG SET is not available through the endpoint\r\n"),
    ] {
        assert_eq!(one.command(line), reply, "{line}");
        assert_eq!(one.command("EVAL return(1) 1 a"), ":1\r\n", "{line}");
        assert_eq!(other.command("EVAL return(1) 1 a"), ":1\r\n", "{line}");
    }
}

#[test]
fn a_script_is_killed_on_any_shard() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut other) = (lab.client(), lab.client());
    assert!(other.command("SCRIPT KILL").starts_with("-NOTBUSY"));
    for port in SHARDS {
        assert_eq!(lab.direct(port).command("CONFIG SET busy-reply-threshold 1"), "+OK\r\n");
    }
    one.send_args(&[b"EVAL", b"while true do end", b"1", b"a"]);
    wait("the script to be killed", || other.command("SCRIPT KILL") == "+OK\r\n");
    let killed = one.reply();
    assert!(killed.contains("killed"), "{killed}");
    assert_eq!(other.command("SET a 1"), "+OK\r\n");
}

#[test]
fn after_monitor_no_other_command_reaches_a_shard() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut other) = (lab.client(), lab.client());
    assert_eq!(one.command("MONITOR"), "+OK\r\n");
    // Lines of MONITOR contain the number of the database.
    let mut reply_to = |line: &str| {
        one.send(line);
        loop {
            let reply = one.reply();
            if !reply.contains(" [0 ") {
                return reply;
            }
        }
    };
    for line in [
        "SHUTDOWN NOSAVE",
        "CONFIG SET maxclients 1",
        "CLIENT PAUSE 100000",
        "FLUSHALL",
        "SET a 1",
        "MONITOR",
    ] {
        assert_eq!(reply_to(line), "-ERR Replica can't interact with the keyspace\r\n", "{line}");
        assert_eq!(other.command("GET a"), "$-1\r\n", "{line}");
    }
    assert_eq!(reply_to("PING"), "+PONG\r\n");
    assert_eq!(reply_to("RESET"), "+RESET\r\n");
    assert_eq!(one.command("SET a 1"), "+OK\r\n");
}
