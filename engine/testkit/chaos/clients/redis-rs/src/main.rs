//! A client of the chaos run: `chaos-redis-rs plain|cluster HOST PORT NAME WORKERS`. See
//! ../../README.md.

use redis::cluster::{ClusterClient, ClusterConnection};
use redis::{Client, Connection, ConnectionLike, RedisResult};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

const KEYS: u64 = 8;
const PACE: Duration = Duration::from_millis(2);
const PATIENCE: Duration = Duration::from_secs(10);
static STOP: AtomicBool = AtomicBool::new(false);

struct Arguments {
    kind: String,
    url: String,
    name: String,
    workers: usize,
}

/// A connection without automatic retries, or the library's cluster client. Reopened after an
/// error. The cluster client needs this as well: after the loss of one connection to a node without
/// slots, it never updates its slots again.
enum Link {
    Plain(Box<Client>, Option<Connection>),
    Cluster(ClusterClient, Option<ClusterConnection>),
}

impl Link {
    fn open(arguments: &Arguments) -> RedisResult<Self> {
        let url = arguments.url.as_str();
        if arguments.kind == "cluster" {
            let client = ClusterClient::builder([url]).response_timeout(PATIENCE).build()?;
            return Ok(Self::Cluster(client, None));
        }
        Ok(Self::Plain(Box::new(Client::open(url)?), None))
    }

    fn ask<T: redis::FromRedisValue>(&mut self, command: &redis::Cmd) -> RedisResult<T> {
        match self {
            Self::Cluster(client, place) => {
                if place.is_none() {
                    *place = Some(client.get_connection()?);
                }
                let answer = command.query(place.as_mut().expect("it was just set"));
                if answer.as_ref().is_err_and(|error: &redis::RedisError| error.is_io_error()) {
                    *place = None;
                }
                answer
            }
            Self::Plain(client, place) => {
                if !place.as_mut().is_some_and(|connection| connection.is_open()) {
                    let connection = client.get_connection_with_timeout(PATIENCE)?;
                    connection.set_read_timeout(Some(PATIENCE))?;
                    *place = Some(connection);
                }
                command.query(place.as_mut().expect("it was just set"))
            }
        }
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("the clock is after 1970").as_secs_f64()
}

/// Runs `call` and prints the result. An error is a result as well.
fn timed<T>(words: &str, call: impl FnOnce() -> RedisResult<T>, show: impl Fn(Option<T>) -> String) {
    let began = now();
    let (shown, outcome) = match call() {
        Ok(value) => (show(Some(value)), "ok".to_string()),
        Err(error) => (show(None), error.to_string().replace(['\n', '\t'], " ")),
    };
    let line = format!("{words}{shown}\t{began:.6}\t{:.6}\t{outcome}\n", now());
    // Fails only if the run was aborted and the output is no longer read.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

fn work(arguments: &Arguments, worker: &str) -> RedisResult<()> {
    let mut link = Link::open(arguments)?;
    for number in 1u64.. {
        if STOP.load(Ordering::Relaxed) {
            break;
        }
        let key = format!("{worker}:{}", number % KEYS);
        let push = redis::Cmd::rpush(&key, number);
        timed(&format!("w\t{key}\t{number}"), || link.ask::<u64>(&push), |_| String::new());
        let last = redis::Cmd::lindex(&key, -1);
        timed(
            &format!("r\t{key}"),
            || link.ask::<Option<String>>(&last),
            |value| match value {
                Some(value) => format!("\t{}", value.unwrap_or("none".into())),
                None => "\t-".into(),
            },
        );
        if arguments.kind == "plain" && number % 5 == 0 {
            let mut wait = redis::cmd("WAIT");
            wait.arg(1).arg(200);
            let show = |count: Option<u64>| count.map_or("\t-".into(), |count| format!("\t{count}"));
            timed(&format!("s\t{worker}"), || link.ask::<u64>(&wait), show);
        }
        std::thread::sleep(PACE);
    }
    Ok(())
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, host, port, name, workers] = words.as_slice() else {
        panic!("usage: chaos-redis-rs plain|cluster HOST PORT NAME WORKERS");
    };
    let arguments = Arguments {
        kind: kind.clone(),
        url: format!("redis://{host}:{port}"),
        name: name.clone(),
        workers: workers.parse().expect("a number of workers"),
    };
    std::thread::scope(|scope| {
        for number in 0..arguments.workers {
            let arguments = &arguments;
            scope.spawn(move || {
                let worker = format!("{}:{number}", arguments.name);
                work(arguments, &worker).expect("the endpoint answers at the start");
            });
        }
        println!("ready");
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        STOP.store(true, Ordering::Relaxed);
    });
}
