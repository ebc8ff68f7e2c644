//! Requests that could break a connection to a shard: other clients of the same connection receive
//! their own replies.

use crate::lab::{Client, Lab, SHARDS, wait};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Hash tag of keys on the shard that also receives requests without keys.
const TAG: &str = "{06S}";
const VALUE: &str = "$4\r\nmine\r\n";

fn command(args: &[&[u8]]) -> Vec<u8> {
    let mut request = Vec::new();
    resp::encode::command(&mut request, args.iter().copied());
    request
}

fn get(key: &str) -> Vec<u8> {
    command(&[b"GET", format!("{TAG}{key}").as_bytes()])
}

/// Runs `attack` while requests of another client wait on the shard before and after it, and checks
/// their replies. The shard is stopped, so that all requests share the connection in this order.
fn check_others(lab: &Lab, name: &str, attack: impl FnOnce(&mut Client)) -> Client {
    let (mut attacker, mut before, mut behind) = (lab.client(), lab.client(), lab.client());
    let mut last = lab.client();
    // The proxy answers PING itself, after it has handled what it received before.
    let mut handled = || assert_eq!(last.command("PING"), "+PONG\r\n", "{name}");
    lab.freeze(SHARDS[0]);
    before.send_raw(&get("mine"));
    handled();
    attack(&mut attacker);
    handled();
    behind.send_raw(&[get("mine"), get("nosuch")].concat());
    handled();
    lab.resume(SHARDS[0]);
    assert_eq!(before.reply(), VALUE, "{name}: sent before the attack");
    assert_eq!(behind.reply(), VALUE, "{name}: sent after the attack");
    assert_eq!(behind.reply(), "$-1\r\n", "{name}: sent after the attack");
    attacker
}

/// Returns a client that has set the key that the others read.
fn prepared(lab: &Lab) -> Client {
    assert!(resp::slot::of_key(TAG.as_bytes()) < 5461, "the first shard has these keys");
    let mut client = lab.client();
    assert_eq!(client.command(&format!("SET {TAG}mine mine")), "+OK\r\n");
    client
}

/// Requests whose error text contains a line break and further data.
fn injections() -> Vec<Vec<u8>> {
    let key = format!("{TAG}k");
    let shebang = b"#!lua flags=\"a\\r\\n$9\\r\\nmalicious\"\nreturn 1";
    let library = b"#!lua name=x\nlocal a = {} local b = a['a\\r\\n$9\\r\\nmalicious'] .. 1";
    vec![
        command(&[b"FUNCTION", b"LIST", b"x\r\n$9\r\nmalicious"]),
        // The header of a value that is longer than all following data.
        command(&[b"FUNCTION", b"LIST", b"x\r\n$1000000\r\nmalicious"]),
        command(&[b"FUNCTION", b"LIST", b"x\n+malicious"]),
        command(&[b"EVAL", shebang, b"1", key.as_bytes()]),
        command(&[b"EVAL_RO", shebang, b"1", key.as_bytes()]),
        command(&[b"SCRIPT", b"LOAD", shebang]),
        command(&[b"FUNCTION", b"LOAD", library]),
        command(&[b"FUNCTION", b"LOAD", b"#!\"f\\r\\n$9\\r\\nmalicious\" name=x\nx"]),
    ]
}

#[test]
fn error_texts_do_not_become_replies_of_other_clients() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    prepared(&lab);
    for request in injections() {
        let name = String::from_utf8_lossy(&request).into_owned();
        let mut attacker = check_others(&lab, &name, |attacker| attacker.send_raw(&request));
        let reply = attacker.reply();
        assert!(reply.starts_with("-ERR "), "{name}: {reply}");
        assert_eq!(attacker.command(&format!("GET {TAG}mine")), VALUE, "{name}");
    }
}

