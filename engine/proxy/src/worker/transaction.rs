//! MULTI, EXEC, DISCARD, WATCH and UNWATCH. A transaction belongs to one shard: that of its first key (or of the
//! keys watched). What comes before the first key waits here.

use super::Worker;
use super::backend::{Pending, Purpose};
use super::client::{Answer, Client};
use super::dispatch::pending;
use super::intake::Flow;
use super::session::Then;
use crate::arena::Id;
use crate::command::{Class, Command, Handling};
use resp::{Args, encode};

#[derive(Debug, Default)]
pub struct Transaction {
    /// A slot of the shard that has it; none while no command had a key.
    slot: Option<u16>,
    deferred: Vec<Vec<u8>>,
    /// A command was refused: EXEC must not execute the others.
    pub(super) broken: bool,
    /// MULTI was said; a lost WATCH makes a broken transaction before it is.
    begun: bool,
}

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";

impl Worker {
    /// Outside of MULTI.
    pub(super) fn transaction(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        if !client.is_drained() {
            return Flow::Hold;
        }
        match command.handling {
            Handling::Multi => self.begin(client),
            Handling::Exec => client.reply(Class::Other, |out| encode::error(out, "ERR EXEC without MULTI")),
            Handling::Discard => {
                client.reply(Class::Other, |out| encode::error(out, "ERR DISCARD without MULTI"))
            }
            Handling::Watch => return self.watch(id, client, command, args),
            _ => self.unwatch(id, client, args),
        }
        Flow::Next
    }

    fn begin(&mut self, client: &mut Client) {
        let exclusive = client.exclusive.get_or_insert_default();
        exclusive.transaction.get_or_insert_default().begun = true;
        client.reply(Class::Other, |out| encode::simple(out, "OK"));
    }

    fn watch(&mut self, id: Id, client: &mut Client, command: &Command, args: &Args<'_>) -> Flow {
        let db = &self.dbs[client.db];
        let slot = command.first_key(args).map_or(0, |key| db.slot_of(key));
        if !self.serves(client, slot) {
            return self.elsewhere(client, Class::Other, slot);
        }
        let db = &self.dbs[client.db];
        let exclusive = client.exclusive.get_or_insert_default();
        if exclusive.watching.is_some_and(|other| db.topology.owner(other) != db.topology.owner(slot)) {
            client.reply(Class::Other, |out| encode::error(out, CROSSSLOT));
            return Flow::Next;
        }
        exclusive.watching = Some(slot);
        let number = client.expect(Class::Other, Answer::Waiting);
        self.send_exclusive(id, client, args.raw, pending(id, number, 0, Class::Other, slot));
        Flow::Next
    }

    fn unwatch(&mut self, id: Id, client: &mut Client, args: &Args<'_>) {
        match client.exclusive.as_deref_mut().and_then(|exclusive| exclusive.watching.take()) {
            Some(slot) => {
                let number = client.expect(Class::Other, Answer::Waiting);
                self.send_exclusive(id, client, args.raw, pending(id, number, 0, Class::Other, slot));
            }
            None => client.reply(Class::Other, |out| encode::simple(out, "OK")),
        }
    }

    /// Between MULTI and EXEC.
    pub(super) fn queue_command(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        let Some(transaction) = client.exclusive.as_deref_mut().and_then(|own| own.transaction.as_mut())
        else {
            return Flow::Hold;
        };
        if !transaction.begun {
            // The connection that watched was lost. Everything but the transaction goes on as usual.
            if command.handling == Handling::Unwatch || command.handling == Handling::Watch {
                client.exclusive.as_deref_mut().expect("it was just used").transaction = None;
            }
            return self.dispatch_command(id, client, command, args);
        }
        match command.handling {
            Handling::Exec | Handling::Discard => self.finish(id, client, command, args),
            Handling::Reset | Handling::Quit => self.session(id, client, command, args),
            _ => {
                self.enqueue(id, client, command, args);
                Flow::Next
            }
        }
    }

