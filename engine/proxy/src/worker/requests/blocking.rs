//! Commands that wait for an event. They use dedicated connections.

use crate::arena::Id;
use crate::command::Command;
use crate::worker::clients::client::Client;
use crate::worker::clients::reply::Answer;
use crate::worker::types::request::{Flow, pending};
use crate::worker::upstream::Upstream;
use resp::Args;

impl Upstream {
    /// Sends a command that may block. No further request of this client is handled until it is
    /// answered.
    pub fn block(&mut self, id: Id, client: &mut Client, command: &Command, args: &Args<'_>) -> Flow {
        let db = &self.dbs[client.db];
        if !client.is_drained() {
            return Flow::Defer;
        }
        let Ok(slot) = db.slot_of_keys(command, args) else { return client.refuse_slots(command.class) };
        let slot = slot.unwrap_or_else(|| db.topology.home());
        if !db.serves(client, slot) {
            return db.redirect_client(client, command.class, slot);
        }
        let number = client.expect(command.class, Answer::Waiting);
        self.send_dedicated(id, client, args.raw, pending(id, number, 0, command.class, slot));
        client.blocked = true;
        Flow::Next
    }
}
