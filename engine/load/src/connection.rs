//! One connection of one client to one server: its buffers and its requests in flight.

use crate::request::Operation;
use net::poll::Interest;
use net::stream::Stream;
use std::collections::VecDeque;

#[derive(Debug)]
pub enum State {
    /// Not open. The next attempt is made at `retry_at`.
    Down {
        retry_at: u64,
    },
    /// The kernel is connecting. The attempt is abandoned at `deadline`.
    Connecting {
        deadline: u64,
    },
    /// `left` replies to the commands that prepare the connection are still expected.
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
    /// The start of a reply that has not arrived completely.
    pub input: Vec<u8>,
    pub scanner: resp::ReplyScanner,
    /// Requests sent, in the order of their replies.
    pub in_flight: VecDeque<Operation>,
    /// Number of requests at the end of `in_flight` that were added to `out` since the last write.
    pub unsent_count: usize,
    /// Requests that wait for free capacity.
    pub queue: VecDeque<Operation>,
    pub touched: bool,
    /// Connection attempts since the connection was last ready.
    pub attempts: u32,
    /// Time at which the connection was last ready, or was created.
    pub down_since: u64,
    /// Requests since the connection was opened.
    pub served: u64,
    /// With a rate limit per connection: the time at which the next request may be sent.
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
            unsent_count: 0,
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
