//! The expected replies of a client, and what follows them.

use crate::arena::Id;
use crate::command::Class;
use crate::worker::clients::dedicated::TrackingMode;
use crate::worker::clients::join::Join;
use crate::worker::clients::scan::Scan;
use crate::worker::types::list_filter::ListFilter;

#[derive(Debug)]
pub enum Answer {
    Waiting,
    /// In the stash, because replies to earlier requests are missing.
    Stashed {
        at: usize,
        len: usize,
    },
    Joining(Box<Join>),
    /// The reply of the shard changes the state of the client.
    Action(Box<ReplyAction>),
}

/// The reply to a pending request.
#[derive(Debug)]
pub struct Expected {
    pub arrived: u64,
    pub class: Class,
    /// Index of its command.
    pub command_index: u16,
    /// Whether CLIENT REPLY OFF or SKIP applies.
    pub silent: bool,
    /// Whether the reply is an error of the proxy.
    pub unserved: bool,
    pub answer: Answer,
}

// A client has one for each request without a reply.
const _: () = assert!(size_of::<Expected>() == 40);

/// Change of the client that follows a successful reply of the shard.
#[derive(Debug)]
pub enum ReplyAction {
    /// The password is correct. The proxy creates the reply to HELLO itself.
    ChangeIdentity { identity: usize, name: Option<Vec<u8>>, hello: bool },
    /// EXEC or DISCARD: the transaction on the connection has ended.
    TransactionEnded,
    /// CLIENT TRACKING, which the other dedicated connections must receive as well.
    Tracking(TrackingChange),
    /// A page of keys.
    Scan(Scan),
    /// Whether the user may list the clients of other users.
    List(ListFilter),
}

#[derive(Debug)]
pub struct TrackingChange {
    pub request: Vec<u8>,
    /// `None`: tracking ends.
    pub mode: Option<TrackingMode>,
    pub others: Vec<Id>,
}

impl ReplyAction {
    /// Returns the identity that is reserved for the client.
    pub fn identity(&self) -> Option<usize> {
        match self {
            Self::ChangeIdentity { identity, .. } => Some(*identity),
            _ => None,
        }
    }
}
