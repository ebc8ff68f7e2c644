//! Changes of user, protocol and tracking of a client with state on its dedicated connections:
//! watched keys, subscriptions and tracking are kept, as in the engine.

use crate::lab::{Client, Lab, SHARDS};

fn with_user(lab: &Lab) {
    for port in SHARDS {
        assert_eq!(lab.direct(port).command("ACL SETUSER other on >secret ~* &* +@all"), "+OK\r\n");
    }
}

/// Watches a key, executes `lines`, lets another client write the key, and checks that the
/// transaction is not executed.
fn check_watch(lab: &Lab, before: &[&str], lines: &[&str]) {
    let (mut one, mut two) = (lab.client(), lab.client());
    before.iter().for_each(|line| drop(one.command(line)));
    assert_eq!(one.command("WATCH a"), "+OK\r\n");
    lines.iter().for_each(|line| drop(one.command(line)));
    assert_eq!(two.command("SET a other"), "+OK\r\n");
    assert_eq!(one.command("MULTI"), "+OK\r\n");
    assert_eq!(one.command("SET a mine"), "+QUEUED\r\n");
    let reply = one.command("EXEC");
    assert!(["*-1\r\n", "_\r\n"].contains(&reply.as_str()), "{lines:?}: {reply}");
    assert_eq!(two.command("GET a"), "$5\r\nother\r\n", "{lines:?}");
    // Without a conflict, the transaction is executed.
    assert_eq!(one.command("WATCH a"), "+OK\r\n");
    lines.iter().for_each(|line| drop(one.command(line)));
    one.command("MULTI");
    one.command("SET a mine");
    assert_eq!(one.command("EXEC"), "*1\r\n+OK\r\n", "{lines:?}");
}

#[test]
fn watched_keys_are_kept_when_the_user_or_the_protocol_changes() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    with_user(&lab);
    for lines in [
        &["AUTH other secret"][..],
        &["AUTH other wrong"],
        &["AUTH default x"],
        &["HELLO 3"],
        &["HELLO 3", "HELLO 2"],
        &["HELLO 3 AUTH other secret"],
        &["HELLO 2 AUTH other wrong"],
        &["HELLO 3 AUTH default x SETNAME n"],
        &["HELLO 3", "CLIENT TRACKING ON", "CLIENT TRACKING OFF", "HELLO 2"],
        &["CLIENT TRACKING ON"],
        &["FUNCTION LIST"],
    ] {
        check_watch(&lab, &[], lines);
    }
    for lines in [
        &["CLIENT TRACKING OFF"][..],
        &["CLIENT TRACKING ON OPTIN OPTOUT"],
        &["CLIENT TRACKING ON nonsense"],
        &["CLIENT TRACKING ON REDIRECT 1"],
        &["CLIENT TRACKING ON OPTIN", "CLIENT TRACKING OFF"],
        &["CLIENT TRACKING OFF nonsense"],
    ] {
        check_watch(&lab, &["HELLO 3"], lines);
    }
}

#[test]
fn a_transaction_is_executed_as_the_new_user() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    for port in SHARDS {
        assert_eq!(lab.direct(port).command("ACL SETUSER reader on >secret ~* +@all -set"), "+OK\r\n");
    }
    let mut client = lab.client();
    assert_eq!(client.command("WATCH a"), "+OK\r\n");
    assert_eq!(client.command("AUTH reader secret"), "+OK\r\n");
    assert_eq!(client.command("MULTI"), "+OK\r\n");
    assert!(client.command("SET a 1").starts_with("-NOPERM User reader has no permissions"));
    assert!(client.command("EXEC").starts_with("-EXECABORT"));
    // The connection is available to other clients of that user only.
    drop(client);
    let mut other = lab.client();
    assert_eq!(other.command("WATCH a"), "+OK\r\n");
    other.command("MULTI");
    assert_eq!(other.command("SET a 1"), "+QUEUED\r\n");
    assert_eq!(other.command("EXEC"), "*1\r\n+OK\r\n");
}

const INVALIDATE_A: &str = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n";

fn tracking() -> (Lab, crate::lab::Proxy, Client, Client) {
    let mut lab = Lab::new();
    let proxy = lab.hidden();
    with_user(&lab);
    let (mut one, two) = (lab.client(), lab.client());
    one.command("HELLO 3");
    (lab, proxy, one, two)
}

