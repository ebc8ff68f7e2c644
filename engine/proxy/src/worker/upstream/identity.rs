//! Connections of the clients with the same credentials.

use crate::arena::Id;
use crate::topology::TargetNumber;
use crate::worker::types::session::Credentials;

#[derive(Debug, Default)]
pub struct Identity {
    pub credentials: Credentials,
    /// Shared connections, by lane and target number.
    pub connections: Vec<Vec<Option<Id>>>,
    /// Formerly dedicated connections without an owner.
    pub pool: Vec<(TargetNumber, Id)>,
    /// Whether the shards require a login that is missing.
    pub noauth: bool,
    /// Whether the shards refuse ECHO to this user.
    pub fences_with_hello: bool,
    /// The last error with which the shards refused the login.
    pub rejected: Option<Vec<u8>>,
    pub clients: usize,
}

impl Identity {
    pub fn is_unused(&self) -> bool {
        self.clients == 0 && self.pool.is_empty() && self.connections.iter().flatten().all(Option::is_none)
    }

    #[inline]
    pub fn connection(&self, lane: usize, target: TargetNumber) -> Option<Id> {
        *self.connections.get(lane)?.get(usize::from(target))?
    }

    /// Sets or removes the shared connection of a lane to a target.
    pub fn set_connection(&mut self, lane: usize, target: TargetNumber, connection: Option<Id>) {
        if self.connections.len() <= lane {
            self.connections.resize(lane + 1, Vec::new());
        }
        let of_lane = &mut self.connections[lane];
        if of_lane.len() <= usize::from(target) {
            of_lane.resize(usize::from(target) + 1, None);
        }
        of_lane[usize::from(target)] = connection;
    }
}
