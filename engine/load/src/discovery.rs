//! Discovers the shards of the cluster while the load runs, when a thread has met a redirection or
//! a lost server.

use crate::probe::{self, Probe};
use crate::shared::Shared;
use crate::topology::Topology;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// This server was reported as the owner of a slot.
    Moved(SocketAddr),
    /// This server does not answer, or reports that it cannot serve requests.
    Suspect(SocketAddr),
}

/// Timeout for one server. A server that exceeds it is queried again later.
const PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(20);

pub fn run(shared: &Arc<Shared>, hints: &Receiver<Hint>) {
    while !shared.stop.load(Ordering::Acquire) {
        let first = match hints.recv_timeout(Duration::from_millis(100)) {
            Ok(hint) => hint,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut all: Vec<Hint> = vec![first];
        all.extend(hints.try_iter());
        if let Some(found) = discover(shared, &all) {
            shared.publish(found);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns the current topology if a server reports a new one that is plausible.
fn discover(shared: &Shared, hints: &[Hint]) -> Option<Topology> {
    let known = shared.topology();
    let suspects: Vec<SocketAddr> = hints
        .iter()
        .filter_map(|hint| if let Hint::Suspect(address) = hint { Some(*address) } else { None })
        .collect();
    let mut candidates: Vec<SocketAddr> = hints
        .iter()
        .filter_map(|hint| if let Hint::Moved(address) = hint { Some(*address) } else { None })
        .collect();
    candidates.extend(known.targets.iter().filter(|address| !suspects.contains(address)));
    candidates.extend(seeds(shared));
    candidates.extend(&suspects);
    let mut asked: Vec<SocketAddr> = Vec::new();
    for address in candidates {
        if shared.stop.load(Ordering::Acquire) {
            return None;
        }
        if asked.contains(&address) {
            continue;
        }
        asked.push(address);
        let Ok(mut probe) = Probe::connect(&shared.options, shared.tls.as_ref(), address, PATIENCE) else {
            continue;
        };
        let Ok(found) = probe.topology(PATIENCE) else { continue };
        // A topology that still contains a suspected server is outdated.
        let believable =
            !found.targets.is_empty() && !suspects.iter().any(|lost| found.targets.contains(lost));
        let moved = matches!(hints.first(), Some(Hint::Moved(_)));
        if (believable || moved && suspects.is_empty()) && found != *known {
            return Some(found);
        }
    }
    None
}

pub fn seeds(shared: &Shared) -> Vec<SocketAddr> {
    let options = &shared.options;
    let first = (options.host.clone(), options.port);
    std::iter::once(&first)
        .chain(&options.seeds)
        .filter_map(|(host, port)| probe::addresses(host, *port, options.family).ok())
        .flatten()
        .collect()
}