#[test]
fn a_connection_with_surplus_bytes_is_not_reused() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    prepared(&lab);
    // The reply ends with the header of a value that does not follow.
    let key = format!("{TAG}k");
    let script = command(&[b"EVAL", b"#!lua flags=\"a\\r\\n$1000000\"\nreturn 1", b"1", key.as_bytes()]);
    let transactions = [
        vec![command(&[b"MULTI"]), script.clone(), command(&[b"EXEC"])],
        vec![command(&[b"MULTI"]), script.clone(), command(&[b"DISCARD"])],
        vec![script],
    ];
    for (requests, replies) in transactions.iter().zip([3, 3, 1]) {
        let mut attacker = lab.client();
        attacker.send_raw(&requests.concat());
        (0..replies).for_each(|_| drop(attacker.reply()));
        // Returns its connection to the pool.
        assert_eq!(attacker.command(&format!("GET {TAG}mine")), VALUE);
        let mut next = lab.client();
        // A blocking command uses a connection of the pool.
        next.send(&format!("BLPOP {TAG}list 0.01"));
        assert_eq!(next.reply(), "*-1\r\n");
        assert_eq!(next.command("MULTI"), "+OK\r\n");
        assert_eq!(next.command(&format!("GET {TAG}mine")), "+QUEUED\r\n");
        assert_eq!(next.command("EXEC"), format!("*1\r\n{VALUE}"));
    }
}

#[test]
fn malformed_requests_reach_no_shard() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    prepared(&lab);
    let crlf = "invalid CRLF in request";
    for (request, error) in [
        (&format!("*3\r\n$3\r\nSET\r\n$6\r\n{TAG}a\r\n$5\r\nvalueXX")[..], crlf),
        ("*1\r\n$4\r\nPING\rX", crlf),
        ("*1\r\n$4\r\nPINGX\n", crlf),
        ("*1\rX$4\r\nPING\r\n", crlf),
        ("*1\r\n$4\rXPING\r\n", crlf),
        ("*1\r\n$0\r\nXX", crlf),
        ("*1\r\n$-1\r\n", "invalid bulk length"),
        ("*1\r\n$+4\r\nPING\r\n", "invalid bulk length"),
        ("*1\r\n$04\r\nPING\r\n", "invalid bulk length"),
        ("*1\r\n$99999999999999999999\r\n", "invalid bulk length"),
        ("*1\r\n$536870913\r\n", "invalid bulk length"),
        ("*01\r\n$4\r\nPING\r\n", "invalid multibulk length"),
        ("*-0\r\n", "invalid multibulk length"),
        ("*2147483648\r\n", "invalid multibulk length"),
        ("*1048577\r\n", "invalid multibulk length"),
        ("*2\r\n$4\r\nECHO\r\nPING\r\n", "expected '$', got 'P'"),
    ] {
        // Earlier requests are answered first.
        let bytes = [&get("mine"), request.as_bytes()].concat();
        let mut attacker = check_others(&lab, request, |attacker| attacker.send_raw(&bytes));
        assert_eq!(attacker.reply(), VALUE, "{request:?}");
        assert_eq!(attacker.reply(), format!("-ERR Protocol error: {error}\r\n"), "{request:?}");
        assert_eq!(attacker.try_reply(), None, "{request:?}");
    }
}

#[test]
fn http_requests_reach_no_shard() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    prepared(&lab);
    for request in [
        b"POST / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        b"Host: a\r\n".to_vec(),
        command(&[b"post"]),
        command(&[b"HoSt:", b"a"]),
        // The engine compares the text before a NUL.
        command(&[b"POST\0x"]),
        command(&[b"host:\0x", b"a"]),
    ] {
        let name = String::from_utf8_lossy(&request).into_owned();
        for before in [vec![], command(&[b"MULTI"]), [command(&[b"MULTI"]), get("mine")].concat()] {
            let bytes = [&before[..], &request].concat();
            let mut attacker = check_others(&lab, &name, |attacker| attacker.send_raw(&bytes));
            let mut replies = Vec::new();
            while let Some(reply) = attacker.try_reply() {
                replies.push(reply);
            }
            assert_eq!(replies.last().map(String::as_str), Some(HTTP), "{name}: {replies:?}");
        }
    }
    let mut attacker = check_others(&lab, "GET / HTTP/1.1", |attacker| {
        attacker.send_raw(b"GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\n\r\n")
    });
    assert_eq!(attacker.reply(), "-ERR wrong number of arguments for 'get' command\r\n");
    assert_eq!(attacker.reply(), HTTP);
    assert_eq!(attacker.try_reply(), None);
    let log = std::fs::read_to_string(lab.server_directory(SHARDS[0]).join("log")).unwrap();
    assert!(!log.contains("SECURITY ATTACK"), "{log}");
}

