//! Replies and messages that change the state of a client.

use crate::worker::Worker;
use crate::worker::clients::reply::ReplyAction;
use crate::worker::types::request::ReplyTarget;
use crate::worker::upstream::backend::Backend;

/// Errors with which a shard refuses a write of a known user.
const PERMISSION_CHECKED: [&[u8]; 4] = [b"-NOPERM ", b"-OOM ", b"-MISCONF ", b"-NOREPLICAS "];

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
                    self.upstream.change_identity(&mut client, identity);
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
            ReplyAction::Tracking(_) if failed => {}
            ReplyAction::Tracking(change) => self.upstream.apply_tracking(&mut client, change),
            ReplyAction::Scan(scan) if failed && scan.page.is_none() => {}
            ReplyAction::Scan(scan) => match self.continue_scan(reply_to, &mut client, scan, frame) {
                Some(page) => reply = page,
                None => return self.clients.arena.put_back(reply_to.client, client),
            },
            // Errors of a shard that accepts no writes follow the check of the permission.
            ReplyAction::List(_)
                if failed && !PERMISSION_CHECKED.iter().any(|error| frame.starts_with(error)) => {}
            ReplyAction::List(mut filter) => {
                if frame.starts_with(b"-NOPERM ") {
                    filter.restrict_to(self.upstream.dbs[client.db].user_of(&client));
                }
                self.ask_for_list(reply_to.client, reply_to.number, client.db, filter);
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
