//! Random data of all types and encodings, as commands.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

pub const FUNCTION: &str = "#!lua name=lib\nserver.register_function('f', function() return 1 end)";

pub struct Commands {
    pub bytes: Vec<u8>,
    random: SmallRng,
}

impl Commands {
    pub fn new(seed: u64) -> Self {
        Self { bytes: Vec::new(), random: SmallRng::seed_from_u64(seed) }
    }

    pub fn add(&mut self, args: &[&[u8]]) {
        resp::encode::command(&mut self.bytes, args.iter().copied());
    }

    fn with_key(&mut self, name: &str, key: &str, args: &[Vec<u8>]) {
        let mut all: Vec<&[u8]> = vec![name.as_bytes(), key.as_bytes()];
        all.extend(args.iter().map(Vec::as_slice));
        self.add(&all);
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.random_range(0..limit)
    }

    fn bytes(&mut self, max: u64) -> Vec<u8> {
        let length = self.below(max + 1);
        (0..length).map(|_| self.random.random()).collect()
    }

    /// A number, incompressible bytes, or compressible text.
    fn value(&mut self, max: u64) -> Vec<u8> {
        match self.below(4) {
            0 => {
                let bits = self.below(64) as u32;
                (self.random.random::<i64>() >> bits).to_string().into_bytes()
            }
            1 => vec![b'x'; self.below(max + 1) as usize],
            2 => b"abc def ".repeat(self.below(max / 8 + 1) as usize),
            _ => self.bytes(max),
        }
    }

    fn values(&mut self, max: u64) -> Vec<Vec<u8>> {
        let limit = if self.below(3) == 0 { 700 } else { 20 };
        let count = 1 + self.below(limit);
        (0..count).map(|_| self.value(max)).collect()
    }

    /// Commands that create `count` keys.
    pub fn random(mut self, count: usize) -> Vec<u8> {
        self.add(&[b"FUNCTION", b"LOAD", FUNCTION.as_bytes()]);
        for n in 0..count {
            let key =
                if n % 5 == 0 { n.to_string() } else { format!("key{}:{n}{}", n % 7, "y".repeat(n % 90)) };
            match n % 9 {
                0 => {
                    let value = self.value(2000);
                    self.with_key("SET", &key, &[value]);
                }
                1 => {
                    let values = self.values(100);
                    self.with_key("RPUSH", &key, &values);
                    let long = self.value(20_000);
                    self.with_key("LPUSH", &key, &[long]);
                }
                2 => {
                    let values = self.values(50);
                    self.with_key("SADD", &key, &values);
                }
                3 => {
                    let count = 1 + self.below(700);
                    let mut number = || i64::from(self.random.random::<i16>()) * 70_000;
                    let values: Vec<_> = (0..count).map(|_| number().to_string().into_bytes()).collect();
                    self.with_key("SADD", &key, &values);
                }
                4 | 5 => self.hash(&key, n % 9 == 5),
                6 => self.sorted_set(&key),
                _ => self.stream(&key),
            }
            if self.below(4) == 0 {
                let at = 4_000_000_000_000 + self.below(1_000_000);
                self.with_key("PEXPIREAT", &key, &[at.to_string().into_bytes()]);
            }
        }
        self.bytes
    }

    fn hash(&mut self, key: &str, with_expiry: bool) {
        let values = self.values(70);
        let pairs: Vec<Vec<u8>> = (0..)
            .zip(values)
            .flat_map(|(n, value): (u32, _)| [format!("field{n}").into_bytes(), value])
            .collect();
        self.with_key("HSET", key, &pairs);
        if with_expiry {
            let at = 4_000_000_000_000 + self.below(1_000_000);
            let args = [at.to_string().as_str(), "FIELDS", "2", "field0", "field7"]
                .map(|arg| arg.as_bytes().to_vec());
            self.with_key("HPEXPIREAT", key, &args);
        }
    }

    fn sorted_set(&mut self, key: &str) {
        let values = self.values(40);
        let pairs: Vec<Vec<u8>> = values
            .into_iter()
            .flat_map(|value| {
                let score = match self.below(6) {
                    0 => "inf".into(),
                    1 => "0".into(),
                    2 => "1e300".into(),
                    3 => self.random.random::<f64>().to_string(),
                    _ => self.random.random::<i32>().to_string(),
                };
                [score.into_bytes(), value]
            })
            .collect();
        self.with_key("ZADD", key, &pairs);
    }

    fn stream(&mut self, key: &str) {
        let mut ids = Vec::new();
        for n in 0..1 + self.below(250) {
            let id = format!("{}-{}", 1000 + n / 3, n % 3 + 1);
            let mut args = vec![id.clone().into_bytes()];
            for field in 0..1 + self.below(2) {
                args.push(format!("field{}", if n % 4 == 0 { field } else { field + n }).into_bytes());
                args.push(self.value(60));
            }
            self.with_key("XADD", key, &args);
            ids.push(id);
        }
        self.with_key("XDEL", key, &[ids[0].clone().into_bytes()]);
        self.add(&[b"XGROUP", b"CREATE", key.as_bytes(), b"group", b"0"]);
        let key = key.as_bytes();
        for consumer in [&b"first"[..], b"second"] {
            self.add(&[b"XREADGROUP", b"GROUP", b"group", consumer, b"COUNT", b"5", b"STREAMS", key, b">"]);
        }
        self.add(&[b"XACK", key, b"group", ids[ids.len() / 2].as_bytes()]);
    }
}
