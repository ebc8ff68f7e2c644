//! The shards of a simulation: pairs of processes that store keys like an engine in cluster mode,
//! and the events that can affect them.

use rand::Rng;
use rand::rngs::SmallRng;
use resp::{Limits, RequestParser, encode, slot};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

pub const PAIRS: usize = 3;
/// Number of hash tags. Every key has one of them, so that the slots that move contain keys.
pub const TAGS: usize = 24;
const FIRST_PORT: u16 = 20_000;
/// Maximum number of bytes of one read.
pub const MOST: usize = 64 * 1024;

type Words = Vec<Vec<u8>>;

struct Key {
    value: Vec<u8>,
    /// The process that stores it. For a slot that moves, source or destination.
    at: usize,
}

/// All processes. A replica has all writes that its primary has acknowledged.
pub struct Shards {
    pub processes: Vec<Process>,
    /// The owner of each slot.
    owners: Vec<usize>,
    /// The primary of each pair.
    primaries: [usize; PAIRS],
    /// Slots that are being moved, and the process that imports each.
    moving: BTreeMap<u16, usize>,
    keys: BTreeMap<Vec<u8>, Key>,
    /// Number of changes of each key, for WATCH.
    changes: BTreeMap<Vec<u8>, u64>,
    /// Values that were written. Each belongs to one request and must not be written twice.
    written: BTreeSet<u64>,
    buf: Vec<u8>,
    pub executed: u64,
    pub redirected: u64,
    /// Whether they report a module that can block a connection, so that proxies open several
    /// connections to each of them.
    pub has_waiting_module: bool,
    /// Number of requests of clients that were refused temporarily.
    pub refused: u64,
}

pub struct Process {
    path: PathBuf,
    listener: Option<UnixListener>,
    connections: Vec<Connection>,
    pub is_frozen: bool,
    /// Error for every request with a key. Nothing is executed.
    pub refuses_with: Option<&'static str>,
}

struct Connection {
    stream: UnixStream,
    input: Vec<u8>,
    output: Vec<u8>,
    is_greeted: bool,
    is_asking: bool,
    queued: Option<Vec<Words>>,
    is_broken: bool,
    watched: Vec<(Vec<u8>, u64)>,
}

pub fn tag(number: usize) -> String {
    format!("{{t{number}}}")
}

pub fn slot_of_tag(number: usize) -> u16 {
    slot::of_key(tag(number).as_bytes())
}

impl Process {
    fn start(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let listener = UnixListener::bind(&self.path).unwrap();
        listener.set_nonblocking(true).unwrap();
        self.listener = Some(listener);
    }

    pub fn is_alive(&self) -> bool {
        self.listener.is_some()
    }

    pub fn kill(&mut self) {
        self.listener = None;
        self.connections.clear();
        self.is_frozen = false;
        self.refuses_with = None;
    }

    /// Closes one connection with its pending requests.
    pub fn reset_one(&mut self, rng: &mut SmallRng) {
        if !self.connections.is_empty() {
            let at = rng.random_range(0..self.connections.len());
            self.connections.remove(at);
        }
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(true).unwrap();
            self.connections.push(Connection {
                stream,
                input: Vec::new(),
                output: Vec::new(),
                is_greeted: false,
                is_asking: false,
                queued: None,
                is_broken: false,
                watched: Vec::new(),
            });
        }
    }
}

