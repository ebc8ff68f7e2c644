//! Messages of other threads to a worker. The replacement of a failed worker inherits them.

use crate::worker::types::message::{Handle, Message};
use std::sync::mpsc::Receiver;

pub struct Inbox {
    /// Handle of this worker, for replies of other threads.
    pub handle: Handle,
    pub messages: Receiver<Message>,
}

impl Inbox {
    pub fn next(&self) -> Option<Message> {
        self.messages.try_recv().ok()
    }
}
