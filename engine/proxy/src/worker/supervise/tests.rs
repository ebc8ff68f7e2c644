use super::*;
use crate::budget::Budget;
use crate::control::Database;
use crate::socket;
use crate::stats::Connections;
use crate::stream::Stream;
use crate::worker::simulation::STARTING;
use crate::worker::{ConnectionCount, Handle, Message, start};
use lab::{WAIT_TIMEOUT, wait};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError};

const SIGABRT: i32 = 6;

/// Serves one database and assigns clients to its workers.
struct Endpoint {
    address: SocketAddr,
    listener: OwnedFd,
    connections: Arc<Connections>,
    budget: Arc<Budget>,
}

impl Endpoint {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        Self { address, listener: listener.into(), connections: Arc::default(), budget: Budget::new() }
    }

    fn worker(&self, number: usize) -> Handle {
        let database: Database = serde_json::from_value(json!({
            "uid": 1, "address": "127.0.0.1", "port": 1, "mode": "hidden", "version": 1, "shards": []
        }))
        .unwrap();
        let (events, _) = channel();
        let (counts, _) = channel();
        let (handle, _) = start(number, events, counts, Arc::clone(&self.budget)).unwrap();
        let connections = Arc::clone(&self.connections);
        handle.send(Message::Apply { database: Arc::new(database), connections });
        handle
    }

    fn client(&self, worker: &Handle) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
        let mut accepted = None;
        wait("the connection", || {
            accepted = socket::accept(&self.listener).unwrap();
            accepted.is_some()
        });
        let (fd, peer) = accepted.unwrap();
        let connection_count = ConnectionCount::take(&self.connections, &worker.clients);
        worker.send(Message::Accepted {
            uid: 1,
            stream: Box::new(Stream::plain(fd)),
            peer,
            number: 1,
            connection_count,
        });
        BufReader::new(stream)
    }
}

fn ask(client: &mut BufReader<TcpStream>, line: &str) -> String {
    client.get_mut().write_all(format!("{line}\r\n").as_bytes()).unwrap();
    let mut reply = String::new();
    client.read_line(&mut reply).unwrap();
    reply
}

/// Whether the connection has ended. A reset counts as an end.
fn has_ended(client: &mut BufReader<TcpStream>) -> bool {
    let mut rest = Vec::new();
    match client.read_to_end(&mut rest) {
        Ok(_) => rest.is_empty(),
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn clients_of_a_worker_that_panics_are_disconnected_and_those_of_others_are_not() {
    let endpoint = Endpoint::new();
    let (failing, other) = (endpoint.worker(1), endpoint.worker(2));
    let mut lost = endpoint.client(&failing);
    let mut kept = endpoint.client(&other);
    for client in [&mut lost, &mut kept] {
        assert_eq!(ask(client, "PING"), "+PONG\r\n");
    }
    // Half of a request of 2 MB: enough for a report to the budget before the next tick.
    lost.get_mut().write_all(b"*2\r\n$4\r\nECHO\r\n$8000000\r\n").unwrap();
    lost.get_mut().write_all(&vec![b'x'; 2 << 20]).unwrap();
    let used = || endpoint.connections.memory.bytes();
    wait("the budget to include it", || used() >= 2 << 20);
    assert_eq!(endpoint.connections.now.load(Relaxed), 2);

    failing.send(Message::Fail);
    assert!(has_ended(&mut lost));
    wait("its connection to be released", || endpoint.connections.now.load(Relaxed) == 1);
    assert_eq!((failing.clients.load(Relaxed), other.clients.load(Relaxed)), (0, 1));
    wait("its memory to be released", || used() < 1 << 20);
    assert_eq!(ask(&mut kept, "PING"), "+PONG\r\n");

    // The replacement has the same number and the applied database.
    let mut again = endpoint.client(&failing);
    assert_eq!(ask(&mut again, "PING"), "+PONG\r\n");
    assert_eq!(endpoint.connections.now.load(Relaxed), 2);
    assert_eq!(endpoint.connections.total.load(Relaxed), 3);
}

#[test]
fn pending_messages_of_a_worker_that_panics_reach_its_replacement() {
    let endpoint = Endpoint::new();
    let worker = endpoint.worker(1);
    worker.messages.send(Message::Fail).unwrap();
    // Sent without waking the worker, so that both messages are handled together.
    let mut waiting = endpoint.client(&worker);
    assert_eq!(ask(&mut waiting, "PING"), "+PONG\r\n");
    worker.send(Message::Drain { patience: Duration::ZERO });
    assert!(has_ended(&mut waiting));
    wait("the client to be released", || worker.clients.load(Relaxed) == 0);
}

struct Count(u32);

impl Supervised for Count {
    fn describe(&self) -> String {
        "a counter".into()
    }
}

#[test]
fn an_error_counts_as_a_failure_and_a_finished_worker_is_not_replaced() {
    let replaced = std::cell::Cell::new(0);
    supervise(
        Count(0),
        |count| match count.0 {
            0 => Err(io::ErrorKind::InvalidInput.into()),
            1 => panic!("requested by a test"),
            _ => Ok(()),
        },
        |count| {
            replaced.set(replaced.get() + 1);
            Ok(Count(count.0 + 1))
        },
    );
    assert_eq!(replaced.get(), 2);
}

#[test]
fn five_failures_within_ten_seconds_are_too_many() {
    let began = Instant::now();
    let fails = |times: &[u64]| {
        let mut failures = Failures::default();
        times.iter().map(|&at| failures.are_too_many(began + Duration::from_secs(at))).collect::<Vec<_>>()
    };
    assert_eq!(fails(&[0, 1, 2, 3, 4]), [false, false, false, false, true]);
    assert_eq!(fails(&[0, 3, 6, 9, 12, 15]), [false; 6]);
}

#[test]
fn a_worker_that_always_fails_aborts_the_process() {
    let _alone = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    let me = std::env::current_exe().unwrap();
    let child = Command::new(me)
        .args(["--ignored", "--exact", "--nocapture", "worker::supervise::tests::child_process"])
        .output()
        .unwrap();
    assert_eq!(child.status.signal(), Some(SIGABRT), "{child:?}");
    let stderr = String::from_utf8_lossy(&child.stderr);
    assert_eq!(stderr.matches("worker 1 (clients disconnected").count(), FAILURES, "{stderr}");
    assert!(stderr.contains("requested by a test"), "{stderr}");
}

#[test]
#[ignore = "it aborts the process: the test above runs it in a child process"]
fn child_process() {
    panic::abort_on_panic();
    let worker = Endpoint::new().worker(1);
    for _ in 0..FAILURES {
        worker.send(Message::Fail);
    }
    loop {
        std::thread::park();
    }
}
