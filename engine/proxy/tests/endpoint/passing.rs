//! Long values are forwarded in pieces: complete, in order, and without delaying other clients.

use crate::lab::{Lab, SHARDS};
use resp::{Limits, RequestParser};
use std::io::{Read, Write};
use std::net::TcpListener;

/// Returns a value whose bytes depend on their position.
fn value(len: usize) -> Vec<u8> {
    (0..len).map(|at| b'a' + ((at / 7 + at / 1000) % 26) as u8).collect()
}

fn framed(value: &[u8]) -> String {
    format!("${}\r\n{}\r\n", value.len(), String::from_utf8_lossy(value))
}

#[test]
fn long_values_arrive_complete_and_in_order() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let (mut writer, mut reader) = (lab.client(), lab.client());
    let lengths = [10, 32 * 1024 - 1, 32 * 1024, 300_000, 3 << 20];
    for len in lengths {
        writer.send_args(&[b"SET", format!("k{len}").as_bytes(), &value(len)]);
        assert_eq!(writer.reply(), "+OK\r\n");
    }
    let mut expected = Vec::new();
    for round in 0..20 {
        for place in 0..lengths.len() {
            let len = lengths[(place * 3 + round) % lengths.len()];
            reader.send(&format!("GET k{len}"));
            expected.push(framed(&value(len)));
            reader.send("PING");
            expected.push("+PONG\r\n".into());
        }
    }
    reader.send("MGET k10 k300000");
    for (n, expected) in expected.iter().enumerate() {
        assert!(reader.reply() == *expected, "reply {n} differs");
    }
    assert_eq!(
        reader.reply().len(),
        "*2\r\n".len() + framed(&value(10)).len() + framed(&value(300_000)).len()
    );
}

/// Replies that wait for a long reply cannot be written before it, and must not block it.
#[test]
fn replies_that_wait_for_a_long_one_do_not_block_it() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let mut reader = lab.client();
    // On three shards.
    let keys = ["a", "b", "c"];
    assert_eq!(keys.map(|key| resp::slot::of_key(key.as_bytes()) / 5462), [2, 0, 1]);
    assert_eq!(reader.command("SETRANGE a 67108863 x"), ":67108864\r\n");
    for key in ["b", "c"] {
        reader.send_args(&[b"SET", key.as_bytes(), &value(500_000)]);
        assert_eq!(reader.reply(), "+OK\r\n");
    }
    for key in keys {
        reader.send(&format!("GET {key}"));
    }
    proxy.metrics(|database| database["bytes_out"].as_u64() > Some(100_000));
    assert_eq!(reader.reply().len(), "$67108864\r\n\r\n".len() + (64 << 20));
    for _ in ["b", "c"] {
        assert!(reader.reply() == framed(&value(500_000)));
    }
}

#[test]
fn a_client_that_does_not_read_delays_no_other() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let (mut slow, mut other) = (lab.client(), lab.client());
    assert_eq!(other.command("SETRANGE {a}long 67108863 x"), ":67108864\r\n");
    assert_eq!(other.command("SET {a}short 1"), "+OK\r\n");
    slow.send("GET {a}long");
    proxy.metrics(|database| database["bytes_out"].as_u64() > Some(100_000));
    for _ in 0..3 {
        assert_eq!(other.command("GET {a}short"), "$1\r\n1\r\n");
    }
    assert_eq!(slow.reply().len(), "$67108864\r\n\r\n".len() + (64 << 20));
    assert_eq!(slow.command("GET {a}short"), "$1\r\n1\r\n");
}

#[test]
fn unread_data_stays_with_the_shard() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let mut slow = lab.client();
    assert_eq!(slow.command("SETRANGE long 314572799 x"), ":314572800\r\n");
    slow.send("GET long");
    proxy.metrics(|database| database["bytes_out"].as_u64() > Some(100_000));
    assert_eq!(slow.reply().len(), "$314572800\r\n\r\n".len() + (300 << 20));
    let peak = std::fs::read_to_string(format!("/proc/{}/status", proxy.process.id())).unwrap();
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().to_string();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 64 << 10, "{kilobytes} kB");
}

#[test]
fn a_client_that_disconnects_during_a_long_reply_leaves_nothing_behind() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let (mut gone, mut other) = (lab.client(), lab.client());
    assert_eq!(other.command("SETRANGE {a}long 20971519 x"), ":20971520\r\n");
    assert_eq!(other.command("SET {a}short 1"), "+OK\r\n");
    gone.send("GET {a}long");
    proxy.metrics(|database| database["bytes_out"].as_u64() > Some(100_000));
    drop(gone);
    proxy.metrics(|database| database["connections"] == 1);
    for _ in 0..3 {
        assert_eq!(other.command("GET {a}short"), "$1\r\n1\r\n");
    }
    assert_eq!(other.command("GET {a}long").len(), "$20971520\r\n\r\n".len() + (20 << 20));
}

#[test]
fn messages_are_not_inserted_into_a_long_reply() {
    let mut lab = Lab::new();
    let mut proxy = lab.hidden();
    let (mut reader, mut other) = (lab.client(), lab.client());
    assert_eq!(other.command("SETRANGE long 67108863 x"), ":67108864\r\n");
    assert!(reader.command("HELLO 3").starts_with('%'));
    assert!(reader.command("SUBSCRIBE news").starts_with('>'));
    reader.send("GET long");
    proxy.metrics(|database| database["bytes_out"].as_u64() > Some(100_000));
    reader.send("PING");
    assert_eq!(other.command("PUBLISH news now"), ":1\r\n");
    assert_eq!(reader.reply().len(), "$67108864\r\n\r\n".len() + (64 << 20));
    let mut then = [reader.reply(), reader.reply()];
    then.sort();
    assert_eq!(then, ["+PONG\r\n", ">3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$3\r\nnow\r\n"]);
}

#[test]
fn the_client_is_disconnected_if_the_shard_fails_during_a_long_reply() {
    let lab = Lab::new();
    let port = SHARDS[0];
    let listener = TcpListener::bind(lab.address(port)).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || half(stream.unwrap()));
        }
    });
    let shard = lab.shard(port, "primary", serde_json::json!([[0, 16383]]));
    let _proxy = lab.proxy(&lab.patient(&[shard]));
    let (mut reader, mut other) = (lab.client(), lab.client());
    reader.send("GET long");
    assert_eq!(reader.try_reply(), None, "half a value followed by an error could be taken for the value");
    assert_eq!(other.command("GET short"), "$1\r\n1\r\n");
}

/// Sends half of a long value and closes the connection.
fn half(mut stream: std::net::TcpStream) {
    let (mut input, mut parser, mut bytes) = (Vec::new(), RequestParser::default(), [0; 65536]);
    while let Ok(n @ 1..) = stream.read(&mut bytes) {
        input.extend_from_slice(&bytes[..n]);
        while let Ok(Some(len)) = parser.parse(&input, &Limits::default()) {
            let args = parser.args(&input[..len]);
            let word = |n| args.get(n).unwrap_or_default().to_ascii_lowercase();
            let (name, key) = (word(0), word(1));
            input.drain(..len);
            let reply = match (name.as_slice(), key.as_slice()) {
                (b"hello", _) => b"*0\r\n".to_vec(),
                (b"get", b"long") => [b"$1000000\r\n", &value(500_000)[..]].concat(),
                (b"get", _) => b"$1\r\n1\r\n".to_vec(),
                _ => b"+OK\r\n".to_vec(),
            };
            if stream.write_all(&reply).is_err() || key == b"long" {
                return;
            }
        }
    }
}
