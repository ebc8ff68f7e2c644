//! A request on its way to a shard, and what can happen to it.

use crate::arena::Id;
use crate::command::Class;
use crate::reply_safety::Risk;
use crate::topology::TargetNumber;

/// Maximum number of redirections of a request. More of them mean that the shards disagree
/// permanently.
pub const MAX_REDIRECTS: u8 = 8;

/// Destination of a reply.
#[derive(Debug, Clone, Copy)]
pub struct ReplyTarget {
    pub client: Id,
    pub number: u32,
    /// Index of the part if the request was split.
    pub part: u32,
}

/// How a reply is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Sent to the client.
    Reply,
    /// Discarded: the reply to a request that the proxy has sent before a client's request.
    Ignore,
    /// The reply to the login of a new connection.
    Greeting,
    /// The reply to COMMAND, which lists the commands of the engine.
    Commands,
    /// Whether the shard itself confirms the error that a script returned, see `flow/scripts.rs`.
    Probe,
    /// See `upstream/canaries.rs`.
    Canary,
    /// The reply to a random text, which confirms that the previous request had exactly one reply.
    Fence,
}

/// Whether a request changes if the connection holds state of its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bond {
    Unchanged,
    /// WATCH, from the time it is sent.
    Starts,
    /// EXEC and DISCARD, when answered.
    Ends,
}

#[derive(Debug, Clone, Copy)]
pub struct Pending {
    pub reply_to: ReplyTarget,
    pub purpose: Purpose,
    pub class: Class,
    pub slot: u16,
    pub len: u32,
    pub bond: Bond,
    /// Whether a script may determine the reply, which then is not a statement of the shard.
    pub is_script: bool,
    /// Risk that the request causes more than one reply.
    pub risk: Risk,
    /// Whether only the engine can find the keys. The first shard then redirects the request.
    pub has_unknown_keys: bool,
    /// Number of times that it was redirected.
    pub redirects: u8,
    /// Time until which it may wait for a primary; 0: it has not waited yet.
    pub deadline: u64,
    /// Time from which the timeout in its bytes counts; 0: since its arrival.
    pub blocks_since: u64,
}

// A connection to a shard keeps one for each request without a reply.
const _: () = assert!(size_of::<Pending>() == 48);

impl Pending {
    /// Creates a request that the proxy sends itself.
    pub fn internal(purpose: Purpose) -> Self {
        let reply_to = ReplyTarget { client: Id::NONE, number: 0, part: 0 };
        Self {
            reply_to,
            purpose,
            class: Class::Other,
            slot: 0,
            len: 0,
            bond: Bond::Unchanged,
            is_script: false,
            risk: Risk::None,
            has_unknown_keys: false,
            redirects: 0,
            deadline: 0,
            blocks_since: 0,
        }
    }

    /// Whether it may wait for a primary, or longer than it already has.
    pub fn can_wait(&self, now: u64) -> bool {
        self.deadline == 0 || self.deadline > now
    }
}

#[inline]
pub fn pending(client: Id, number: u32, part: u32, class: Class, slot: u16) -> Pending {
    let reply_to = ReplyTarget { client, number, part };
    Pending { reply_to, class, slot, ..Pending::internal(Purpose::Reply) }
}

/// Result of handling a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Next,
    /// Handle it again when another request has been answered.
    Defer,
}

/// Result for a request while its shard is unavailable.
#[derive(Debug, Clone, Copy)]
pub enum RequestResult {
    Waits,
    Failed,
    Lost,
}

#[derive(Debug)]
pub struct Redirect {
    pub pending: Pending,
    pub bytes: Vec<u8>,
    pub identity: usize,
    pub db: usize,
    pub is_dedicated: bool,
    pub to: To,
    pub frame: Vec<u8>,
}

/// A request that follows a reply, to the same process.
#[derive(Debug)]
pub struct FollowUp {
    pub db: usize,
    pub identity: usize,
    pub target: TargetNumber,
    pub bytes: &'static [u8],
    pub pending: Pending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    Owner,
    /// The owner of this slot.
    Slot(u16),
    Asking(TargetNumber),
    /// A primary, when one can execute it.
    Later,
    /// The owner after the agent has sent a new shard list, because a shard named an address that
    /// is not in the current one.
    AfterUpdate,
}

/// A script that may not have been executed.
#[derive(Debug)]
pub struct UnverifiedScriptError {
    pub pending: Pending,
    pub request: Vec<u8>,
    pub frame: Vec<u8>,
}
/// A reply to the oldest request of the connection that its client has received in part.
#[derive(Debug, Clone, Copy)]
pub struct LongReply {
    pub client: Id,
    pub left: usize,
}
