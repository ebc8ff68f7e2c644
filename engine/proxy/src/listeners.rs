//! The listening sockets of all databases: opened, kept and closed according to the desired state.

use crate::acceptor::Listener;
use crate::control::{Database, DatabaseError};
use crate::socket;
use crate::stats::Connections;
use crate::tls;
use rustls::ServerConfig;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::SystemTime;

/// Modification times of the TLS files of a database; `None` for a missing file.
type Stamps = Vec<Option<SystemTime>>;

struct Entry {
    at: SocketAddr,
    fd: Arc<OwnedFd>,
    tls: Option<Arc<ServerConfig>>,
    max_connections: u32,
}

#[derive(Default)]
pub struct Listeners {
    by_uid: BTreeMap<u64, Entry>,
    /// Kept for the lifetime of the process, because the totals are cumulative.
    connections: BTreeMap<u64, Arc<Connections>>,
    /// Sockets of the predecessor that have not been assigned yet.
    inherited: BTreeMap<SocketAddr, OwnedFd>,
    stamps: BTreeMap<u64, Stamps>,
}

impl Listeners {
    pub fn inherit(&mut self, sockets: BTreeMap<SocketAddr, OwnedFd>) {
        self.inherited = sockets;
    }

    /// Opens missing sockets and closes obsolete ones. Returns the failures, which are retried with
    /// the next call.
    pub fn apply(&mut self, databases: &[Arc<Database>]) -> Vec<DatabaseError> {
        self.by_uid.retain(|uid, _| databases.iter().any(|database| database.uid == *uid));
        let mut failures = Vec::new();
        for database in databases {
            if let Err(message) = self.listen(database) {
                failures.push(DatabaseError { uid: database.uid, message });
            }
        }
        failures
    }

    fn listen(&mut self, database: &Database) -> Result<(), String> {
        self.stamps.insert(database.uid, stamps(database));
        let ip: IpAddr =
            database.address.parse().map_err(|error| format!("{}: {error}", database.address))?;
        let at = SocketAddr::new(ip, database.port);
        // Read each time, so that a renewed certificate is used for the next connection.
        let tls = database.tls.as_ref().map(tls::server_config).transpose()?;
        let fd = match self.by_uid.get(&database.uid) {
            Some(entry) if entry.at == at => Arc::clone(&entry.fd),
            _ => Arc::new(match self.inherited.remove(&at) {
                Some(fd) => fd,
                None => socket::listen(at).map_err(|error| format!("{at}: {error}"))?,
            }),
        };
        self.by_uid.insert(database.uid, Entry { at, fd, tls, max_connections: database.max_connections });
        Ok(())
    }

    /// Whether a certificate or key has been written since it was read, or could not be read.
    pub fn are_renewed(&self, databases: &[Arc<Database>]) -> bool {
        databases.iter().any(|database| self.stamps.get(&database.uid) != Some(&stamps(database)))
    }

    pub fn connections(&mut self, uid: u64) -> Arc<Connections> {
        Arc::clone(self.connections.entry(uid).or_default())
    }

    /// Returns the listeners for the acceptor.
    pub fn current(&mut self) -> Vec<Listener> {
        let uids: Vec<_> = self.by_uid.keys().copied().collect();
        uids.into_iter().map(|uid| self.listener(uid)).collect()
    }

    fn listener(&mut self, uid: u64) -> Listener {
        let connections = self.connections(uid);
        let Entry { fd, tls, max_connections, .. } = &self.by_uid[&uid];
        Listener { uid, fd: Arc::clone(fd), tls: tls.clone(), max_connections: *max_connections, connections }
    }

    /// Returns addresses and sockets for a successor.
    pub fn sockets(&self) -> Vec<(SocketAddr, Arc<OwnedFd>)> {
        self.by_uid.values().map(|entry| (entry.at, Arc::clone(&entry.fd))).collect()
    }

    pub fn close(&mut self) {
        self.by_uid.clear();
    }
}

fn stamps(database: &Database) -> Stamps {
    let Some(tls) = &database.tls else { return Stamps::new() };
    let files = [Some(&tls.certificate), Some(&tls.key), tls.client_ca.as_ref()];
    let written = |path: &String| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    files.into_iter().flatten().map(written).collect()
}
