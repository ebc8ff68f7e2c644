//! Sends requests at a steady rate from one thread and measures each from the time at which it was
//! due: `pace RATE SECONDS ADDRESS...`, with one address per shard. Name an endpoint once per
//! shard. Prints P50 and P99 in microseconds as JSON. The thread never sleeps, because the delay of
//! a timer would exceed the measured differences.

use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const CLIENTS: usize = 48;

struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    due: Instant,
}

/// Creates a client with a key of its shard. The slots are distributed evenly and in order.
fn client(number: usize, addresses: &[String]) -> Client {
    let shard = number % addresses.len();
    let owned = |key: &String| {
        usize::from(resp::slot::of_key(key.as_bytes())) * addresses.len() / usize::from(resp::slot::SLOTS)
            == shard
    };
    let key = (0..).map(|n| format!("key:{n}")).find(owned).expect("every shard owns a key");
    let mut request = Vec::new();
    resp::encode::command(&mut request, [&b"SET"[..], key.as_bytes(), b"x"].into_iter());
    let stream = TcpStream::connect(&addresses[shard]).expect("the address answers");
    stream.set_nodelay(true).expect("it is a TCP socket");
    Client { stream, request, due: Instant::now() }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rate, seconds, addresses @ ..] = arguments.as_slice() else {
        panic!("usage: pace RATE SECONDS ADDRESS...");
    };
    let (rate, seconds): (u64, u64) = (rate.parse().expect("a rate"), seconds.parse().expect("seconds"));
    let mut clients: Vec<Client> = (0..CLIENTS).map(|number| client(number, addresses)).collect();
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll exists");
    for (number, client) in clients.iter().enumerate() {
        epoll::add(&poll, &client.stream, EventData::new_u64(number as u64), EventFlags::IN)
            .expect("it is open");
    }
    let total = rate * seconds;
    let mut times = Vec::with_capacity(total as usize);
    let mut free: VecDeque<usize> = (0..CLIENTS).collect();
    let began = Instant::now();
    let mut sent = 0;
    while (times.len() as u64) < total {
        let due = began + Duration::from_nanos(sent * 1_000_000_000 / rate);
        if sent < total && Instant::now() >= due {
            if let Some(number) = free.pop_front() {
                let client = &mut clients[number];
                client.due = due;
                client.stream.write_all(&client.request).expect("it is open");
                sent += 1;
                continue;
            }
        }
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); CLIENTS];
        let (ready, _) = epoll::wait(&poll, &mut events, Some(&Timespec::default())).expect("waiting works");
        for event in ready {
            let number = event.data.u64() as usize;
            let mut reply = [0; 64];
            let len = clients[number].stream.read(&mut reply).expect("it is open");
            assert_eq!(&reply[..len], b"+OK\r\n");
            times.push(clients[number].due.elapsed().as_nanos() as f64 / 1_000.0);
            free.push_back(number);
        }
    }
    times.sort_by(f64::total_cmp);
    println!(r#"{{"p50": {:.1}, "p99": {:.1}}}"#, times[times.len() / 2], times[times.len() * 99 / 100]);
}
