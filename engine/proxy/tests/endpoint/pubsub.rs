//! Subscriptions and MONITOR.

use crate::lab::{Lab, SHARDS, wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn message(parts: &[&str]) -> String {
    let mut out = format!("*{}\r\n", parts.len());
    for part in parts {
        match part.parse::<u8>() {
            Ok(n) => out += &format!(":{n}\r\n"),
            Err(_) => out += &format!("${}\r\n{part}\r\n", part.len()),
        }
    }
    out
}

#[test]
fn messages_of_channels_and_patterns_are_forwarded() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut two) = (lab.client(), lab.client());
    one.send("SUBSCRIBE a b");
    assert_eq!(one.reply(), message(&["subscribe", "a", "1"]));
    assert_eq!(one.reply(), message(&["subscribe", "b", "2"]));
    assert_eq!(one.command("PSUBSCRIBE p*"), message(&["psubscribe", "p*", "3"]));
    assert_eq!(two.command("PUBLISH a hello"), ":1\r\n");
    assert_eq!(one.reply(), message(&["message", "a", "hello"]));
    two.command("PUBLISH pq there");
    assert_eq!(one.reply(), message(&["pmessage", "p*", "pq", "there"]));
    assert_eq!(one.command("PING"), "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    assert!(one.command("GET x").starts_with("-ERR Can't execute 'get'"));
    assert!(two.command("PUBSUB NUMSUB a").contains(":1\r\n"));
    assert_eq!(one.command("UNSUBSCRIBE a"), message(&["unsubscribe", "a", "2"]));
    // Unsubscribes from the last ones, followed by an ordinary command.
    one.send("UNSUBSCRIBE");
    one.send("PUNSUBSCRIBE");
    one.send("SET x 1");
    assert_eq!(one.reply(), message(&["unsubscribe", "b", "1"]));
    assert_eq!(one.reply(), message(&["punsubscribe", "p*", "0"]));
    assert_eq!(one.reply(), "+OK\r\n");
    assert_eq!(one.command("GET x"), "$1\r\n1\r\n");
    assert_eq!(two.command("PUBLISH a hello"), ":0\r\n");
}

#[test]
fn sharded_channels_of_several_shards_are_forwarded() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut two) = (lab.client(), lab.client());
    for channel in ["a", "b", "c"] {
        assert!(one.command(&format!("SSUBSCRIBE {channel}")).contains("ssubscribe"));
        assert_eq!(two.command(&format!("SPUBLISH {channel} hi")), ":1\r\n");
        assert_eq!(one.reply(), message(&["smessage", channel, "hi"]));
    }
}

#[test]
fn a_resp3_client_can_subscribe_and_send_commands() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut two) = (lab.client(), lab.client());
    one.command("HELLO 3");
    assert_eq!(one.command("SUBSCRIBE a"), ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    for n in 0..10 {
        assert_eq!(one.command(&format!("SET key:{n} 1")), "+OK\r\n");
    }
    two.command("PUBLISH a x");
    assert_eq!(one.reply(), ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n");
    assert_eq!(one.command("UNSUBSCRIBE a"), ">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n");
    assert_eq!(one.command("GET key:1"), "$1\r\n1\r\n");
}

#[test]
fn monitor_shows_all_shards() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut two) = (lab.client(), lab.client());
    assert_eq!(one.command("MONITOR"), "+OK\r\n");
    wait("MONITOR on all shards", || lab.mentions("CLIENT LIST", " flags=O ") == 3);
    for key in ["a", "b", "c"] {
        two.command(&format!("SET {key} 1"));
    }
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let line = one.reply();
        if line.contains("\"SET\"") {
            seen.push(line);
        }
    }
    drop(one);
    assert_eq!(two.command("GET a"), "$1\r\n1\r\n");
}

#[test]
fn the_reply_to_monitor_precedes_its_output() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let done = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3)
        .map(|_| {
            let (mut client, done) = (lab.client(), Arc::clone(&done));
            std::thread::spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    for key in ["a", "b", "c"] {
                        assert_eq!(client.command(&format!("SET {key} 1")), "+OK\r\n");
                    }
                }
            })
        })
        .collect();
    for _ in 0..100 {
        assert_eq!(lab.client().command("MONITOR"), "+OK\r\n");
    }
    done.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().unwrap();
    }
}

#[test]
fn invalidations_follow_the_replies_that_they_concern() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut client, mut other) = (lab.client(), lab.client());
    // "a" is on the last shard, "b" on the first.
    assert_eq!(other.command("MSET a 1 b 1"), "+OK\r\n");
    assert!(client.command("HELLO 3").starts_with('%'));
    assert_eq!(client.command("CLIENT TRACKING ON OPTIN"), "+OK\r\n");
    for _ in 0..2 {
        // Only the next key read is tracked, on any shard.
        assert_eq!(client.command("CLIENT CACHING YES"), "+OK\r\n");
        assert_eq!(client.command("GET a"), "$1\r\n1\r\n");
        assert_eq!(client.command("GET b"), "$1\r\n1\r\n");
        assert_eq!(other.command("MSET b 1"), "+OK\r\n");
        assert_eq!(other.command("MSET a 1"), "+OK\r\n");
        assert_eq!(client.reply(), ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n");
    }
    assert!(client.command("CLIENT CACHING NO").starts_with("-ERR"));
    // The reply for "a" waits for that for "b", and so must its invalidation.
    lab.freeze(SHARDS[0]);
    client.send("GET b");
    client.send("CLIENT CACHING YES");
    client.send("GET a");
    wait("the key to be read", || {
        lab.direct(SHARDS[2]).command("INFO clients").contains("tracking_total_keys:1") || {
            lab.direct(SHARDS[2]).command("INFO stats").contains("tracking_total_keys:1")
        }
    });
    assert_eq!(other.command("SET a 2"), "+OK\r\n");
    assert!(client.is_quiet());
    lab.resume(SHARDS[0]);
    assert_eq!(client.reply(), "$1\r\n1\r\n");
    assert_eq!(client.reply(), "+OK\r\n");
    assert_eq!(client.reply(), "$1\r\n1\r\n");
    assert!(client.reply().starts_with(">2\r\n$10\r\ninvalidate"));
}

