//! Commands of engines that are newer than the table.

use crate::lab::{Lab, SHARDS, wait};
use serde_json::json;

#[test]
fn a_command_of_a_newer_engine_is_sent_to_the_shard_of_its_key() {
    let lab = Lab::new();
    for port in SHARDS {
        crate::fake::shard(&lab, port, move |args| match args.get(0).unwrap() {
            b"HELLO" => "*4\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nversion\r\n$6\r\n99.0.0\r\n".into(),
            b"COMMAND" => {
                let row = |name: &str, flag: &str, first: u8| {
                    let length = name.len();
                    format!("*6\r\n${length}\r\n{name}\r\n:2\r\n*1\r\n+{flag}\r\n:{first}\r\n:1\r\n:1\r\n")
                };
                let (new, any) = (row("newget", "readonly", 1), row("anyget", "movablekeys", 0));
                format!("*3\r\n{new}{any}{}", row("newadmin", "admin", 0))
            }
            b"ECHO" => {
                let text = String::from_utf8_lossy(args.get(1).unwrap());
                format!("${}\r\n{text}\r\n", text.len())
            }
            // The key is on the last shard.
            b"ANYGET" if port != SHARDS[2] => format!("-MOVED 15495 127.0.0.1:{}\r\n", SHARDS[2]),
            _ => format!(":{port}\r\n"),
        });
    }
    let slots = |n: usize| json!([[n * 16384 / 3, (n + 1) * 16384 / 3 - 1]]);
    let shards: Vec<_> = (0..3).map(|n| lab.shard(SHARDS[n], "primary", slots(n))).collect();
    let _proxy = lab.proxy(&lab.database(&shards));
    let mut client = lab.client();
    // "a" is on the last shard, "b" on the first.
    wait("the command to be learned", || client.command("NewGet a") == format!(":{}\r\n", SHARDS[2]));
    assert_eq!(client.command("NEWGET b"), format!(":{}\r\n", SHARDS[0]));
    assert_eq!(client.command("ANYGET a"), format!(":{}\r\n", SHARDS[2]));
    assert_eq!(client.command("GET b"), format!(":{}\r\n", SHARDS[0]));
    assert_eq!(client.command("NEWADMIN b"), "-ERR newadmin is not available through the endpoint\r\n");
}
