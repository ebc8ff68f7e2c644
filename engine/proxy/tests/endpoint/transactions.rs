//! MULTI, WATCH and blocking commands: they use dedicated connections, so that other clients are
//! not affected.

use crate::lab::{Lab, SHARDS, wait};

#[test]
fn a_transaction_never_leaks_into_other_clients() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut two) = (lab.client(), lab.client());
    assert_eq!(one.command("MULTI"), "+OK\r\n");
    assert_eq!(one.command("SET a 1"), "+QUEUED\r\n");
    assert_eq!(one.command("INCR {a}n"), "+QUEUED\r\n");
    for n in 0..50 {
        assert_eq!(two.command(&format!("SET key:{n} x")), "+OK\r\n");
        assert_eq!(two.command(&format!("SET {{a}}:{n} x")), "+OK\r\n");
    }
    assert_eq!(two.command("GET a"), "$-1\r\n");
    assert_eq!(two.command("EXEC"), "-ERR EXEC without MULTI\r\n");
    // The transaction of a client ends when it disconnects.
    let mut three = lab.client();
    three.command("MULTI");
    assert_eq!(three.command("SET a 3"), "+QUEUED\r\n");
    assert_eq!(lab.mentions("CLIENT LIST", " multi=1 "), 1);
    drop(three);
    wait("the shard to discard it", || lab.mentions("CLIENT LIST", " multi=1 ") == 0);
    assert_eq!(two.command("SET {a}2 1"), "+OK\r\n");
    assert_eq!(one.command("EXEC"), "*2\r\n+OK\r\n:1\r\n");
    assert_eq!(two.command("GET a"), "$1\r\n1\r\n");
    assert_eq!(one.command("GET a"), "$1\r\n1\r\n");
}

#[test]
fn transactions_behave_as_in_the_engine() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    let aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    // Pipelined, between other commands.
    for line in ["SET n 1", "MULTI", "PING", "INCR n", "EXEC", "INCR n", "GET n"] {
        client.send(line);
    }
    for reply in
        ["+OK\r\n", "+OK\r\n", "+QUEUED\r\n", "+QUEUED\r\n", "*2\r\n+PONG\r\n:2\r\n", ":3\r\n", "$1\r\n3\r\n"]
    {
        assert_eq!(client.reply(), reply);
    }
    client.command("MULTI");
    assert_eq!(client.command("EXEC"), "*0\r\n");
    client.command("MULTI");
    assert_eq!(client.command("MULTI"), "-ERR Command not allowed inside a transaction\r\n");
    assert_eq!(client.command("WATCH a"), "-ERR Command not allowed inside a transaction\r\n");
    assert_eq!(client.command("DISCARD"), "+OK\r\n");
    client.command("MULTI");
    client.command("SET n 5");
    assert_eq!(client.command("DISCARD"), "+OK\r\n");
    assert_eq!(client.command("GET n"), "$1\r\n3\r\n");
    client.command("MULTI");
    assert!(client.command("NOSUCH").starts_with("-ERR unknown command"));
    assert_eq!(client.command("EXEC"), aborted);
    client.command("MULTI");
    assert_eq!(client.command("SET a 1"), "+QUEUED\r\n");
    // "b" is on another shard than "a".
    assert_eq!(client.command("SET b 1"), "-CROSSSLOT Keys in request don't hash to the same slot\r\n");
    assert_eq!(client.command("EXEC"), aborted);
    assert_eq!(client.command("MGET a b"), "*2\r\n$-1\r\n$-1\r\n");
    assert_eq!(client.command("DISCARD"), "-ERR DISCARD without MULTI\r\n");
}

#[test]
fn watch_detects_writes_of_other_clients() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut two) = (lab.client(), lab.client());
    assert_eq!(one.command("WATCH a"), "+OK\r\n");
    two.command("SET a other");
    one.command("MULTI");
    one.command("SET a mine");
    assert_eq!(one.command("EXEC"), "*-1\r\n");
    assert_eq!(one.command("GET a"), "$5\r\nother\r\n");
    one.command("WATCH a");
    assert_eq!(one.command("GET a"), "$5\r\nother\r\n");
    one.command("UNWATCH");
    two.command("SET a again");
    one.command("MULTI");
    one.command("SET a mine");
    assert_eq!(one.command("EXEC"), "*1\r\n+OK\r\n");
}

#[test]
fn a_blocking_command_blocks_no_other_client() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut two) = (lab.client(), lab.client());
    one.send("BLPOP list 0");
    one.send("SET after 1");
    assert!(one.is_quiet());
    for n in 0..20 {
        assert_eq!(two.command(&format!("SET key:{n} x")), "+OK\r\n");
    }
    assert_eq!(two.command("GET after"), "$-1\r\n");
    two.command("RPUSH list v");
    assert_eq!(one.reply(), "*2\r\n$4\r\nlist\r\n$1\r\nv\r\n");
    assert_eq!(one.reply(), "+OK\r\n");
    // A client that disconnects takes no element.
    one.send("BLPOP list 0");
    wait("the shard to block it", || lab.mentions("INFO clients", "blocked_clients:1") == 1);
    drop(one);
    wait("the shard to unblock it", || lab.mentions("INFO clients", "blocked_clients:0") == 3);
    two.command("RPUSH list w");
    assert_eq!(two.command("LLEN list"), ":1\r\n");
    two.command("XADD stream 1-0 f v");
    assert!(two.command("XREAD BLOCK 10 STREAMS stream 0").starts_with("*1\r\n"));
    assert_eq!(two.command("WAIT 0 10"), ":0\r\n");
}