    fn enqueue(&mut self, id: Id, client: &mut Client, command: &'static Command, args: &Args<'_>) {
        let db = &self.dbs[client.db];
        let shards = db.topology.representatives().count();
        let key = command.first_key(args).map(|key| db.slot_of(key));
        let exclusive = client.exclusive.get_or_insert_default();
        let transaction = exclusive.transaction.get_or_insert_default();
        let bound = transaction.slot.or(exclusive.watching);
        let wrong = match (key, bound) {
            _ if !may_be_queued(command.handling, shards) => {
                Some("ERR Command not allowed inside a transaction")
            }
            (Some(key), _) if !db.topology.is_ours(key) => {
                transaction.broken = true;
                self.elsewhere(client, command.class, key);
                return;
            }
            (Some(key), Some(bound)) if db.topology.owner(key) != db.topology.owner(bound) => Some(CROSSSLOT),
            _ => None,
        };
        if let Some(text) = wrong {
            transaction.broken = true;
            client.reply(command.class, |out| encode::error(out, text));
            return;
        }
        if key.is_none()
            && transaction.slot.is_none()
            && !command.name.is_empty()
            && command.accepts(args.len())
        {
            transaction.deferred.push(args.raw.to_vec());
            client.reply(command.class, |out| encode::simple(out, "QUEUED"));
            return;
        }
        let slot = self.bind(id, client, key);
        let number = client.expect(command.class, Answer::Waiting);
        self.send_exclusive(id, client, args.raw, pending(id, number, 0, command.class, slot));
    }

    /// Begins the transaction at its shard, once it is known which one that is.
    fn bind(&mut self, id: Id, client: &mut Client, key: Option<u16>) -> u16 {
        let home = self.dbs[client.db].topology.home();
        let exclusive = client.exclusive.get_or_insert_default();
        let transaction = exclusive.transaction.get_or_insert_default();
        if let Some(slot) = transaction.slot {
            return slot;
        }
        let slot = exclusive.watching.or(key).unwrap_or(home);
        transaction.slot = Some(slot);
        let deferred = std::mem::take(&mut transaction.deferred);
        let own = Pending { slot, ..Pending::own(Purpose::Ignore) };
        self.send_exclusive(id, client, MULTI, own);
        for request in deferred {
            self.send_exclusive(id, client, &request, own);
        }
        if let Some(backend) =
            self.bound_connection(client, slot).and_then(|backend| self.backends.get_mut(backend))
        {
            backend.in_transaction = true;
        }
        slot
    }

    fn finish(&mut self, id: Id, client: &mut Client, command: &Command, args: &Args<'_>) -> Flow {
        let exclusive = client.exclusive.get_or_insert_default();
        let transaction = exclusive.transaction.get_or_insert_default();
        let is_exec = command.handling == Handling::Exec;
        let broken = transaction.broken;
        let discards = broken || !is_exec;
        let touched = transaction.slot.is_some() || exclusive.watching.is_some();
        if !touched && discards {
            exclusive.transaction = None;
            client.reply(Class::Other, |out| match is_exec {
                true => encode::error(out, ABORTED),
                false => encode::simple(out, "OK"),
            });
            return Flow::Next;
        }
        let slot = self.bind(id, client, None);
        let exclusive = client.exclusive.get_or_insert_default();
        exclusive.transaction = None;
        exclusive.watching = None;
        let raw = if discards { &b"*1\r\n$7\r\nDISCARD\r\n"[..] } else { args.raw };
        if broken && is_exec {
            let own = Pending { slot, ..Pending::own(Purpose::Ignore) };
            self.send_exclusive(id, client, raw, own);
            client.reply(Class::Other, |out| encode::error(out, ABORTED));
            self.end_transaction(client);
            return Flow::Next;
        }
        let number = client.expect(command.class, Answer::Then(Box::new(Then::TransactionEnded)));
        self.send_exclusive(id, client, raw, pending(id, number, 0, Class::Other, slot));
        client.blocked = true;
        Flow::Next
    }

    fn bound_connection(&self, client: &Client, slot: u16) -> Option<Id> {
        let target = self.dbs[client.db].topology.owner(slot)?;
        client.exclusive.as_deref()?.connection(target)
    }

    pub(super) fn end_transaction(&mut self, client: &Client) {
        let connections = client.exclusive.as_deref().map(|own| own.all_connections()).unwrap_or_default();
        for backend in connections {
            if let Some(backend) = self.backends.get_mut(backend) {
                backend.in_transaction = false;
            }
        }
    }
}

pub(super) const CROSSSLOT: &str = "CROSSSLOT Keys in request don't hash to the same slot";
const ABORTED: &str = "EXECABORT Transaction discarded because of previous errors.";

/// Commands about the whole database cannot be part of a transaction of one shard, unless it is the only one.
fn may_be_queued(handling: Handling, shards: usize) -> bool {
    use Handling::*;
    match handling {
        Multi | Watch | Subscribe | Unsubscribe | Monitor | Auth | Hello | Client | Select | Cluster
        | Refuse | Acl | Config => false,
        Scan | Dbsize | Keys | Randomkey | Flush | Script | Function | Wait => shards < 2,
        _ => true,
    }
}