const HTTP: &str = "-ERR Protocol error: HTTP requests are not supported\r\n";

/// Starts a shard of a newer engine: NEWGET is answered with two replies, and ECHO is executed only
/// if `may_echo`.
fn newer_shard(lab: &Lab, may_echo: bool) {
    crate::fake::shard(lab, SHARDS[0], move |args| {
        let argument = |at: usize| String::from_utf8_lossy(args.get(at).unwrap_or_default()).into_owned();
        match args.get(0).unwrap() {
            b"HELLO" if args.len() == 3 => {
                format!("-ERR Syntax error in HELLO option '{}'\r\n", argument(2))
            }
            b"HELLO" => "*4\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nversion\r\n$6\r\n99.0.0\r\n".into(),
            b"COMMAND" => "*1\r\n*6\r\n$6\r\nnewget\r\n:2\r\n*1\r\n+readonly\r\n:1\r\n:1\r\n:1\r\n".into(),
            b"ECHO" if may_echo => format!("${}\r\n{}\r\n", argument(1).len(), argument(1)),
            b"ECHO" => "-NOPERM User a has no permissions to run the 'echo' command\r\n".into(),
            b"NEWGET" if args.get(1) == Some(b"surplus") => "-ERR x\r\n$9\r\nmalicious\r\n".into(),
            b"NEWGET" if args.get(1) == Some(b"header") => "-ERR x\r\n$1000000\r\n".into(),
            _ => format!("$4\r\n{:<4}\r\n", argument(1)),
        }
    });
}

#[test]
fn a_surplus_reply_closes_the_connection_and_shifts_no_replies() {
    for may_echo in [true, false] {
        let lab = Lab::new();
        newer_shard(&lab, may_echo);
        let _proxy = lab.proxy(&lab.database(&[lab.shard(SHARDS[0], "primary", json!([[0, 16383]]))]));
        let (mut attacker, mut victim) = (lab.client(), lab.client());
        wait("the fence to be accepted", || attacker.command("NEWGET a") == "$4\r\na   \r\n");
        for round in 0..40 {
            let key = if round % 2 == 0 { "surplus" } else { "header" };
            victim.send_raw(&command(&[b"GET", b"one"]));
            attacker.send(&format!("NEWGET {key}"));
            for _ in 0..3 {
                victim.send_raw(&command(&[b"GET", b"mine"]));
            }
            let replies: Vec<_> = (0..4).map(|_| victim.reply()).collect();
            for (reply, own) in replies.iter().zip(["one ", "mine", "mine", "mine"]) {
                let lost = "-ERR the connection to the shard was lost before it answered\r\n";
                assert!(*reply == format!("$4\r\n{own}\r\n") || reply == lost, "{replies:?}");
            }
            attacker.reply();
            assert_eq!(attacker.command("NEWGET a"), "$4\r\na   \r\n");
            assert_eq!(victim.command("GET mine"), "$4\r\nmine\r\n");
        }
    }
}

