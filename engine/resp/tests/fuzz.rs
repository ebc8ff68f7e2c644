//! A fuzzer for stable Rust that mutates the files of `corpus/`. Without `FUZZ_SECONDS` it is a
//! normal test with the same input in every run. With it, the test generates other input for that
//! many seconds. Add input that made it fail to the corpus.

use resp::{Limits, ReplyScanner, RequestParser};
use std::time::{Duration, Instant};

/// Takes about one second on a small machine.
const ROUNDS: u64 = 2_000_000;

/// xorshift generator. The test prints its seed.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    for _ in 0..1 + random.next(6) {
        let at = random.next(bytes.len() + 1);
        match random.next(6) {
            0 if at < bytes.len() => bytes[at] = random.next(256) as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << random.next(8),
            2 => bytes.insert(at, b"*$%|>~+-:_\r\n0129"[random.next(16)]),
            3 if at < bytes.len() => {
                bytes.remove(at);
            }
            4 => bytes.truncate(at),
            _ => {
                let other = &others[random.next(others.len())];
                let from = random.next(other.len() + 1);
                bytes.splice(at..at, other[from..].iter().copied().take(64));
            }
        }
    }
}

/// Passes the bytes to every function that parses external input. A panic is a bug.
fn survive(bytes: &[u8]) {
    let limits = Limits { bulk: 1 << 20, args: 1 << 16, request: 1 << 21 };
    let (mut parser, mut rest) = (RequestParser::default(), bytes);
    while let Ok(Some(len)) = parser.parse(rest, &limits) {
        parser.args(&rest[..len]).iter().for_each(|arg| assert!(arg.len() <= rest.len().max(1)));
        rest = &rest[len..];
    }
    let (mut scanner, mut rest) = (ReplyScanner::default(), bytes);
    while let Ok(Some(len)) = scanner.scan(rest) {
        let _ = (resp::items(&rest[..len]), resp::text(&rest[..len]), resp::integer(&rest[..len]));
        rest = &rest[len..];
    }
    resp::slot::of_key(bytes);
}

#[test]
fn mutated_bytes_do_not_panic() {
    let seconds: Option<u64> = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let corpus = corpus();
    corpus.iter().for_each(|bytes| survive(bytes));
    let seed = if until.is_some() { std::process::id().into() } else { 1 };
    println!("seed {seed}");
    let mut random = Random(seed);
    for round in 0.. {
        if until.map_or(round == ROUNDS, |until| Instant::now() >= until) {
            break;
        }
        let mut bytes = corpus[random.next(corpus.len())].clone();
        mutate(&mut bytes, &corpus, &mut random);
        survive(&bytes);
    }
}
