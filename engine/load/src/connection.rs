//! One connection of one client to one server: its buffers and what is under way on it.

use crate::request::Operation;
use net::poll::Interest;
use net::stream::Stream;
use std::collections::VecDeque;

#[derive(Debug)]
pub enum State {
    /// Not open; tried again at that time.
    Down {
        retry_at: u64,
    },
    /// The kernel has not decided yet; given up at that time.
    Connecting {
        deadline: u64,
    },
    /// Replies to the greeting that are still to come.
    Greeting {
        left: usize,
        deadline: u64,
    },
    Ready,
}

#[derive(Debug)]
pub struct Connection {
    pub client: usize,
    pub target: u16,
    pub state: State,
    pub stream: Option<Stream>,
    pub interest: Interest,
    pub out: Vec<u8>,
    pub written: usize,
    /// The beginning of a reply that has not arrived completely.
    pub input: Vec<u8>,
    pub scanner: resp::ReplyScanner,
    /// Sent, in the order of their replies.
    pub in_flight: VecDeque<Operation>,
    /// How many at the end of these were put into `out` since the last write.
    pub fresh: usize,
    /// Waiting for room.
    pub queue: VecDeque<Operation>,
    pub touched: bool,
    /// Attempts to connect since it was last ready.
    pub attempts: u32,
    /// When it was last ready, or made.
    pub down_since: u64,
    /// Requests since it was opened.
    pub served: u64,
    /// With a limit of its own: when the next request may be sent.
    pub next_due: u64,
}

impl Connection {
    pub fn new(client: usize, target: u16, now: u64) -> Self {
        Self {
            client,
            target,
            state: State::Down { retry_at: 0 },
            stream: None,
            interest: Interest::default(),
            out: Vec::new(),
            written: 0,
            input: Vec::new(),
            scanner: resp::ReplyScanner::default(),
            in_flight: VecDeque::new(),
            fresh: 0,
            queue: VecDeque::new(),
            touched: false,
            attempts: 0,
            down_since: now,
            served: 0,
            next_due: 0,
        }
    }

    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready)
    }
}
