//! The client of a command, and its database.

use super::request::Request;
use crate::ffi::*;
use crate::tier::{Client, tier};

/// The client of a command.
pub(super) struct Caller {
    pub(super) id: u64,
    /// Whether the command comes directly from a client, not from a script.
    pub(super) top: bool,
    pub(super) in_multi: bool,
    pub(super) database: u32,
}

impl Caller {
    pub(super) fn new(id: u64) -> Self {
        if !tier().clients.contains_key(&id) {
            if !is_client(id) {
                return Self { id, top: false, in_multi: false, database: tier().database };
            }
            tier().clients.insert(id, Client::default());
        }
        let database = database_of(id);
        confirm_multi(id);
        let client = tier().clients.entry(id).or_default();
        let in_multi = client.in_multi;
        if !in_multi && !client.pinned.is_empty() {
            // The last command of the client, which may have been blocked, has ended.
            tier().unpin(id);
        }
        Self { id, top: true, in_multi, database }
    }
}

/// Checks whether MULTI was accepted. If it was refused, nothing is queued.
fn confirm_multi(id: u64) {
    let Some(client) = tier().clients.get_mut(&id) else { return };
    if client.in_multi && !client.confirmed {
        client.in_multi = client_info(id).is_some_and(|info| info.flags & CLIENT_IN_MULTI != 0);
        client.confirmed = client.in_multi;
    }
}

pub(super) fn select(request: &Request, id: u64, top: bool) {
    let number = (request.argv.len() == 2)
        .then(|| std::str::from_utf8(request.arg(1)).ok()?.parse::<u32>().ok())
        .flatten()
        .filter(|&number| number < tier().databases);
    if !top {
        tier().database = number.unwrap_or(tier().database);
        return;
    }
    let client = tier().clients.entry(id).or_default();
    // Outside a transaction, the server is queried before the next command, because this one may be
    // refused.
    client.database = if client.in_multi { number.or(client.database) } else { None };
}

/// Whether it is a connection (or the link to the primary), not a call within a script.
fn is_client(id: u64) -> bool {
    client_info(id).is_some()
}

fn client_info(id: u64) -> Option<ClientInfo> {
    let mut info = ClientInfo { version: 1, flags: 0, id: 0, addr: [0; 46], port: 0, db: 0 };
    // SAFETY: `info` has the version that it declares.
    (unsafe { (api().GetClientInfoById)(&mut info, id) } == OK).then_some(info)
}

fn database_of(id: u64) -> u32 {
    if tier().databases == 1 {
        return 0;
    }
    if let Some(database) = tier().clients.get(&id).and_then(|client| client.database) {
        return database;
    }
    let database = client_info(id).map_or(0, |info| u32::from(info.db));
    tier().clients.entry(id).or_default().database = Some(database);
    database
}
