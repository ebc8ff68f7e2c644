//! Files of other engines: values that Valkey does not load are converted or counted.

use crate::file::{Item, RdbFile, listpack};
use crate::lab::Lab;
use serde_json::json;

const TARGET: u16 = 7001;
const LATER: i64 = 4_000_000_000_000;

#[test]
fn values_of_newer_redis_versions_are_converted() {
    let mut lab = Lab::new();
    lab.shard(TARGET, &[]);
    // Type 24: an expiry time before each field, relative to the first one, or 0.
    let table = RdbFile::new("")
        .raw(&[24])
        .string("table")
        .raw(&LATER.to_le_bytes())
        .raw(&[2, 0])
        .string("f1")
        .string("v1")
        .raw(&[6])
        .string("f2")
        .string("v2");
    let items = [("f1", 0), ("f2", LATER + 9)]
        .into_iter()
        .flat_map(|(field, at)| [Item::Text(field), Item::Text("v"), Item::Number(at)]);
    let packed = RdbFile::new("")
        .raw(&[25])
        .string("packed")
        .raw(&LATER.to_le_bytes())
        .string(listpack(&items.collect::<Vec<_>>()));
    let file = RdbFile::new("REDIS0013")
        // Usage and slot in files of Redis Enterprise.
        .raw(&[107, 5, 121, 7])
        .raw(&table.bytes())
        .raw(&packed.bytes())
        .raw(&stream().bytes())
        .raw(&[7])
        .string("module")
        .raw(&[0x81, 1, 2, 3, 4, 5, 6, 7, 8, 2, 5, 5, 1, b'x', 4, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        .end();
    let inspected = lab.inspect(&file).end();
    assert_eq!(inspected["types"], json!({"hash": 2, "stream": 1, "module": 1}));
    assert_eq!(inspected["field_expiry"], 2);
    assert_eq!(inspected["modules"], json!({"AQIDBAUGB": 1}));
    assert_eq!((&inspected["family"], &inspected["databases"]), (&json!("redis"), &json!({"0": 4})));
    let restored = lab.restore(&[TARGET], &file, "").end();
    assert_eq!(restored["restored"], 3, "{restored}");
    assert_eq!(restored["unsupported"], json!({"value of a module": 1}));
    assert_eq!(lab.ask(TARGET, "HPEXPIRETIME table FIELDS 2 f1 f2"), "*2\r\n:-1\r\n:4000000000005\r\n");
    assert_eq!(lab.ask(TARGET, "HPEXPIRETIME packed FIELDS 2 f1 f2"), "*2\r\n:-1\r\n:4000000000009\r\n");
    assert_eq!(lab.ask(TARGET, "HMGET table f1 f2"), "*2\r\n$2\r\nv1\r\n$2\r\nv2\r\n");
    let entries = "*1\r\n*2\r\n$3\r\n5-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n";
    assert_eq!(lab.ask(TARGET, "XRANGE stream - +"), entries);
    let slots = inspected["slots"].as_array().unwrap();
    let module = resp::slot::of_key(b"module");
    let expected: Vec<_> = slots.iter().filter(|slot| slot["slot"] != module).cloned().collect();
    assert_eq!(restored["slots"], json!(expected));
    assert_eq!(lab.snapshot(TARGET, "0-16383", "none").end()["slots"], json!(expected));
}

/// Type 26: a stream with one entry and the IDs of a producer.
fn stream() -> RdbFile {
    let number = Item::Number;
    let node = listpack(&[
        number(1),
        number(0),
        number(1),
        Item::Text("f"),
        number(0),
        number(2),
        number(0),
        number(0),
        Item::Text("v"),
        number(4),
    ]);
    let id = [5u64.to_be_bytes(), 1u64.to_be_bytes()].concat();
    RdbFile::new("")
        .raw(&[26])
        .string("stream")
        .raw(&[1])
        .string(id)
        .string(node)
        // Entries, last ID, first ID, highest deleted ID, entries added, groups.
        .raw(&[1, 5, 1, 5, 1, 0, 0, 1, 0])
        .raw(&[60, 50, 1])
        .string("producer")
        .raw(&[1])
        .string("message")
        .raw(&[5, 1, 1, 0])
}

#[test]
fn other_files_are_rejected() {
    let lab = Lab::new();
    let valid = RdbFile::new("REDIS0011").raw(&[0]).string("a").string("1").end();
    let followed = [&valid[..], b"x"].concat();
    let cases = [
        (b"PK\x03\x04 archive".to_vec(), "not an RDB file"),
        (b"REDIS00x1".to_vec(), "version"),
        (b"".to_vec(), "ends early"),
        (valid[..valid.len() - 1].to_vec(), "ends early"),
        (followed, "followed by other data"),
        (RdbFile::new("REDIS0012").raw(&[22]).string("a").end(), "unknown type (22)"),
        (RdbFile::new("VALKEY080").raw(&[24]).string("a").end(), "unknown type (24)"),
        (RdbFile::new("REDIS0010").raw(&[246]).string("a").end(), "release candidates"),
    ];
    for (file, expected) in cases {
        let (_, message) = lab.inspect(&file).error();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn values_of_the_flash_module_become_plain_ones() {
    let mut lab = Lab::new();
    lab.shard(TARGET, &[]);
    let part = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes(), bytes].concat();
    let pair = |name: &str, other: &[u8]| [part(name.as_bytes()), part(other)].concat();
    let long = vec![b'x'; 70];
    let values = [
        ("text", 1, long.clone()),
        ("list", 2, [part(b"a"), part(&long)].concat()),
        ("hash", 3, pair("field", b"value")),
        ("zset", 4, [pair("m", &1.5f64.to_le_bytes()), pair("n", &f64::INFINITY.to_le_bytes())].concat()),
        ("damaged", 4, part(b"a")),
        ("unknown", 9, long.clone()),
    ];
    let mut file = RdbFile::new("VALKEY080");
    for (key, kind, value) in values {
        // The id of `shardtier`, version 1, then a number and a string.
        let id = 0xb216_ab76_d89e_ac01_u64.to_be_bytes();
        file = file.raw(&[7]).string(key).raw(&[0x81]).raw(&id).raw(&[2, kind, 5]).string(value).raw(&[0]);
    }
    let file = file.end();
    let inspected = lab.inspect(&file).end();
    let restored = lab.restore(&[TARGET], &file, "").end();
    assert_eq!(restored["unsupported"], json!({"value of a module": 2}), "{restored}");
    assert_eq!((&restored["restored"], &inspected["keys"]), (&json!(4), &json!(6)));
    assert_eq!(inspected["modules"], json!({}), "shards load them");
    let text = String::from_utf8(long).unwrap();
    assert_eq!(lab.ask(TARGET, "GET text"), format!("$70\r\n{text}\r\n"));
    assert_eq!(lab.ask(TARGET, "LRANGE list 0 -1"), format!("*2\r\n$1\r\na\r\n$70\r\n{text}\r\n"));
    assert_eq!(lab.ask(TARGET, "HGETALL hash"), "*2\r\n$5\r\nfield\r\n$5\r\nvalue\r\n");
    let members = "*4\r\n$1\r\nm\r\n$3\r\n1.5\r\n$1\r\nn\r\n$3\r\ninf\r\n";
    assert_eq!(lab.ask(TARGET, "ZRANGE zset 0 -1 WITHSCORES"), members);
    let slots = restored["slots"].as_array().unwrap();
    assert!(slots.iter().all(|slot| inspected["slots"].as_array().unwrap().contains(slot)), "{slots:?}");
}

#[test]
fn an_inspection_reports_what_is_not_restored() {
    let mut lab = Lab::new();
    lab.shard(TARGET, &[]);
    let file = RdbFile::new("VALKEY080")
        .raw(&[250])
        .string("valkey-ver")
        .string("9.1.2")
        // The shard was importing slot 15495, which contains "a".
        .raw(&[243])
        .string([b'j'; 40])
        .raw(&[1])
        .length(15495)
        .length(15495)
        .raw(&[254, 0, 0])
        .string("a")
        .string("1")
        .raw(&[252])
        .raw(&1_000_i64.to_le_bytes())
        .raw(&[0])
        .string("b")
        .string("2")
        .raw(&[254, 3, 0])
        .string("c")
        .string("3")
        .end();
    let inspected = lab.inspect(&file).end();
    assert_eq!((&inspected["engine_version"], &inspected["family"]), (&json!("9.1.2"), &json!("valkey")));
    assert_eq!(
        (&inspected["keys"], &inspected["importing"], &inspected["expired"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert_eq!(inspected["databases"], json!({"0": 1, "3": 1}));
    let restored = lab.restore(&[TARGET], &file, "").end();
    assert_eq!(
        (&restored["restored"], &restored["skipped"], &restored["expired"]),
        (&json!(0), &json!(1), &json!(1))
    );
}