#[test]
fn tracking_is_kept_when_the_user_or_the_protocol_changes() {
    let (_lab, _proxy, mut one, mut two) = tracking();
    assert_eq!(one.command("CLIENT TRACKING ON"), "+OK\r\n");
    for lines in
        [&["AUTH other secret"][..], &["HELLO 3 AUTH default x"], &["CLIENT TRACKING ON OPTIN OPTOUT"]]
    {
        one.command("GET a");
        lines.iter().for_each(|line| drop(one.command(line)));
        two.command("SET a 1");
        assert_eq!(one.reply(), INVALIDATE_A, "{lines:?}");
    }
    // As in the engine, a RESP2 client receives no invalidations.
    assert!(one.command("HELLO 2").starts_with("*14\r\n"));
    assert_eq!(one.command("GET none"), "$-1\r\n");
    assert_eq!(one.command("GET a"), "$1\r\n1\r\n");
    assert_eq!(two.command("SET a 1"), "+OK\r\n");
    assert!(one.is_quiet());
    assert!(one.command("HELLO 3").starts_with('%'));
    assert_eq!(one.command("GET none"), "_\r\n");
    one.command("GET a");
    two.command("SET a 1");
    assert_eq!(one.reply(), INVALIDATE_A);
    one.command("HELLO 2");
    assert_eq!(one.command("CLIENT TRACKING OFF"), "+OK\r\n");
    assert!(one.command("CLIENT TRACKINGINFO").contains("$3\r\noff\r\n"));
}

#[test]
fn tracking_applies_to_connections_that_exist_already() {
    let (_lab, _proxy, mut one, mut two) = tracking();
    // "a" is on the last shard; commands without a key use the first.
    assert_eq!(one.command("WATCH a"), "+OK\r\n");
    assert_eq!(one.command("CLIENT TRACKING ON"), "+OK\r\n");
    assert_eq!(one.command("GET a"), "_\r\n");
    two.command("SET a 1");
    assert_eq!(one.reply(), INVALIDATE_A);
    assert_eq!(one.command("CLIENT TRACKING OFF"), "+OK\r\n");
    one.command("GET a");
    two.command("SET a 1");
    assert!(one.is_quiet());
}

#[test]
fn all_prefixes_apply_to_each_shard() {
    let (_lab, _proxy, mut one, mut two) = tracking();
    for prefix in ["redirect", "optin", "b"] {
        assert_eq!(one.command(&format!("CLIENT TRACKING ON BCAST PREFIX {prefix}")), "+OK\r\n");
    }
    // Prefixes are no options.
    assert!(one.command("CLIENT CACHING YES").starts_with("-ERR CLIENT CACHING YES is only valid"));
    for key in ["redirect{a}", "optin{a}", "b{a}", "redirect{b}", "optin{b}", "b{b}"] {
        one.command(&format!("GET {key}"));
        two.command(&format!("SET {key} 1"));
        let expected = format!(">2\r\n$10\r\ninvalidate\r\n*1\r\n${}\r\n{key}\r\n", key.len());
        assert_eq!(one.reply(), expected);
    }
}

#[test]
fn subscriptions_are_kept_when_the_user_or_the_protocol_changes() {
    let (_lab, _proxy, mut one, mut two) = tracking();
    assert!(one.command("SUBSCRIBE ch").contains("subscribe"));
    assert!(one.command("SSUBSCRIBE a").contains("ssubscribe"));
    let expect = |one: &mut Client, two: &mut Client, start: &str| {
        assert_eq!(two.command("PUBLISH ch x"), ":1\r\n");
        assert_eq!(one.reply(), format!("{start}3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$1\r\nx\r\n"));
        assert_eq!(two.command("SPUBLISH a x"), ":1\r\n");
        assert_eq!(one.reply(), format!("{start}3\r\n$8\r\nsmessage\r\n$1\r\na\r\n$1\r\nx\r\n"));
    };
    expect(&mut one, &mut two, ">");
    for line in ["AUTH other secret", "CLIENT TRACKING ON", "CLIENT TRACKING OFF", "CLIENT TRACKING ON x"] {
        one.command(line);
        expect(&mut one, &mut two, ">");
    }
    // The protocol changes between two messages, even if the request follows immediately.
    one.send("SUBSCRIBE other");
    one.send("HELLO 2");
    assert!(one.reply().starts_with(">3\r\n$9\r\nsubscribe"));
    assert!(one.reply().starts_with("*14\r\n"));
    expect(&mut one, &mut two, "*");
    assert!(one.command("GET a").starts_with("-ERR Can't execute 'get'"));
    assert_eq!(one.command("PING"), "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    assert!(one.command("HELLO 3").starts_with("-ERR Can't execute 'hello'"));
    assert_eq!(one.command("RESET"), "+RESET\r\n");
    assert_eq!(two.command("PUBLISH ch x"), ":0\r\n");
}
