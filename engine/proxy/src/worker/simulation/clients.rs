//! The clients of a simulation. Each writes keys that no other client writes, and therefore knows
//! the valid values of every reply.

use super::shards::{MOST, TAGS, tag};
use rand::Rng;
use rand::rngs::SmallRng;
use resp::{ReplyScanner, encode};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

/// Maximum number of pending requests of a client.
const UNDER_WAY: usize = 64;
/// Values of this length or more are forwarded in pieces.
const LONG: usize = 100_000;

/// Execution state of a request, as far as the reply shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    NotExecuted,
    /// It may have been executed before the reply arrived.
    Unknown,
    /// It may still be executed.
    Pending,
}

/// Possible values of a key. `None`: the key does not exist.
#[derive(Default)]
struct Known {
    values: BTreeSet<Option<u64>>,
    /// Values that it may assume at any time, each once.
    pending: BTreeSet<Option<u64>>,
}

/// Bounds of a counter.
#[derive(Default, Clone, Copy)]
struct Count {
    least: i64,
    most: i64,
    /// Number of increments that may still be executed.
    pending: i64,
}

#[derive(Debug, Clone)]
enum Expected {
    Exactly(&'static str),
    Text(Vec<u8>),
    Get(String),
    Mget(Vec<String>),
    Set(Vec<(String, u64)>),
    /// Write to a watched key.
    Touch(String, u64),
    Del(Vec<String>),
    Incr(String),
    /// A counter of all clients: no two clients may receive the same value.
    Ticket,
    Watch,
    Queued,
    Exec(Vec<Expected>),
}

pub struct Client {
    stream: UnixStream,
    pub number: u64,
    output: Vec<u8>,
    input: Vec<u8>,
    scanner: ReplyScanner,
    expected: VecDeque<Expected>,
    known: BTreeMap<String, Known>,
    counts: BTreeMap<String, Count>,
    watches: bool,
    /// Whether a write to the watched key has been acknowledged since WATCH.
    has_touched: bool,
    is_broken: bool,
    pub is_reading: bool,
    pub has_hung_up: bool,
    /// The last requests and replies, printed after a failure.
    history: VecDeque<String>,
}

/// Data shared by all clients.
#[derive(Default)]
pub struct Shared {
    buf: Vec<u8>,
    next_token: u64,
    tickets: BTreeSet<i64>,
    pub answered: u64,
    pub errors: BTreeMap<String, u64>,
    /// Hash of all replies. Equal for equal seeds.
    pub digest: u64,
    /// Whether no event can cause an error.
    pub is_calm: bool,
}

/// Returns the number at the start of a value.
pub fn token_of(value: &[u8]) -> Option<u64> {
    let digits = value.split(|&byte| byte == b':').next()?;
    u64::try_from(resp::decimal(digits)?).ok()
}

/// Returns the value for a number, which determines its length.
fn value_of(token: u64) -> Vec<u8> {
    let mut value = format!("{token}:").into_bytes();
    let len = if token % 97 == 0 { LONG + token as usize % 1000 } else { token as usize % 50 };
    value.resize(value.len() + len, b'x');
    value
}

impl Client {
    pub fn new(stream: UnixStream, number: u64) -> Self {
        stream.set_nonblocking(true).unwrap();
        Self {
            stream,
            number,
            output: Vec::new(),
            input: Vec::new(),
            scanner: ReplyScanner::default(),
            expected: VecDeque::new(),
            known: BTreeMap::new(),
            counts: BTreeMap::new(),
            watches: false,
            has_touched: false,
            is_broken: false,
            is_reading: true,
            has_hung_up: false,
            history: VecDeque::new(),
        }
    }

    /// Returns the end of all its keys.
    pub fn suffix(&self) -> String {
        format!("}}:c{}", self.number)
    }

    fn key(&self, kind: &str, number: usize) -> String {
        format!("{kind}{}:c{}", tag(number), self.number)
    }

    fn any_key(&self, rng: &mut SmallRng) -> String {
        self.key("s", rng.random_range(0..TAGS))
    }

    fn say(&mut self, words: &[&[u8]], expected: Expected) {
        let line = words.iter().map(|word| String::from_utf8_lossy(&word[..word.len().min(40)]));
        self.remember(format!("> {}", line.collect::<Vec<_>>().join(" ")));
        encode::command(&mut self.output, words.iter().copied());
        self.expected.push_back(expected);
    }

    fn remember(&mut self, line: String) {
        if self.history.len() == 200 {
            self.history.pop_front();
        }
        self.history.push_back(line);
    }

    pub fn is_done(&self) -> bool {
        self.expected.is_empty() && self.output.is_empty()
    }

