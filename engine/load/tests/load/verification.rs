//! Verification of values, and the statistics of each client.

use crate::lab::Lab;
use serde_json::{Value, json};

const PORT: u16 = 21105;
const KEYS: &str = "-t 2 -c 2 --key-minimum=1 --key-maximum=500 -n allkeys --key-pattern=P:P --ratio=1:0";

#[test]
fn every_wrong_value_is_an_error_and_missing_keys_are_misses() {
    let mut lab = Lab::new();
    lab.server(PORT, &[]);
    for (sizes, size) in [("-d 100", 100), ("--data-size-range=40-100 --data-size-pattern=S", 69)] {
        let (end, ..) = lab.load(PORT, &format!("{KEYS} {sizes} --data-verify")).end();
        assert_eq!((&end["ops"], &end["errors"]), (&json!(500), &json!({})));
        assert_eq!(lab.ask(PORT, "STRLEN memtier-250"), format!(":{size}\r\n"));
        let (end, said, _) = lab.load(PORT, &format!("{KEYS} {sizes} --verify-only")).end();
        assert_eq!((&end["hits"], &end["misses"], &end["errors"]), (&json!(500), &json!(0), &json!({})));
        assert!(said.contains("Values verified: 500, wrong: 0, not found: 0"), "{said}");

        lab.ask(PORT, "SETRANGE memtier-7 30 x");
        lab.ask(PORT, "APPEND memtier-8 x");
        lab.ask(PORT, "SET memtier-9 other");
        lab.ask(PORT, "DEL memtier-10");
        let file = lab.path("out.json");
        let verify = format!("{KEYS} {sizes} --verify-only --json-out-file={file}");
        let (end, said, status) = lab.load(PORT, &verify).end();
        assert_eq!((&end["ops"], &end["hits"], &end["misses"]), (&json!(497), &json!(496), &json!(1)));
        assert_eq!(end["errors"], json!({"mismatch": 3}));
        assert_eq!(end["mismatched_keys"], json!(["memtier-7", "memtier-8", "memtier-9"]));
        assert_eq!(end["outages"], json!([]), "the server has replied");
        assert!(status.success() && said.contains("wrong: 3, not found: 1"), "{said}");
        let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(json["configuration"]["data_verify"], "true");
        assert_eq!(json["ALL STATS"]["Errors"], json!({"mismatch": 3}));
        assert_eq!(json["ALL STATS"]["Mismatched keys"], end["mismatched_keys"]);
    }
}

#[test]
fn reads_and_writes_of_the_same_keys_agree() {
    let mut lab = Lab::new();
    lab.server(PORT, &[]);
    let sizes = "--data-size-list=1:1,7:1,8:1,3000:1";
    for protocol in ["redis", "resp3"] {
        let options = "-t 2 -c 3 --pipeline=5 -n 2000 --key-maximum=50 --ratio=1:2 --distinct-client-seed";
        let (end, ..) = lab.load(PORT, &format!("{options} {sizes} -P {protocol} --data-verify")).end();
        assert_eq!((&end["ops"], &end["errors"]), (&json!(12_000), &json!({})));
        assert!(end["hits"].as_u64() > Some(7_000), "{end}");
    }
}

#[test]
fn the_report_contains_each_client() {
    let mut lab = Lab::new();
    lab.server(PORT, &[]);
    let file = lab.path("out.json");
    let (_, said, _) = lab.load(PORT, &format!("-t 2 -c 3 -n 100 --json-out-file={file}")).end();
    assert!(said.contains("Clients: 6, with 100 to 100 requests each"), "{said}");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let totals = &json["ALL STATS"]["Totals"];
    let clients = &json["ALL STATS"]["Clients"];
    let listed = clients["Listed"].as_array().unwrap();
    let number = |client: &Value, name: &str| client[name].as_f64().unwrap();
    assert_eq!((listed.len(), &clients["Omitted"]), (6, &json!(0)));
    for (index, client) in listed.iter().enumerate() {
        assert_eq!((&client["Client"], &client["Count"]), (&json!(index), &json!(100)));
        let counted = client["Histogram (us)"].as_object().unwrap().values();
        assert_eq!(counted.map(|count| count.as_u64().unwrap()).sum::<u64>(), 100);
        assert!(number(client, "Average Latency") <= number(client, "Max Average Latency"), "{client}");
        assert!(number(client, "Max Average Latency") <= number(client, "Max Latency") + 0.001, "{client}");
        assert!(number(client, "p50.00") <= number(client, "p99.00"), "{client}");
    }
    let slowest = listed.iter().map(|client| number(client, "Max Latency")).fold(0.0, f64::max);
    assert!((slowest - number(totals, "Max Latency")).abs() <= slowest * 0.001, "{slowest} {totals}");
}
