//! CLIENT LIST: every worker adds its clients of the database to a shared list. When the last
//! reference to the list is dropped, even by a worker that ends, the list is sent to the worker of
//! the client that requested it.

use crate::arena::Id;
use crate::worker::Worker;
use crate::worker::types::list_filter::ListFilter;
use crate::worker::types::message::Listing;
use crate::worker::types::request::ReplyTarget;
use std::sync::{Mutex, PoisonError};

impl Worker {
    pub fn ask_for_list(&mut self, id: Id, number: u32, db: usize, filter: ListFilter) {
        let reply_to = ReplyTarget { client: id, number, part: 0 };
        let uid = self.upstream.dbs[db].config.uid;
        let (to, lines) = (self.inbox.handle.clone(), Mutex::default());
        let listing = Listing { uid, reply_to, filter, to, lines };
        self.upstream.reports.request_list(listing);
    }

    pub fn list(&mut self, listing: &Listing) {
        let ids = self.clients.arena.ids().into_iter();
        let clients = ids.filter_map(|id| self.clients.arena.get(id));
        let ours = clients.filter(|client| {
            let db = &self.upstream.dbs[client.db];
            let is_subscriber = client.dedicated.as_deref().is_some_and(|own| !own.subscriptions.is_empty());
            db.config.uid == listing.uid
                && listing.filter.includes(db.user_of(client), client.number, is_subscriber)
        });
        let lines = ours.map(|client| {
            (client.number, self.upstream.dbs[client.db].describe(client, self.upstream.io.now))
        });
        listing.lines.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
    }

    pub fn listed(&mut self, reply_to: ReplyTarget, mut lines: Vec<(u64, String)>) {
        let Some(mut client) = self.clients.arena.take(reply_to.client) else { return };
        lines.sort();
        let text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
        client.output.answer(reply_to.number, &self.upstream.dbs[client.db].text(&client, &text));
        self.clients.arena.put_back(reply_to.client, client);
        self.clients.mark_progress(reply_to.client);
    }
}
