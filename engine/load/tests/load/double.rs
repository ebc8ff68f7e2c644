//! A server that answers every request with OK, one of them with a delay.

use crate::lab::Lab;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

/// Serves one connection after the other. The request with the number `stalled` is answered after
/// `stall`.
fn serve(listener: TcpListener, stalled: u32, stall: Duration) {
    let mut count = 0;
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut input: Vec<u8> = Vec::new();
        let mut bytes = [0; 65536];
        while let Ok(size @ 1..) = stream.read(&mut bytes) {
            input.extend_from_slice(&bytes[..size]);
            // A request is an array of bulk strings, so the scanner for replies can parse it.
            while let Ok(Some(length)) = resp::ReplyScanner::default().scan(&input) {
                input.drain(..length);
                count += 1;
                if count == stalled {
                    std::thread::sleep(stall);
                }
                if stream.write_all(b"+OK\r\n").is_err() {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_schedule_measures_a_stall_in_full() {
    let lab = Lab::new();
    let listener = TcpListener::bind((lab.ip.as_str(), 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || serve(listener, 300, Duration::from_millis(500)));
    let file = lab.path("out.json");
    let options =
        format!("-t 1 -c 1 --rate=1000 --test-time=2 --print-percentiles=50,88 --json-out-file={file}");
    let (end, ..) = lab.load(port, &options).end();
    // A generator that waits for replies would see the stall in one request of 2,000. With the
    // schedule, 500 requests were due during the stall, and each waited for the remainder of it.
    assert!(end["max_us"].as_u64().unwrap() >= 499_000, "{end}");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let slow = json["ALL STATS"]["Totals"]["Percentile Latencies"]["p88.00"].as_f64().unwrap();
    assert!(slow >= 200.0, "{slow}");
}
