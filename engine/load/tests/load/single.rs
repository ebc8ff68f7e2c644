//! A single server: written keys, counters and errors.

use crate::lab::Lab;
use serde_json::{Value, json};

const PORT: u16 = 21100;

#[test]
fn populating_writes_every_key_once_and_centralising_reads_them() {
    let mut lab = Lab::new();
    lab.server(PORT, &[]);
    let file = lab.path("out.json");
    let populate =
        "-t 2 -c 4 --key-minimum=1 --key-maximum=10001 -n allkeys -d 500 --key-pattern=P:P --ratio=1:0";
    let (end, said, status) = lab.load(PORT, &format!("{populate} --json-out-file={file}")).end();
    assert!(status.success(), "{said}");
    assert_eq!(end["ops"], 10_001);
    assert_eq!(lab.ask(PORT, "DBSIZE"), ":10001\r\n");
    assert_eq!(lab.ask(PORT, "STRLEN memtier-10001"), ":500\r\n");
    assert!(said.contains("ALL STATS") && said.contains("Misses/sec"), "{said}");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let sets = &json["ALL STATS"]["Sets"];
    assert_eq!(sets["Count"], 10_001);
    for key in ["Ops/sec", "Hits/sec", "Latency", "Accumulated Latency", "KB/sec RX/TX", "Time-Serie"] {
        assert!(!sets[key].is_null(), "{key}");
    }
    let log = &sets["Percentile Latencies"]["Histogram log format"]["Compressed Histogram"];
    assert!(log.as_str().unwrap().starts_with("HISTFAAA"), "{log}");

    let centralise =
        "-t 1 -c 5 --key-minimum=3000 --key-maximum=5000 -n allkeys --key-pattern=P:P --ratio=0:1";
    let (end, ..) = lab.load(PORT, centralise).end();
    assert_eq!((&end["hits"], &end["misses"]), (&json!(2_001), &json!(0)));

    let measure = "--pipeline=11 -c 20 -t 1 -d 500 --key-minimum=1 --key-maximum=10000 --key-pattern=G:G \
                   --key-stddev=700 --ratio=1:1 --distinct-client-seed --randomize --test-time=1 --run-count=1";
    let (end, ..) = lab.load(PORT, measure).end();
    assert_eq!((&end["measured"], &end["misses"], &end["errors"]), (&json!(true), &json!(0), &json!({})));
}

#[test]
fn custom_commands_are_sent_as_given() {
    let mut lab = Lab::new();
    lab.server(PORT, &[]);
    // The words of a command are separated by tabs, because the options are separated by spaces.
    let commands =
        "--command=hset\t__key__\tf:__key__\ta__data__z --command-ratio=2 --command=hget\t__key__\tf:__key__";
    let (end, said, _) =
        lab.load(PORT, &format!("-t 1 -c 1 -n 9 -d 3 --key-maximum=5 --key-prefix=k {commands}")).end();
    assert_eq!((&end["ops"], &end["errors"]), (&json!(9), &json!({})));
    assert!(said.contains("Hsets") && said.contains("Hgets"), "{said}");
    let keys = lab.ask(PORT, "KEYS k*");
    let key = keys.split("\r\n").find(|word| word.starts_with('k')).unwrap();
    assert_eq!(lab.ask(PORT, &format!("HGET {key} f:{key}")), "$5\r\naxxxz\r\n");
}