impl Connection {
    /// Returns `false` if the peer has closed the connection and all its data has been read.
    fn receive(&mut self, buf: &mut [u8]) -> bool {
        match self.stream.read(buf) {
            Ok(n) => {
                self.input.extend_from_slice(&buf[..n]);
                n > 0
            }
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    fn next(&mut self) -> Option<Words> {
        let mut parser = RequestParser::default();
        let len = parser.parse(&self.input, &Limits::default()).expect("endpoints follow the protocol")?;
        let words = parser.args(&self.input[..len]).iter().map(<[u8]>::to_vec).collect();
        self.input.drain(..len);
        Some(words)
    }

    fn respond(&mut self, most: usize) {
        while !self.output.is_empty() {
            let most = most.min(self.output.len());
            match self.stream.write(&self.output[..most]) {
                Ok(n) => drop(self.output.drain(..n)),
                // The peer has closed the connection, which the next read detects.
                Err(_) => return,
            }
        }
    }
}

/// Error text of a request that is not executed.
type Refusal = String;

impl Shards {
    pub fn new(directory: &Path, has_waiting_module: bool) -> Self {
        let mut processes: Vec<_> = (0..PAIRS * 2)
            .map(|number| Process {
                path: directory.join(number.to_string()),
                listener: None,
                connections: Vec::new(),
                is_frozen: false,
                refuses_with: None,
            })
            .collect();
        processes.iter_mut().for_each(Process::start);
        let owners = (0..usize::from(slot::SLOTS)).map(|slot| slot * PAIRS / 16384 * 2).collect();
        Self {
            processes,
            owners,
            primaries: std::array::from_fn(|pair| pair * 2),
            moving: BTreeMap::new(),
            keys: BTreeMap::new(),
            changes: BTreeMap::new(),
            written: BTreeSet::new(),
            buf: vec![0; MOST],
            executed: 0,
            redirected: 0,
            has_waiting_module,
            refused: 0,
        }
    }

    pub fn address(number: usize) -> (String, u16) {
        ("127.0.0.1".into(), FIRST_PORT + number as u16)
    }

    pub fn path(&self, number: usize) -> &Path {
        &self.processes[number].path
    }

    /// Returns inclusive ranges of slots.
    pub fn slots_of(&self, number: usize) -> Vec<(u16, u16)> {
        let mut ranges: Vec<(u16, u16)> = Vec::new();
        for slot in (0..slot::SLOTS).filter(|slot| self.owners[usize::from(*slot)] == number) {
            match ranges.last_mut() {
                Some(range) if range.1 + 1 == slot => range.1 = slot,
                _ => ranges.push((slot, slot)),
            }
        }
        ranges
    }

    /// Returns the process of the pair that is, or was, the primary.
    pub fn primary(&self, pair: usize) -> usize {
        self.primaries[pair]
    }

    /// Whether a slot is being moved from or to the pair.
    pub fn is_moving(&self, pair: usize) -> bool {
        self.moving.iter().any(|(slot, to)| to / 2 == pair || self.owners[usize::from(*slot)] / 2 == pair)
    }

    pub fn start(&mut self, number: usize) {
        self.processes[number].start();
    }

    /// Promotes the replica of a pair, which takes over the slots.
    pub fn promote_other(&mut self, pair: usize) {
        let (old, new) = (self.primary(pair), self.primary(pair) ^ 1);
        self.primaries[pair] = new;
        self.owners.iter_mut().filter(|owner| **owner == old).for_each(|owner| *owner = new);
        self.keys.values_mut().filter(|key| key.at == old).for_each(|key| key.at = new);
    }

    /// Starts to move a slot from its owner to the primary of the pair.
    pub fn begin_to_move(&mut self, slot: u16, pair: usize) {
        let to = self.primary(pair);
        if self.owners[usize::from(slot)] != to {
            self.moving.insert(slot, to);
        }
    }

    /// Moves one key. If none is left, changes the owner of the slot and returns the source and
    /// destination pair.
    pub fn move_on(&mut self) -> Option<[usize; 2]> {
        let (&slot, &to) = self.moving.first_key_value()?;
        let left = self.keys.iter_mut().find(|(key, place)| slot::of_key(key) == slot && place.at != to);
        if let Some((key, place)) = left {
            place.at = to;
            *self.changes.entry(key.clone()).or_default() += 1;
            return None;
        }
        self.moving.remove(&slot);
        let from = std::mem::replace(&mut self.owners[usize::from(slot)], to);
        Some([from / 2, to / 2])
    }

    pub fn owner(&self, slot: u16) -> usize {
        self.owners[usize::from(slot)]
    }

    pub fn has_moving(&self) -> bool {
        !self.moving.is_empty()
    }

    /// Receives, executes and answers a few requests of one connection of one process.
    pub fn step(&mut self, number: usize, rng: &mut SmallRng) {
        let process = &mut self.processes[number];
        if process.is_frozen {
            return;
        }
        process.accept();
        if process.connections.is_empty() {
            return;
        }
        let at = rng.random_range(0..process.connections.len());
        let mut connection = process.connections.swap_remove(at);
        let most = if rng.random_bool(0.1) { rng.random_range(1..64) } else { MOST };
        let is_open = connection.receive(&mut self.buf[..most]);
        // Requests sent before the end are executed, although no client receives the replies.
        let count = if is_open { rng.random_range(1..8) } else { usize::MAX };
        for _ in 0..count {
            let Some(words) = connection.next() else { break };
            let reply = self.answer(number, &mut connection, &words);
            connection.output.extend_from_slice(&reply);
        }
        if rng.random_bool(0.8) {
            connection.respond(if rng.random_bool(0.1) { rng.random_range(1..64) } else { usize::MAX });
        }
        if is_open {
            self.processes[number].connections.push(connection);
        }
    }

    fn answer(&mut self, number: usize, connection: &mut Connection, words: &Words) -> Vec<u8> {
        let mut out = Vec::new();
        let name = String::from_utf8_lossy(&words[0]).to_ascii_uppercase();
        assert!(connection.is_greeted || name == "HELLO", "{name} before HELLO");
        if connection.queued.is_some() && !matches!(name.as_str(), "EXEC" | "DISCARD" | "ASKING") {
            return self.queue(number, connection, words);
        }
        match name.as_str() {
            "HELLO" => {
                connection.is_greeted = true;
                encode::array(&mut out, 4);
                encode::bulk(&mut out, b"server");
                encode::bulk(&mut out, b"valkey");
                encode::bulk(&mut out, b"modules");
                encode::array(&mut out, usize::from(self.has_waiting_module));
                if self.has_waiting_module {
                    encode::command(&mut out, [&b"name"[..], b"tier"].into_iter());
                }
            }
            "COMMAND" => encode::array(&mut out, 0),
            "PING" => encode::simple(&mut out, "PONG"),
            "ASKING" => {
                connection.is_asking = true;
                encode::simple(&mut out, "OK");
                return out;
            }
            "MULTI" => {
                connection.queued = Some(Vec::new());
                connection.is_broken = false;
                encode::simple(&mut out, "OK");
            }
            "DISCARD" => {
                connection.queued = None;
                connection.watched.clear();
                encode::simple(&mut out, "OK");
            }
            "UNWATCH" => {
                connection.watched.clear();
                encode::simple(&mut out, "OK");
            }
            "EXEC" => self.exec(number, connection, &mut out),
            "WATCH" => match self.refusal(number, connection, words) {
                Some(text) => encode::error(&mut out, &text),
                None => {
                    let changes = |key: &Vec<u8>| self.changes.get(key).copied().unwrap_or(0);
                    connection.watched.extend(words[1..].iter().map(|key| (key.clone(), changes(key))));
                    encode::simple(&mut out, "OK");
                }
            },
            _ => match self.refusal(number, connection, words) {
                Some(text) => encode::error(&mut out, &text),
                None => self.execute(number, &name, words, &mut out),
            },
        }
        connection.is_asking = false;
        out
    }

    fn queue(&mut self, number: usize, connection: &mut Connection, words: &Words) -> Vec<u8> {
        let mut out = Vec::new();
        match self.refusal(number, connection, words) {
            Some(text) => {
                connection.is_broken = true;
                encode::error(&mut out, &text);
            }
            None => {
                connection.queued.as_mut().unwrap().push(words.clone());
                encode::simple(&mut out, "QUEUED");
            }
        }
        out
    }

    fn exec(&mut self, number: usize, connection: &mut Connection, out: &mut Vec<u8>) {
        let watched = std::mem::take(&mut connection.watched);
        let queued = connection.queued.take();
        let Some(queued) = queued.filter(|_| !connection.is_broken) else {
            encode::error(out, "EXECABORT Transaction discarded because of previous errors.");
            return;
        };
        let owners: BTreeSet<_> = queued.iter().flat_map(keys_of).map(owner_of_key).collect();
        assert!(owners.len() < 2, "two clients in one transaction: {queued:?}");
        if let Some(text) = queued.iter().find_map(|words| self.refusal(number, connection, words)) {
            encode::error(out, &text);
        } else if watched.iter().any(|(key, then)| self.changes.get(key).copied().unwrap_or(0) != *then) {
            out.extend_from_slice(b"*-1\r\n");
        } else {
            encode::array(out, queued.len());
            for words in &queued {
                let name = String::from_utf8_lossy(&words[0]).to_ascii_uppercase();
                self.execute(number, &name, words, out);
            }
        }
    }

    /// Returns the reason why this process does not execute a request with keys now.
    fn refusal(&mut self, number: usize, connection: &Connection, words: &Words) -> Option<Refusal> {
        let keys = keys_of(words);
        let slot = slot::of_key(keys.first().unwrap_or_else(|| panic!("the request has no keys: {words:?}")));
        if keys.iter().any(|key| slot::of_key(key) != slot) {
            return Some("CROSSSLOT Keys in request don't hash to the same slot".into());
        }
        if let Some(text) = self.processes[number].refuses_with {
            self.refused += u64::from(words[0] != b"ZREMRANGEBYLEX");
            return Some(text.into());
        }
        let (owner, imports) = (self.owners[usize::from(slot)], self.moving.get(&slot).copied());
        let here = keys.iter().filter(|key| self.keys.get(**key).is_some_and(|key| key.at == number)).count();
        let elsewhere = |verb: &str, to: usize| {
            let (ip, port) = Self::address(to);
            format!("{verb} {slot} {ip}:{port}")
        };
        let text = match imports {
            Some(to) if owner == number && here == 0 => elsewhere("ASK", to),
            Some(_) if owner == number && here < keys.len() => {
                "TRYAGAIN Multiple keys request during rehashing of slot".into()
            }
            Some(to) if to == number && connection.is_asking => {
                // One of several keys may still be at the source.
                if keys.len() > 1 && here < keys.len() {
                    return Some("TRYAGAIN Multiple keys request during rehashing of slot".into());
                }
                return None;
            }
            _ if owner == number => return None,
            _ => elsewhere("MOVED", owner),
        };
        self.redirected += 1;
        Some(text)
    }

    fn execute(&mut self, number: usize, name: &str, words: &Words, out: &mut Vec<u8>) {
        self.executed += 1;
        match name {
            "GET" => self.read(&words[1], out),
            "MGET" => {
                encode::array(out, words.len() - 1);
                words[1..].iter().for_each(|key| self.read(key, out));
            }
            "SET" => {
                self.write(number, &words[1], &words[2]);
                encode::simple(out, "OK");
            }
            "MSET" => {
                words[1..].chunks(2).for_each(|pair| self.write(number, &pair[0], &pair[1]));
                encode::simple(out, "OK");
            }
            "DEL" => {
                let mut count = 0;
                for key in &words[1..] {
                    if self.keys.remove(key).is_some() {
                        count += 1;
                        self.changed(key);
                    }
                }
                encode::integer(out, count);
            }
            "INCR" => {
                let before = self.keys.get(&words[1]).and_then(|key| resp::decimal(&key.value)).unwrap_or(0);
                let value = (before + 1).to_string().into_bytes();
                self.keys.insert(words[1].clone(), Key { value, at: number });
                self.changed(&words[1]);
                encode::integer(out, before + 1);
            }
            "ZREMRANGEBYLEX" => encode::integer(out, 0),
            name => panic!("unexpected command {name}"),
        }
    }

    fn read(&self, key: &[u8], out: &mut Vec<u8>) {
        match self.keys.get(key) {
            Some(key) => encode::bulk(out, &key.value),
            None => out.extend_from_slice(b"$-1\r\n"),
        }
    }

    fn write(&mut self, number: usize, key: &[u8], value: &[u8]) {
        let is_first =
            self.written.insert(super::clients::token_of(value).expect("values start with a number"));
        assert!(is_first, "{} was written twice", String::from_utf8_lossy(&value[..value.len().min(20)]));
        self.keys.insert(key.to_vec(), Key { value: value.to_vec(), at: number });
        self.changed(key);
    }

    fn changed(&mut self, key: &[u8]) {
        *self.changes.entry(key.to_vec()).or_default() += 1;
    }

    /// Removes the keys of a client that has disconnected.
    pub fn forget(&mut self, suffix: &str) {
        self.keys.retain(|key, _| !key.ends_with(suffix.as_bytes()));
        self.changes.retain(|key, _| !key.ends_with(suffix.as_bytes()));
    }
}

fn keys_of(words: &Words) -> Vec<&[u8]> {
    let step = if words[0].eq_ignore_ascii_case(b"mset") { 2 } else { 1 };
    let many =
        ["mget", "mset", "del", "watch"].iter().any(|name| words[0].eq_ignore_ascii_case(name.as_bytes()));
    words[1..].iter().step_by(step).take(if many { usize::MAX } else { 1 }).map(Vec::as_slice).collect()
}

/// Returns the part of a key after its tag, which identifies the client that owns it.
fn owner_of_key(key: &[u8]) -> &[u8] {
    let end = key.iter().rposition(|&byte| byte == b'}').map_or(0, |at| at + 1);
    &key[end..]
}
