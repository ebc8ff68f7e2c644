//! CLIENT LIST: every worker adds its clients of the database to a shared list. When the last
//! reference to the list is dropped, even by a worker that ends, the list is sent to the worker of
//! the client that requested it.

use super::client::ReplyTarget;
use super::{Handle, Message, Worker};
use crate::arena::Id;
use crate::process::Event;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub struct Listing {
    uid: u64,
    reply_to: ReplyTarget,
    to: Handle,
    lines: Mutex<Vec<(u64, String)>>,
}

impl Drop for Listing {
    fn drop(&mut self) {
        let lines = std::mem::take(self.lines.get_mut().unwrap_or_else(PoisonError::into_inner));
        self.to.send(Message::Listed { reply_to: self.reply_to, lines });
    }
}

impl Worker {
    pub(super) fn ask_for_list(&mut self, id: Id, number: u32, db: usize) {
        let reply_to = ReplyTarget { client: id, number, part: 0 };
        let uid = self.dbs[db].config.uid;
        let listing = Listing { uid, reply_to, to: self.handle.clone(), lines: Mutex::default() };
        // Fails only while the process is ending.
        let _ = self.events.send(Event::List(Arc::new(listing)));
    }

    pub(super) fn list(&mut self, listing: &Listing) {
        let ids = self.clients.ids().into_iter();
        let clients = ids.filter_map(|id| self.clients.get(id));
        let ours = clients.filter(|client| self.dbs[client.db].config.uid == listing.uid);
        let lines = ours.map(|client| (client.number, self.describe(client)));
        listing.lines.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
    }

    pub(super) fn listed(&mut self, reply_to: ReplyTarget, mut lines: Vec<(u64, String)>) {
        let Some(mut client) = self.clients.take(reply_to.client) else { return };
        lines.sort();
        let text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
        client.output.answer(reply_to.number, &self.text(&client, &text));
        self.clients.put_back(reply_to.client, client);
        self.mark_progress(reply_to.client);
    }
}