    /// Sends a new request.
    pub fn send_random_request(&mut self, shared: &mut Shared, rng: &mut SmallRng) {
        if self.has_hung_up || self.expected.len() >= UNDER_WAY || self.output.len() > LONG {
            return;
        }
        match rng.random_range(0..100) {
            0..30 => self.get(rng),
            30..55 => self.set(shared, rng),
            55..65 => self.incr(rng),
            65..72 => self.mget(rng),
            72..77 => self.mset(shared, rng),
            77..82 => self.del(rng),
            82..88 => self.say(&[b"INCR", format!("ticket{}", tag(0)).as_bytes()], Expected::Ticket),
            88..92 => self.say(&[b"PING"], Expected::Exactly("+PONG\r\n")),
            92..95 => {
                let text = rng.random::<u32>().to_string();
                self.say(&[b"ECHO", text.as_bytes()], Expected::Text(text.clone().into_bytes()));
            }
            _ => self.transaction(shared, rng),
        }
    }

    fn get(&mut self, rng: &mut SmallRng) {
        let key = self.any_key(rng);
        self.say(&[b"GET", key.as_bytes()], Expected::Get(key.clone()));
    }

    fn set(&mut self, shared: &mut Shared, rng: &mut SmallRng) {
        let (key, token) = (self.any_key(rng), shared.token());
        self.say(&[b"SET", key.as_bytes(), &value_of(token)], Expected::Set(vec![(key.clone(), token)]));
    }

    fn incr(&mut self, rng: &mut SmallRng) {
        let key = self.key("n", rng.random_range(0..TAGS));
        self.say(&[b"INCR", key.as_bytes()], Expected::Incr(key.clone()));
    }

    /// Returns random keys without duplicates.
    fn some_keys(&self, rng: &mut SmallRng) -> Vec<String> {
        let keys: BTreeSet<_> = (0..rng.random_range(1..8)).map(|_| self.any_key(rng)).collect();
        keys.into_iter().collect()
    }

    fn mget(&mut self, rng: &mut SmallRng) {
        let keys = self.some_keys(rng);
        let mut words: Vec<&[u8]> = vec![b"MGET"];
        words.extend(keys.iter().map(String::as_bytes));
        self.say(&words, Expected::Mget(keys.clone()));
    }

    fn mset(&mut self, shared: &mut Shared, rng: &mut SmallRng) {
        let pairs: Vec<_> = self.some_keys(rng).into_iter().map(|key| (key, shared.token())).collect();
        let values: Vec<_> = pairs.iter().map(|(_, token)| value_of(*token)).collect();
        let mut words: Vec<&[u8]> = vec![b"MSET"];
        for ((key, _), value) in pairs.iter().zip(&values) {
            words.extend([key.as_bytes(), value]);
        }
        self.say(&words, Expected::Set(pairs.clone()));
    }

    fn del(&mut self, rng: &mut SmallRng) {
        let keys = self.some_keys(rng);
        let mut words: Vec<&[u8]> = vec![b"DEL"];
        words.extend(keys.iter().map(String::as_bytes));
        self.say(&words, Expected::Del(keys.clone()));
    }

    /// Sends a transaction with two keys of one slot, with or without WATCH and a write to the
    /// watched key.
    fn transaction(&mut self, shared: &mut Shared, rng: &mut SmallRng) {
        let number = rng.random_range(0..TAGS);
        let (key, counter) = (self.key("s", number), self.key("n", number));
        if rng.random_bool(0.5) {
            self.say(&[b"WATCH", key.as_bytes()], Expected::Watch);
            if rng.random_bool(0.3) {
                let token = shared.token();
                let touch = Expected::Touch(key.clone(), token);
                self.say(&[b"SET", key.as_bytes(), &value_of(token)], touch);
            }
        }
        self.say(&[b"MULTI"], Expected::Exactly("+OK\r\n"));
        let token = shared.token();
        self.say(&[b"SET", key.as_bytes(), &value_of(token)], Expected::Queued);
        self.say(&[b"INCR", counter.as_bytes()], Expected::Queued);
        self.say(&[b"GET", key.as_bytes()], Expected::Queued);
        let all =
            vec![Expected::Set(vec![(key.clone(), token)]), Expected::Incr(counter), Expected::Get(key)];
        self.say(&[b"EXEC"], Expected::Exec(all));
    }

    /// Reads all its keys after the last event.
    pub fn ask_for_all(&mut self) {
        for number in 0..TAGS {
            let key = self.key("s", number);
            self.say(&[b"GET", key.as_bytes()], Expected::Get(key.clone()));
        }
    }