/// Commands that change, end or block the connection on which they are executed, or that read data
/// pushed to it.
const CONNECTION: &str = "
    QUIT|RESET|HELLO 3|HELLO 2|HELLO 4|HELLO 3 SETNAME a|CLIENT REPLY OFF|CLIENT REPLY SKIP|CLIENT REPLY ON|CLIENT NO-EVICT ON
    CLIENT NO-TOUCH ON|CLIENT KILL ID 1|CLIENT KILL TYPE normal SKIPME no|CLIENT PAUSE 100|CLIENT CACHING YES
    CLIENT TRACKING ON|CLIENT TRACKING ON BCAST|CLIENT SETNAME x|SUBSCRIBE c|PSUBSCRIBE c*|SSUBSCRIBE {06S}c|UNSUBSCRIBE
    MONITOR|SYNC|PSYNC ? -1|REPLCONF ACK 0|REPLICAOF NO ONE|SLAVEOF NO ONE|FAILOVER|SHUTDOWN NOSAVE|SHUTDOWN ABORT
    DEBUG SLEEP 0|DEBUG PROTOCOL push|DEBUG SEGFAULT|ASKING|READONLY|READWRITE|SELECT 1|SELECT 0|MULTI|EXEC|DISCARD|WATCH {06S}w
    SWAPDB 0 1|MODULE LIST|MIGRATE 127.0.0.1 1 {06S}k 0 1|CLUSTER RESET|CONFIG SET maxclients 1|ACL SETUSER default off
    SCRIPT DEBUG YES|WAIT 0 1|WAITAOF 0 0 1|BLPOP {06S}none 0.01|AUTH x y|CLIENT UNBLOCK 1|CLIENT CAPA redirect
    CLIENT IMPORT-SOURCE ON|RESTORE-ASKING {06S}r 0 x|XREAD BLOCK 1 STREAMS {06S}s $|IMPORT x|SENTINEL x|LATENCY RESET|post";

#[test]
fn clients_receive_their_own_values_during_attacks() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut setup = prepared(&lab);
    for n in 0..100 {
        assert_eq!(setup.command(&format!("SET {TAG}{n} value-{n}")), "+OK\r\n");
    }
    let attacks: Vec<Vec<u8>> = CONNECTION
        .split(['|', '\n'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| command(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>()))
        .chain(injections())
        .chain([
            b"*1\r\n$4\r\nPINGXX".to_vec(),
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            command(&[b"EVAL", b"return redis.error_reply('a\\r\\n+malicious')", b"0"]),
            command(&[b"EVAL", b"return {ok='a\\r\\n+malicious'}", b"0"]),
            command(&[b"EVAL", b"error({err='a\\r\\n+malicious'})", b"0"]),
            command(&[b"NOSUCH\r\n+malicious", b"a\r\n+malicious"]),
            command(&[b"CLIENT\r\n+x", b"\r\n+malicious"]),
        ])
        .collect();
    let stop = AtomicBool::new(false);
    let checked = std::thread::scope(|scope| {
        let victims: Vec<_> = (0..3)
            .map(|seed| {
                let (lab, stop) = (&lab, &stop);
                scope.spawn(move || victim(lab, seed, stop))
            })
            .collect();
        for attack in &attacks {
            let mut attacker = lab.client();
            // The reply does not matter. The connection may be closed at any time.
            attacker.try_send_raw(&[&attack[..], &command(&[b"PING"])].concat());
            std::thread::sleep(Duration::from_millis(3));
            drop(attacker);
        }
        stop.store(true, Ordering::Relaxed);
        victims.into_iter().map(|victim| victim.join().unwrap()).sum::<usize>()
    });
    assert!(checked > 1000, "only {checked} replies were checked");
}

/// Reads its own keys in pipelines and checks every value. Returns the number of replies.
fn victim(lab: &Lab, seed: usize, stop: &AtomicBool) -> usize {
    let (mut client, mut checked) = (lab.client(), 0);
    while !stop.load(Ordering::Relaxed) {
        let keys: Vec<_> = (0..8).map(|n| (seed * 31 + checked + n * 7) % 100).collect();
        client.send_raw(&keys.iter().flat_map(|n| get(&n.to_string())).collect::<Vec<_>>());
        for n in keys {
            let value = format!("value-{n}");
            assert_eq!(client.reply(), format!("${}\r\n{value}\r\n", value.len()));
            checked += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    checked
}