#[test]
fn tracking_sends_invalidations_for_keys_that_were_read() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut two) = (lab.client(), lab.client());
    one.command("HELLO 3");
    assert_eq!(one.command("CLIENT TRACKING ON"), "+OK\r\n");
    for key in ["a", "b", "c"] {
        assert_eq!(one.command(&format!("GET {key}")), "_\r\n");
        two.command(&format!("SET {key} 1"));
        assert_eq!(one.reply(), format!(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\n{key}\r\n"));
    }
    assert_eq!(one.command("CLIENT TRACKING OFF"), "+OK\r\n");
    assert_eq!(one.command("GET a"), "$1\r\n1\r\n");
    two.command("SET a 2");
    assert!(one.is_quiet());
}

#[test]
fn dedicated_connections_are_reused() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let connections = |lab: &Lab| lab.mentions("CLIENT LIST", " name=shardboard-proxy ");
    wait("the shared connections", || connections(&lab) == SHARDS.len());
    let before = SHARDS.len();
    let mut clients: Vec<_> = (0..20).map(|_| lab.client()).collect();
    for client in &mut clients {
        for line in ["MULTI", "INCR n", "EXEC", "BLPOP {n}list 0.001", "GET n"] {
            client.command(line);
        }
    }
    assert_eq!(clients[0].command("GET n"), "$2\r\n20\r\n");
    assert_eq!(connections(&lab), before + 1);
    // A client that failed to enable tracking needs none either.
    assert!(clients[0].command("HELLO 3").starts_with('%'));
    for _ in 0..5 {
        assert!(clients[0].command("CLIENT TRACKING ON OPTIN OPTOUT").starts_with("-ERR"));
    }
    assert_eq!(clients[0].command("GET n"), "$2\r\n20\r\n");
    wait("connections to be closed", || connections(&lab) <= before + 5);
}

#[test]
fn a_waiting_request_is_not_executed_after_a_later_one() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    assert_eq!(client.command("MSET a 1 {a}b 1"), "+OK\r\n");
    let slot = resp::slot::of_key(b"a");
    let (from, to) = (SHARDS[2], SHARDS[0]);
    let id = |port: u16| format!("{port:040x}");
    lab.direct(to).command(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", id(from)));
    lab.direct(from).command(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", id(to)));
    assert_eq!(lab.direct(from).command(&format!("MIGRATE {} {to} a 0 5000", lab.ip)), "+OK\r\n");
    // The first request needs both keys on one shard and must wait for that; the second does not.
    let mut both = Vec::new();
    resp::encode::command(&mut both, [&b"MSET"[..], b"a", b"2", b"{a}b", b"2"].into_iter());
    resp::encode::command(&mut both, [&b"SET"[..], b"{a}b", b"3"].into_iter());
    client.send_raw(&both);
    assert!(client.reply().starts_with("-TRYAGAIN"));
    assert_eq!(client.reply(), "+OK\r\n");
    assert_eq!(client.command("GET {a}b"), "$1\r\n3\r\n");
}

#[test]
fn the_end_of_a_transaction_accepts_no_arguments() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    lab.server(21009, &[]);
    for mut client in [lab.client(), lab.direct(21009)] {
        for keys in ["", "SET n 1"] {
            for line in ["MULTI", keys, "DISCARD x", keys, "EXEC", "EXISTS n"] {
                if !line.is_empty() {
                    client.send(line);
                }
            }
            assert_eq!(client.reply(), "+OK\r\n");
            let refused = "-ERR wrong number of arguments for 'discard' command\r\n";
            let queued = if keys.is_empty() { None } else { Some("+QUEUED\r\n") };
            for reply in queued.into_iter().chain([refused]).chain(queued) {
                assert_eq!(client.reply(), reply);
            }
            assert_eq!(client.reply(), "-EXECABORT Transaction discarded because of previous errors.\r\n");
            assert_eq!(client.reply(), ":0\r\n");
            assert_eq!(client.command("MULTI"), "+OK\r\n");
            if !keys.is_empty() {
                assert_eq!(client.command(keys), "+QUEUED\r\n");
            }
            let text = "Transaction discarded because of: wrong number of arguments for 'exec' command";
            assert_eq!(client.command("EXEC x"), format!("-EXECABORT {text}\r\n"));
            assert_eq!(client.command("EXISTS n"), ":0\r\n");
        }
        // The watched keys are released as well.
        client.command("WATCH n");
        client.command("MULTI");
        assert!(client.command("EXEC x").starts_with("-EXECABORT"));
        client.command("SET n 1");
        client.command("MULTI");
        assert_eq!(client.command("DEL n"), "+QUEUED\r\n");
        assert_eq!(client.command("EXEC"), "*1\r\n:1\r\n");
    }
}

#[test]
fn database_0_can_be_selected_in_a_transaction() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    for lines in [["SELECT 0", "SET n 1"], ["SET n 1", "SELECT 0"]] {
        assert_eq!(client.command("MULTI"), "+OK\r\n");
        for line in lines {
            assert_eq!(client.command(line), "+QUEUED\r\n");
        }
        assert_eq!(client.command("EXEC"), "*2\r\n+OK\r\n+OK\r\n");
    }
    client.command("MULTI");
    assert!(client.command("SELECT 1").starts_with("-ERR"));
    assert!(client.command("EXEC").starts_with("-EXECABORT"));
}