/// Returns the slot of the channel, its owner and the primary after it.
fn location(channel: &str) -> (u16, u16, u16) {
    let slot = resp::slot::of_key(channel.as_bytes());
    let owner =
        SHARDS.iter().rposition(|port| usize::from(slot) >= usize::from(port - SHARDS[0]) * 16384 / 3);
    let owner = owner.unwrap();
    (slot, SHARDS[owner], SHARDS[(owner + 1) % 3])
}

#[test]
fn subscribers_of_a_sharded_channel_are_disconnected_when_it_moves() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (slot, from, to) = location("moving");
    let mut publisher = lab.client();
    let mut subscribers = [lab.client(), lab.client(), lab.client()];
    assert!(subscribers[1].command("HELLO 3").starts_with('%'));
    for subscriber in &mut subscribers {
        assert!(subscriber.command("SSUBSCRIBE moving").contains("ssubscribe"));
    }
    // The last one is not affected: it leaves the channel before.
    assert!(subscribers[2].command("SUNSUBSCRIBE moving").contains("sunsubscribe"));
    assert!(subscribers[2].command("SSUBSCRIBE {moving}2 {moving}3").contains("ssubscribe"));
    assert!(subscribers[2].reply().contains("ssubscribe"));
    assert!(subscribers[2].command("SUNSUBSCRIBE").contains("sunsubscribe"));
    assert!(subscribers[2].reply().contains("sunsubscribe"));
    assert_eq!(publisher.command("SPUBLISH moving before"), ":2\r\n");
    lab.move_slot(slot, from, to);
    for subscriber in &mut subscribers[..2] {
        assert!(subscriber.reply().ends_with("$8\r\nsmessage\r\n$6\r\nmoving\r\n$6\r\nbefore\r\n"));
        assert_eq!(subscriber.try_reply(), None);
    }
    assert_eq!(subscribers[2].command("PING"), "+PONG\r\n");
    let mut again = lab.client();
    assert_eq!(again.command("SSUBSCRIBE moving"), message(&["ssubscribe", "moving", "1"]));
    assert_eq!(publisher.command("SPUBLISH moving after"), ":1\r\n");
    assert_eq!(again.reply(), message(&["smessage", "moving", "after"]));
}

#[test]
fn sharded_subscriptions_follow_slots_that_have_moved() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (slot, from, to) = location("moving");
    let (mut one, mut two) = (lab.client(), lab.client());
    assert!(one.command("HELLO 3").starts_with('%'));
    lab.move_slot(slot, from, to);
    assert!(one.command("SSUBSCRIBE moving").contains("ssubscribe"));
    // Now the proxy knows the owner.
    lab.move_slot(slot, to, from);
    assert_eq!(one.try_reply(), None);
    assert_eq!(two.command("SUNSUBSCRIBE moving"), message(&["sunsubscribe", "moving", "0"]));
    assert_eq!(two.command("SSUBSCRIBE moving"), message(&["ssubscribe", "moving", "1"]));
    assert_eq!(lab.client().command("SPUBLISH moving x"), ":1\r\n");
    assert_eq!(two.reply(), message(&["smessage", "moving", "x"]));
    // Other errors are those of the engine.
    let error = two.command("SSUBSCRIBE a b");
    assert!(error.starts_with("-CROSSSLOT"), "{error}");
}

#[test]
fn sharded_channels_of_all_shards_are_reported() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut one, mut two) = (lab.client(), lab.client());
    for channel in ["a", "b", "c"] {
        assert!(one.command(&format!("SSUBSCRIBE {channel}")).contains("ssubscribe"));
    }
    assert_eq!(
        two.command("PUBSUB SHARDNUMSUB a b none c"),
        message(&["a", "1", "b", "1", "none", "0", "c", "1"])
    );
    assert_eq!(two.command("PUBSUB SHARDNUMSUB"), "*0\r\n");
    let channels = two.command("PUBSUB SHARDCHANNELS");
    assert!(
        channels.starts_with("*3\r\n") && ["a", "b", "c"].iter().all(|name| channels.contains(name)),
        "{channels}"
    );
    assert_eq!(two.command("PUBSUB SHARDCHANNELS b*"), message(&["b"]));
    two.command("MULTI");
    assert_eq!(two.command("PUBSUB SHARDNUMSUB a"), "-ERR Command not allowed inside a transaction\r\n");
}

#[test]
fn a_ping_of_a_subscriber_may_contain_any_text() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    assert_eq!(client.command("SUBSCRIBE a"), message(&["subscribe", "a", "1"]));
    for text in ["shardboard-proxy: end of replies", "", "0123456789abcdef"] {
        client.send_args(&[b"PING", text.as_bytes()]);
        assert_eq!(client.reply(), format!("*2\r\n$4\r\npong\r\n${}\r\n{text}\r\n", text.len()));
    }
    assert!(client.command("PING a b").starts_with("-ERR wrong number of arguments"));
    assert_eq!(client.command("UNSUBSCRIBE"), message(&["unsubscribe", "a", "0"]));
    assert_eq!(client.command("PING"), "+PONG\r\n");
}
