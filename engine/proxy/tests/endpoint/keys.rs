//! Positions of keys: the keys of a request determine its shard, and must belong to one slot.

use crate::lab::Lab;

const CROSSSLOT: &str = "-CROSSSLOT Keys in request don't hash to the same slot\r\n";

/// Commands with keys of different slots. The engine does not check all of them.
const SEVERAL_SLOTS: [&str; 48] = [
    "MSETNX a 1 b 2",
    "MSETEX 2 a 1 b 2",
    "MSETEX 3 a 1 {a}b 2 b 3 NX EX 10",
    "SINTER a b",
    "SINTERCARD 2 a b LIMIT 1",
    "BRPOPLPUSH a b 0.01",
    "RPOPLPUSH a b",
    "ZINTERSTORE a 2 {a}a b",
    "ZUNIONSTORE b 1 a WEIGHTS 1",
    "ZDIFFSTORE b 1 a",
    "ZUNION 2 a b",
    "ZINTER 2 a b",
    "ZDIFF 2 a b",
    "ZINTERCARD 2 a b",
    "BZPOPMAX a b 0.01",
    "BLPOP a b 0.01",
    "LMOVE a b LEFT LEFT",
    "BLMOVE a b LEFT LEFT 0.01",
    "EVAL return(1) 2 a b",
    "WATCH a b",
    "FCALL f 2 a b",
    "PFMERGE a b",
    "PFCOUNT a b",
    "SORT a STORE b",
    "SORT a LIMIT 0 1 STORE b",
    "SORT a GET store STORE b",
    "SDIFF a b",
    "SDIFFSTORE a b",
    "SUNION a b",
    "SUNIONSTORE a b",
    "SINTERSTORE a b",
    "BITOP and a b",
    "ZMPOP 2 a b MIN",
    "LMPOP 2 a b LEFT",
    "BLMPOP 0.01 2 a b LEFT",
    "BZMPOP 0.01 2 a b MIN",
    "GEOSEARCHSTORE a b FROMLONLAT 1 1 BYRADIUS 1 m",
    "GEORADIUS a 1 1 1 m STORE b",
    "GEORADIUS a 1 1 1 m STORE {a}1 STOREDIST b",
    "GEORADIUSBYMEMBER a m 1 m STORE b",
    "LCS a b",
    "XREAD COUNT 1 STREAMS a b 0 0",
    "XREAD BLOCK 1 STREAMS a b 0 0",
    "XREADGROUP GROUP streams streams STREAMS a b > >",
    "RENAME a b",
    "COPY a b",
    "SMOVE a b x",
    "ZRANGESTORE a b 0 1",
];

#[test]
fn keys_of_several_slots_are_refused_before_anything_is_executed() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    for line in SEVERAL_SLOTS {
        assert_eq!(client.command(line), CROSSSLOT, "{line}");
        client.command("MULTI");
        let expected = if line.starts_with("WATCH") { "-ERR Command not allowed" } else { CROSSSLOT };
        assert!(client.command(line).starts_with(expected), "{line}");
        assert!(client.command("EXEC").starts_with("-EXECABORT"), "{line}");
        assert_eq!(client.command("DBSIZE"), ":0\r\n", "{line}");
    }
    assert_eq!(client.command("MSETEX 2 {t}a 1 {t}b 2 EX 100"), ":1\r\n");
    assert_eq!(client.command("MGET {t}a {t}b"), "*2\r\n$1\r\n1\r\n$1\r\n2\r\n");
    // A refused WATCH leaves no state.
    assert_eq!(client.command("WATCH {t}a"), "+OK\r\n");
    assert_eq!(client.command("UNWATCH"), "+OK\r\n");
    // Other errors are those of the engine.
    assert!(client.command("RENAME a b c").starts_with("-ERR wrong number of arguments for 'rename'"));
    assert!(client.command("MSETEX 2 a").starts_with("-ERR wrong number of arguments for 'msetex'"));
    assert!(client.command("MSETEX x a 1").starts_with("-ERR"));
}

#[test]
fn keys_are_found_by_position_and_not_by_value() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    // The names are on different shards.
    for key in ["a", "b", "c", "streams", "block", "store"] {
        assert_eq!(client.command(&format!("XADD {key} 1-0 f v")), "$3\r\n1-0\r\n");
        for group in ["streams", "block", "count"] {
            assert_eq!(client.command(&format!("XGROUP CREATE {key} {group} 0")), "+OK\r\n");
            for consumer in ["w", "streams", "block"] {
                let request = format!("XREADGROUP GROUP {group} {consumer} COUNT 1 STREAMS {key} 0");
                assert!(client.command(&request).contains(&format!("\r\n{key}\r\n")), "{request}");
            }
            let request = format!("XREADGROUP GROUP {group} streams BLOCK 1 STREAMS {key} >");
            assert!(client.command(&request).contains("\r\n1-0\r\n"), "{request}");
        }
        assert!(client.command(&format!("XREAD STREAMS {key} 0")).contains("\r\n1-0\r\n"), "{key}");
        assert!(client.command(&format!("XREAD BLOCK 5 STREAMS {key} 0")).contains("\r\n1-0\r\n"), "{key}");
        assert_eq!(client.command(&format!("RPUSH {{{key}}}list 2 1")), ":2\r\n");
        let request = format!("SORT {{{key}}}list BY nosort GET # STORE {{{key}}}store");
        assert_eq!(client.command(&request), ":2\r\n", "{request}");
    }
    assert!(client.command("XREAD STREAMS a").starts_with("-ERR"));
    assert!(client.command("XREAD a STREAMS").starts_with("-ERR"));
}

#[test]
fn invalid_numbers_of_keys_are_refused_by_the_shard_of_the_first_key() {
    let mut lab = Lab::new();
    let _proxy = lab.hidden();
    let mut client = lab.client();
    for number in ["1x", "1.5", "01", "+1", "4294967297"] {
        // The keys are on different shards.
        for key in ["a", "b", "c"] {
            for line in [
                format!("LMPOP {number} {key} LEFT"),
                format!("ZMPOP {number} {key} MIN"),
                format!("SINTERCARD {number} {key}"),
                format!("EVAL return(1) {number} {key}"),
                format!("FCALL f {number} {key}"),
                format!("ZUNIONSTORE {key} {number} {key}"),
            ] {
                let reply = client.command(&line);
                assert!(reply.starts_with("-ERR"), "{line}: {reply}");
            }
        }
    }
}
