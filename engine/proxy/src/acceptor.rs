//! One thread accepts connections for all databases and assigns each new client to the worker with
//! the fewest clients. The listening sockets stay open when workers start or stop, so no waiting
//! connection is lost.

use crate::poll::{Interest, Poll, Source, Waker};
use crate::socket;
use crate::stats::Connections;
use crate::stream::Stream;
use crate::worker::{ConnectionCount, Handle, Message};
use rustls::{ServerConfig, ServerConnection};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// A listening socket and the settings for its clients.
pub struct Listener {
    pub uid: u64,
    pub fd: Arc<OwnedFd>,
    pub tls: Option<Arc<ServerConfig>>,
    pub max_connections: u32,
    pub connections: Arc<Connections>,
}

enum Change {
    Listeners(Vec<Listener>),
    Workers(Vec<Handle>),
}

#[derive(Clone)]
pub struct Acceptor {
    messages: Sender<Change>,
    waker: Waker,
}

impl Acceptor {
    /// Replaces the listening sockets.
    pub fn listen(&self, listeners: Vec<Listener>) {
        self.send(Change::Listeners(listeners));
    }

    /// Replaces the workers that receive new clients.
    pub fn assign_to(&self, workers: Vec<Handle>) {
        self.send(Change::Workers(workers));
    }

    fn send(&self, message: Change) {
        if self.messages.send(message).is_ok() {
            self.waker.wake();
        }
    }
}

struct State {
    poll: Poll,
    messages: Receiver<Change>,
    listeners: Vec<Listener>,
    workers: Vec<Handle>,
    /// Number of clients accepted so far, which is also the number of the newest one.
    clients: u64,
}

/// Maximum number of connections accepted from one listener before the others are served.
const BATCH: usize = 64;

pub fn start() -> io::Result<Acceptor> {
    let poll = Poll::new()?;
    let (sender, messages) = std::sync::mpsc::channel();
    let acceptor = Acceptor { messages: sender, waker: poll.waker() };
    let mut state = State { poll, messages, listeners: Vec::new(), workers: Vec::new(), clients: 0 };
    std::thread::Builder::new().name("accept".into()).spawn(move || state.run())?;
    Ok(acceptor)
}

impl State {
    fn run(&mut self) {
        let mut ready = Vec::new();
        loop {
            if let Err(error) = self.poll.wait(&mut ready, Duration::from_secs(3600)) {
                eprintln!("accept: {error}");
                return;
            }
            for event in &ready {
                match event.source {
                    Source::Wake => self.take_messages(),
                    Source::Other(index) => self.accept(index as usize),
                    _ => {}
                }
            }
        }
    }

    fn take_messages(&mut self) {
        while let Ok(message) = self.messages.try_recv() {
            match message {
                Change::Listeners(listeners) => self.replace(listeners),
                Change::Workers(workers) => self.workers = workers,
            }
        }
    }

    fn replace(&mut self, listeners: Vec<Listener>) {
        for old in &self.listeners {
            self.poll.remove(&*old.fd);
        }
        self.listeners = listeners;
        for (index, new) in self.listeners.iter().enumerate() {
            let interest = Interest { hangup: false, ..Interest::READ };
            if let Err(error) = self.poll.add(&*new.fd, Source::Other(index as u32), interest) {
                eprintln!("accept: database {}: {error}", new.uid);
            }
        }
    }

    fn accept(&mut self, index: usize) {
        for _ in 0..BATCH {
            let Some(listener) = self.listeners.get(index) else { return };
            match socket::accept(&listener.fd) {
                Ok(Some((fd, peer))) => self.assign(index, fd, peer),
                Ok(None) => return,
                Err(error) => {
                    eprintln!("accept: database {}: {error}", listener.uid);
                    // Usually the process has no free descriptors. An immediate retry would only
                    // use CPU time.
                    std::thread::sleep(Duration::from_millis(20));
                    return;
                }
            }
        }
    }

    fn assign(&mut self, index: usize, fd: OwnedFd, peer: Option<SocketAddr>) {
        let listener = &self.listeners[index];
        let connections = &listener.connections;
        if connections.now.load(Ordering::Relaxed) >= listener.max_connections {
            connections.rejected.fetch_add(1, Ordering::Relaxed);
            if listener.tls.is_none() {
                // Best effort, as in the engine.
                let _ = rustix::io::write(&fd, b"-ERR max number of clients reached\r\n");
            }
            return;
        }
        let stream = match &listener.tls {
            None => Stream::plain(fd),
            Some(config) => match ServerConnection::new(Arc::clone(config)) {
                Ok(session) => Stream::tls(fd, session),
                Err(error) => {
                    eprintln!("accept: database {}: {error}", listener.uid);
                    return;
                }
            },
        };
        let load = |worker: &&Handle| worker.clients.load(Ordering::Relaxed);
        let Some(worker) = self.workers.iter().min_by_key(load) else { return };
        let connection_count = ConnectionCount::take(connections, &worker.clients);
        self.clients += 1;
        let (uid, number) = (listener.uid, self.clients);
        worker.send(Message::Accepted { uid, stream: Box::new(stream), peer, number, connection_count });
    }
}