#[test]
fn a_signal_ends_the_load_and_the_report_is_written() {
    let mut lab = Lab::new();
    lab.server(PORT, &[]);
    let mut load = lab.load(PORT, "-t 1 -c 2 --test-time=3000 --key-maximum=100");
    assert_eq!(load.expect("begin")["workload"]["test_time"], 3000);
    let second = load.expect("second");
    assert_eq!(second["t"], 0);
    assert!(second["ops"].as_u64().unwrap() > 0 && second["p99_us"].as_u64().unwrap() > 0, "{second}");
    let counted: u64 = second["histogram"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(json!(counted), second["ops"]);
    load.terminate();
    let (end, said, status) = load.end();
    assert_eq!((&end["stopped"], &end["measured"]), (&json!(true), &json!(true)));
    let counted: u64 = end["histogram"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(
        json!(counted),
        end["ops"],
        "the last line has the histogram of all requests, including those of the incomplete second"
    );
    assert!(status.success() && said.contains("Totals"), "{said}");
}

#[test]
fn passwords_are_used_and_never_printed() {
    let mut lab = Lab::new();
    lab.server(PORT, &["--requirepass", "secret:word"]);
    let mut wrong = lab.load(PORT, "-t 1 -c 1 -n 1 -a default:guessed");
    let fault = wrong.expect("error");
    assert!(fault["message"].as_str().unwrap().contains("WRONGPASS"), "{fault}");
    let (said, status) = wrong.wait();
    assert_eq!(status.code(), Some(2));
    assert!(!said.contains("guessed"), "{said}");
    let mut without = lab.load(PORT, "-t 1 -c 1 -n 1");
    assert!(without.expect("error")["message"].as_str().unwrap().contains("NOAUTH"));

    let (file, out) = (lab.path("password"), lab.path("out.json"));
    std::fs::write(&file, "secret:word\n").unwrap();
    for protocol in ["redis", "resp2", "resp3"] {
        let options = format!("-t 1 -c 1 -n 5 -P {protocol} --json-out-file={out}");
        let (end, said, _) = lab.load(PORT, &format!("{options} --password-file={file}")).end();
        assert_eq!(end["ops"], 5);
        let (end, ..) = lab.load_with(PORT, &options, &[("SHARDBOARD_LOAD_PASSWORD", "secret:word")]).end();
        assert_eq!(end["ops"], 5);
        let json = std::fs::read_to_string(&out).unwrap();
        assert!(!said.contains("secret") && !json.contains("secret"));
    }
}

#[test]
fn out_of_memory_errors_are_counted_by_type_and_nothing_is_measured() {
    let mut lab = Lab::new();
    lab.server(PORT, &["--maxmemory", "1"]);
    let (end, said, status) = lab.load(PORT, "-t 1 -c 2 -n 10 --ratio=1:0").end();
    assert_eq!((&end["errors"], &end["measured"]), (&json!({"OOM": 20}), &json!(false)));
    assert_eq!(status.code(), Some(3));
    assert!(said.contains("nothing was measured"), "{said}");
}

#[test]
fn an_unreachable_target_is_reported_immediately() {
    let lab = Lab::new();
    let mut load = lab.load(PORT, "-n 1");
    assert!(load.expect("error")["message"].as_str().unwrap().contains("refused"));
    assert_eq!(load.wait().1.code(), Some(2));
}

#[test]
fn every_request_of_a_schedule_is_accounted_for() {
    let mut lab = Lab::new();
    lab.server(PORT, &[]);
    let (end, ..) = lab.load(PORT, "-t 2 -c 3 --test-time=2 --rate=500 --key-maximum=100").end();
    let errors: u64 = end["errors"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(end["ops"].as_u64().unwrap() + errors, 1_000, "{end}");
}

#[test]
fn an_endless_load_waits_for_its_target_and_survives_its_loss() {
    let mut lab = Lab::new();
    let mut load = lab.load(PORT, "--endless -t 1 -c 2 --key-maximum=100 --rate=500 --rate-wave=25:10");
    load.wait_for_output("retrying until");
    lab.server(PORT, &[]);
    while load.expect("second")["ops"] == 0 {}
    lab.kill(PORT);
    while load.expect("second")["connection_errors"] == 0 {}
    lab.server(PORT, &[]);
    while load.expect("second")["ops"] == 0 {}
    load.terminate();
    let (end, said, status) = load.end();
    assert_eq!((&end["stopped"], &end["measured"]), (&json!(true), &json!(true)), "{end}");
    assert!(status.success() && said.contains("Totals"), "{said}");
}
