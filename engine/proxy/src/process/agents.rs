//! The agents connected to the control socket. A thread reads each connection. Writes have a
//! timeout, so that an agent that hangs cannot block the process.

use super::takeover;
use crate::control::{PROTOCOL, Report, State};
use crate::event::Event;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

#[derive(Default)]
pub(super) struct Agents {
    streams: BTreeMap<u64, UnixStream>,
}

const PATIENCE: Duration = Duration::from_millis(500);

/// Forwards the lines that agents send.
pub(super) fn listen(listener: UnixListener, events: Sender<Event>) -> io::Result<()> {
    std::thread::Builder::new().name("control".into()).spawn(move || {
        for (agent, stream) in (1..).zip(listener.incoming()) {
            let Ok(stream) = stream else { continue };
            if let Err(error) = register(agent, stream, &events) {
                eprintln!("control: {error}");
            }
        }
    })?;
    Ok(())
}

fn register(agent: u64, stream: UnixStream, events: &Sender<Event>) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let reader = BufReader::new(stream.try_clone()?);
    let events = events.clone();
    std::thread::Builder::new().name(format!("agent-{agent}")).spawn(move || {
        // Fails only while the process is ending.
        let _ = events.send(Event::Connected { agent, stream });
        for line in reader.lines() {
            let Ok(line) = line else { break };
            let _ = events.send(Event::LineReceived { agent, line });
        }
        let _ = events.send(Event::Disconnected { agent });
    })?;
    Ok(())
}

impl Agents {
    pub(super) fn add(&mut self, agent: u64, stream: UnixStream) {
        self.streams.insert(agent, stream);
        let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION"));
        self.send(
            agent,
            &Report::Hello { protocol: PROTOCOL, pid, version, answers: &["commands", "shard_tls"] },
        );
    }

    pub(super) fn remove(&mut self, agent: u64) {
        self.streams.remove(&agent);
    }

    pub(super) fn send(&mut self, agent: u64, report: &Report) {
        let Some(mut stream) = self.streams.get(&agent) else { return };
        let mut line = serde_json::to_vec(report).expect("reports are made of plain values");
        line.push(b'\n');
        if stream.write_all(&line).is_err() {
            // The agent does not read, or has received an incomplete line. It must reconnect to
            // resume at a line boundary.
            let _ = stream.shutdown(std::net::Shutdown::Both);
            self.remove(agent);
        }
    }

    /// Sends each listening socket with a line that names its address, followed by the state.
    pub(super) fn hand_over(&mut self, successor: u64, sockets: &[(SocketAddr, Arc<OwnedFd>)], state: State) {
        let Some(stream) = self.streams.get(&successor) else { return };
        for (at, socket) in sockets {
            if let Err(error) = takeover::send_socket(stream, *at, socket) {
                eprintln!("takeover: {at}: {error}");
            }
        }
        self.send(successor, &Report::Handover { state });
    }

    pub(super) fn broadcast(&mut self, report: &Report) {
        for agent in self.streams.keys().copied().collect::<Vec<_>>() {
            self.send(agent, report);
        }
    }
}