    pub fn send(&mut self, rng: &mut SmallRng) {
        let most = if rng.random_bool(0.2) { rng.random_range(1..40) } else { usize::MAX };
        let most = most.min(self.output.len());
        if most > 0 {
            match self.stream.write(&self.output[..most]) {
                Ok(n) => drop(self.output.drain(..n)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.output.clear(), // the next read returns the reason
            }
        }
    }

    /// Closes the sending side. The client still waits for its replies.
    pub fn hang_up(&mut self) {
        if self.output.is_empty() {
            self.has_hung_up = true;
            let _ = self.stream.shutdown(Shutdown::Write);
        }
    }

    /// Reads and checks replies. Returns `false` if the connection has ended as expected.
    pub fn receive(&mut self, shared: &mut Shared, rng: &mut SmallRng) -> bool {
        let most = if rng.random_bool(0.1) { rng.random_range(1..64) } else { MOST };
        shared.buf.resize(MOST, 0);
        let ended = match self.stream.read(&mut shared.buf[..most]) {
            Ok(n) => {
                self.input.extend_from_slice(&shared.buf[..n]);
                n == 0
            }
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        };
        while let Some(len) = self.scanner.scan(&self.input).expect("the endpoint follows the protocol") {
            let frame: Vec<_> = self.input.drain(..len).collect();
            self.remember(format!("< {}", String::from_utf8_lossy(&frame[..frame.len().min(60)]).trim_end()));
            shared.heard(&frame);
            let Some(expected) = self.expected.pop_front() else { self.fail("a reply without a request") };
            self.check(&expected, &frame, shared);
        }
        if ended {
            // If its shard is lost, a long reply remains incomplete.
            let is_long = matches!(self.expected.front(), Some(Expected::Get(_) | Expected::Mget(_)));
            let is_cut = is_long && !shared.is_calm;
            if !(self.is_done() && self.has_hung_up || is_cut) {
                self.fail("the connection ended before all requests were answered");
            }
        }
        !ended
    }

    #[track_caller]
    fn fail(&self, what: &str) -> ! {
        let lines: Vec<_> = self.history.iter().map(String::as_str).collect();
        panic!("client {}: {what}; expected {:?}\n{}", self.number, self.expected.front(), lines.join("\n"));
    }

    fn check(&mut self, expected: &Expected, frame: &[u8], shared: &mut Shared) {
        if frame[0] == b'-' {
            let fate = self.fate(expected, frame, shared);
            return self.failed(expected, fate);
        }
        match expected {
            Expected::Exactly(text) => self.require(frame == text.as_bytes(), text),
            Expected::Text(text) => {
                self.require(resp::text(frame) == Some(text), "the reply has another text")
            }
            Expected::Get(key) => self.saw(key, frame),
            Expected::Mget(keys) => {
                let items = resp::items(frame).unwrap_or_default();
                self.require(items.len() == keys.len(), "expected as many values as keys");
                keys.iter().zip(items).for_each(|(key, item)| self.saw(key, item));
            }
            Expected::Set(pairs) => {
                self.require(frame == b"+OK\r\n", "expected OK");
                for (key, token) in pairs {
                    self.known(key).values = BTreeSet::from([Some(*token)]);
                }
            }
            Expected::Touch(key, token) => {
                self.require(frame == b"+OK\r\n", "expected OK");
                self.known(key).values = BTreeSet::from([Some(*token)]);
                self.has_touched = true;
            }
            Expected::Del(keys) => {
                let Some(count) = resp::integer(frame) else { self.fail("expected a number") };
                let (mut least, mut most) = (0, 0);
                for key in keys {
                    let known = self.known(key);
                    let mut all = known.values.iter().chain(&known.pending);
                    least += i64::from(all.clone().all(Option::is_some));
                    most += i64::from(all.any(Option::is_some));
                    known.values = BTreeSet::from([None]);
                }
                self.require((least..=most).contains(&count), "the number of deleted keys is wrong");
            }
            Expected::Incr(key) => {
                let Some(value) = resp::integer(frame) else { self.fail("expected a number") };
                let count = self.counts.entry(key.clone()).or_default();
                let is_right = (count.least + 1..=count.most + 1 + count.pending).contains(&value);
                (count.least, count.most) = (value, value);
                self.require(is_right, "the counter has an unexpected value");
            }
            Expected::Ticket => {
                let Some(value) = resp::integer(frame) else { self.fail("expected a number") };
                self.require(shared.tickets.insert(value), "another client has received the same number");
            }
            Expected::Watch => {
                self.require(frame == b"+OK\r\n", "expected OK");
                (self.watches, self.has_touched) = (true, false);
            }
            Expected::Queued => self.require(frame == b"+QUEUED\r\n", "expected QUEUED"),
            Expected::Exec(all) => self.executed(all, frame, shared),
        }
    }

    fn executed(&mut self, all: &[Expected], frame: &[u8], shared: &mut Shared) {
        self.require(!self.is_broken, "expected an error, because not all commands were queued");
        let watched = std::mem::take(&mut self.watches);
        if frame == b"*-1\r\n" {
            self.require(watched, "a transaction without watched keys was not executed");
            self.require(self.has_touched || !shared.is_calm, "the watched key has not been changed");
            return;
        }
        self.require(
            !(watched && self.has_touched),
            "the transaction was executed although the watched key had been changed",
        );
        let items = resp::items(frame).unwrap_or_default();
        self.require(items.len() == all.len(), "expected as many replies as requests");
        all.iter().zip(items).for_each(|(expected, item)| self.check(expected, item, shared));
    }

    #[track_caller]
    fn require(&self, is_so: bool, what: &str) {
        if !is_so {
            self.fail(what);
        }
    }

    fn known(&mut self, key: &str) -> &mut Known {
        self.known
            .entry(key.into())
            .or_insert_with(|| Known { values: BTreeSet::from([None]), pending: BTreeSet::new() })
    }

    fn saw(&mut self, key: &str, frame: &[u8]) {
        let text = resp::text(frame);
        let value = text.map(|text| token_of(text).unwrap_or_else(|| self.fail("expected a value")));
        let is_whole = text.zip(value).is_none_or(|(text, token)| text == value_of(token));
        self.require(is_whole, "the value is incomplete");
        let known = self.known(key);
        let is_right = known.values.contains(&value) || known.pending.remove(&value);
        let before = std::mem::replace(&mut known.values, BTreeSet::from([value]));
        self.require(is_right, &format!("{key} is {value:?}, expected one of {before:?}"));
    }

    fn fate(&mut self, expected: &Expected, frame: &[u8], shared: &mut Shared) -> Fate {
        let text = String::from_utf8_lossy(frame);
        let word = text[1..].split(' ').next().unwrap_or_default();
        *shared.errors.entry(text.trim_end().chars().take(60).collect()).or_default() += 1;
        self.require(!shared.is_calm, "unexpected error");
        match word {
            // Another shard may not have answered.
            _ if text.contains("on other shards it may have been executed") => Fate::Pending,
            "CLUSTERDOWN" | "TRYAGAIN" | "READONLY" | "LOADING" | "MASTERDOWN" => Fate::NotExecuted,
            "EXECABORT" if matches!(expected, Expected::Exec(_)) => Fate::NotExecuted,
            _ if text.contains("connection to the shard was lost") => Fate::Unknown,
            _ if text.contains("did not answer in time") => Fate::Pending,
            _ => self.fail("unexpected error"),
        }
    }

    /// Updates the possible values of the keys after an error.
    fn failed(&mut self, expected: &Expected, fate: Fate) {
        match expected {
            Expected::Exactly(_) if fate == Fate::NotExecuted => self.is_broken = true,
            Expected::Exactly(_) | Expected::Text(_) => self.fail("unexpected error"),
            Expected::Queued => self.is_broken = true,
            Expected::Watch => self.watches = false,
            Expected::Exec(all) => {
                self.is_broken = false;
                self.watches = false;
                all.iter().for_each(|expected| self.in_doubt(expected, fate));
            }
            _ => self.in_doubt(expected, fate),
        }
    }

    fn in_doubt(&mut self, expected: &Expected, fate: Fate) {
        let writes: Vec<(&String, Option<u64>)> = match expected {
            Expected::Set(pairs) => pairs.iter().map(|(key, token)| (key, Some(*token))).collect(),
            Expected::Touch(key, token) => vec![(key, Some(*token))],
            Expected::Del(keys) => keys.iter().map(|key| (key, None)).collect(),
            Expected::Incr(key) => {
                let count = self.counts.entry(key.clone()).or_default();
                count.most += i64::from(fate == Fate::Unknown);
                count.pending += i64::from(fate == Fate::Pending);
                return;
            }
            _ => return,
        };
        for (key, value) in writes {
            let known = self.known(key);
            if fate != Fate::NotExecuted {
                known.values.insert(value);
            }
            if fate == Fate::Pending {
                known.pending.insert(value);
            }
        }
    }
}

impl Shared {
    pub fn new(is_calm: bool) -> Self {
        Self { is_calm, ..Self::default() }
    }

    fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    fn heard(&mut self, frame: &[u8]) {
        self.answered += 1;
        for &byte in frame {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
