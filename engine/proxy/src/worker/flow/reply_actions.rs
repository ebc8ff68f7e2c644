//! Replies and messages that change the state of a client.

use crate::worker::Worker;
use crate::worker::clients::reply::ReplyAction;
use crate::worker::types::request::ReplyTarget;
use crate::worker::upstream::backend::Backend;

impl Worker {
    /// Applies the change that follows the reply of a shard.
    #[cold]
    pub fn apply_reply_action(&mut self, reply_to: ReplyTarget, action: ReplyAction, frame: &[u8]) {
        let Some(mut client) = self.clients.arena.take(reply_to.client) else { return };
        let failed = frame[0] == b'-';
        let mut reply = frame.to_vec();
        match action {
            ReplyAction::ChangeIdentity { identity, name, hello } => {
                if !failed {
                    self.upstream.release_dedicated(&mut client);
                    self.upstream.dbs[client.db].change_identity(&mut client, identity);
                    if let Some(name) = name {
                        client.profile.get_or_insert_default().name = name;
                    }
                    if hello {
                        reply = self.upstream.dbs[client.db].greeting(&client);
                    }
                }
                self.upstream.dbs[client.db].identities[identity].clients -= 1;
            }
            ReplyAction::TransactionEnded => client.end_transaction(),
            ReplyAction::Tracking if failed => self.upstream.release_dedicated(&mut client),
            ReplyAction::Tracking => {}
            ReplyAction::List if failed => {}
            ReplyAction::List => {
                self.ask_for_list(reply_to.client, reply_to.number, client.db);
                self.clients.arena.put_back(reply_to.client, client);
                return;
            }
        }
        client.output.answer(reply_to.number, &reply);
        client.blocked = false;
        self.clients.arena.put_back(reply_to.client, client);
    }

    /// Forwards a frame that answers no request to the owner of the connection, if any.
    pub fn relay(&mut self, backend: &mut Backend, frame: &[u8]) {
        let Some(owner) = backend.owner else { return };
        let Some(mut client) = self.clients.arena.take(owner) else { return };
        self.upstream.relayed(backend, &mut client, frame);
        self.clients.arena.put_back(owner, client);
        self.clients.mark_progress(owner);
    }
}
