//! MULTI, EXEC, DISCARD, WATCH and UNWATCH. A transaction belongs to one shard: that of its first
//! key or of the watched keys. Commands before the first key are kept by the proxy.

use crate::arena::Id;
use crate::command::{Class, Command, Handling};
use crate::worker::clients::client::Client;
use crate::worker::clients::dedicated::TransactionLocation;
use crate::worker::clients::reply::{Answer, ReplyAction};
use crate::worker::requests::numbered::names_other_database;
use crate::worker::types::cursor::queued_scan;
use crate::worker::types::errors::{CROSSSLOT, NO_PRIMARY};
use crate::worker::types::request::{Bond, Flow, Pending, Purpose, pending};
use crate::worker::upstream::Upstream;
use resp::{Args, encode};

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const DISCARD: &[u8] = b"*1\r\n$7\r\nDISCARD\r\n";
const UNWATCH: &[u8] = b"*1\r\n$7\r\nUNWATCH\r\n";

impl Upstream {
    /// Handles commands outside MULTI.
    pub fn transaction(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        if !client.is_drained() {
            return Flow::Defer;
        }
        match command.handling {
            Handling::Multi => self.begin(client),
            Handling::Exec => client.reply(Class::Other, |out| encode::error(out, "ERR EXEC without MULTI")),
            Handling::Discard => {
                client.reply(Class::Other, |out| encode::error(out, "ERR DISCARD without MULTI"))
            }
            Handling::Watch => return self.watch(id, client, command, args),
            _ => self.unwatch(client),
        }
        Flow::Next
    }

    fn begin(&mut self, client: &mut Client) {
        let dedicated = client.dedicated.get_or_insert_default();
        dedicated.transaction.get_or_insert_default().started = true;
        client.reply(Class::Other, |out| encode::simple(out, "OK"));
    }

    fn watch(&mut self, id: Id, client: &mut Client, command: &Command, args: &Args<'_>) -> Flow {
        let db = &self.dbs[client.db];
        let Ok(slot) = db.slot_of_keys(command, args) else { return client.refuse_slots(Class::Other) };
        let slot = slot.unwrap_or(0);
        if !db.serves(client, slot) {
            return db.redirect_client(client, Class::Other, slot);
        }
        let dedicated = client.dedicated.get_or_insert_default();
        if dedicated.watching.is_some_and(|other| db.topology.owner(other) != db.topology.owner(slot)) {
            return client.refuse_slots(Class::Other);
        }
        dedicated.watching = Some(slot);
        let number = client.expect(Class::Other, Answer::Waiting);
        let request = Pending { bond: Bond::Starts, ..pending(id, number, 0, Class::Other, slot) };
        match self.backends.bound_connections(client).first() {
            Some(&backend) => client.congested = self.enqueue(backend, args.raw, request),
            None => self.send_dedicated(id, client, args.raw, request),
        }
        Flow::Next
    }

    fn unwatch(&mut self, client: &mut Client) {
        self.release_bound(client);
        client.reply(Class::Other, |out| encode::simple(out, "OK"));
    }

    /// Discards watched keys and queued commands on the shards.
    fn release_bound(&mut self, client: &mut Client) {
        for id in self.backends.bound_connections(client) {
            let Some(backend) = self.backends.arena.get_mut(id) else { continue };
            backend.is_bound = false;
            let request = if std::mem::take(&mut backend.in_transaction) { DISCARD } else { UNWATCH };
            self.enqueue(id, request, Pending::internal(Purpose::Ignore));
        }
        client.end_transaction();
    }

    /// Handles commands between MULTI and EXEC.
    pub fn queue_command(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        let Some(transaction) = client.dedicated.as_deref_mut().and_then(|own| own.transaction.as_mut())
        else {
            return Flow::Defer;
        };
        if !transaction.started {
            // The connection with the watched keys was lost. Commands outside the transaction are
            // handled as usual.
            if command.handling == Handling::Unwatch {
                client.dedicated.as_deref_mut().expect("it was just used").transaction = None;
            }
            return self.dispatch_command(id, client, command, args);
        }
        match command.handling {
            Handling::Exec | Handling::Discard if !command.accepts(args.len()) => {
                self.refuse_end(client, command)
            }
            Handling::Exec | Handling::Discard => self.finish(id, client, command, args),
            Handling::Reset | Handling::Quit => self.session(id, client, command, args),
            _ => {
                self.queue_or_refuse(id, client, command, args);
                Flow::Next
            }
        }
    }

    fn queue_or_refuse(&mut self, id: Id, client: &mut Client, command: &'static Command, args: &Args<'_>) {
        let selects = command.handling == Handling::Select && args.get(1) == Some(b"0") && args.len() == 2;
        let scan = (command.handling == Handling::Scan).then(|| queued_scan(args)).flatten();
        // In a transaction, UNWATCH has no effect and the same reply as SELECT 0, which users of an
        // endpoint may not send to a shard.
        let raw = if selects { UNWATCH } else { scan.as_deref().unwrap_or(args.raw) };
        let db = &self.dbs[client.db];
        let shards = db.topology.representatives().count();
        let keys = db.slot_of_keys(command, args);
        let key = keys.unwrap_or(None);
        let dedicated = client.dedicated.get_or_insert_default();
        let transaction = dedicated.transaction.get_or_insert_default();
        let bound = transaction.slot.or(dedicated.watching);
        let wrong = match (key, bound) {
            _ if !selects && !may_be_queued(command.handling, shards) => {
                Some(&b"-ERR Command not allowed inside a transaction\r\n"[..])
            }
            (Some(key), _) if !db.topology.is_local_slot(key) => {
                transaction.broken = true;
                db.redirect_client(client, command.class, key);
                return;
            }
            (Some(key), Some(bound)) if db.topology.owner(key) != db.topology.owner(bound) => Some(CROSSSLOT),
            _ if keys.is_err() => Some(CROSSSLOT),
            _ if names_other_database(command, args) => Some(&b"-ERR DB index is out of range\r\n"[..]),
            _ => None,
        };
        if let Some(text) = wrong {
            transaction.broken = true;
            client.reply(command.class, |out| out.extend_from_slice(text));
            return;
        }
        if key.is_none()
            && transaction.slot.is_none()
            && !command.name.is_empty()
            && command.accepts(args.len())
        {
            transaction.deferred_bytes += raw.len() + size_of::<Vec<u8>>();
            transaction.deferred.push(raw.to_vec());
            dedicated.risk = dedicated.risk.max(client.risk);
            client.reply(command.class, |out| encode::simple(out, "QUEUED"));
            return;
        }
        self.check_watched(client);
        self.send_queued(id, client, key, raw, command.class, Answer::Waiting);
    }

    /// Breaks the transaction if its watched keys have moved or could not be watched, because
    /// changes would not be detected.
    fn check_watched(&self, client: &mut Client) {
        let bound = self.backends.bound_connections(client).len();
        let dedicated = client.dedicated.get_or_insert_default();
        let is_watching = dedicated.watching.is_some();
        let transaction = dedicated.transaction.get_or_insert_default();
        if transaction.held == TransactionLocation::Nowhere && (bound > 1 || bound == 0 && is_watching) {
            transaction.mark_lost();
        }
    }

    /// Sends a command of the transaction, preceded by MULTI if it is the first one.
    fn send_queued(
        &mut self,
        id: Id,
        client: &mut Client,
        key: Option<u16>,
        raw: &[u8],
        class: Class,
        answer: Answer,
    ) {
        let home = self.dbs[client.db].topology.home();
        let bound = self.backends.bound_connections(client);
        let dedicated = client.dedicated.get_or_insert_default();
        let watching = dedicated.watching;
        let transaction = dedicated.transaction.get_or_insert_default();
        let slot = *transaction.slot.get_or_insert(watching.or(key).unwrap_or(home));
        let held = transaction.held;
        let opening = match held {
            TransactionLocation::Nowhere => {
                let deferred = std::mem::take(&mut transaction.deferred);
                transaction.deferred_bytes = 0;
                std::iter::once(MULTI.to_vec()).chain(deferred).collect()
            }
            _ => Vec::new(),
        };
        let bond = if matches!(answer, Answer::Action(_)) { Bond::Ends } else { Bond::Unchanged };
        let number = client.expect(class, answer);
        let request = Pending { bond, ..pending(id, number, 0, class, slot) };
        let backend = match (held, bound.first()) {
            (TransactionLocation::At(backend), _) => Some(backend),
            (TransactionLocation::Lost, _) => return client.output.answer(number, b"+QUEUED\r\n"),
            (TransactionLocation::Nowhere, Some(&backend)) => Some(backend),
            (TransactionLocation::Nowhere, None) => {
                let target = self.dbs[client.db].topology.owner(slot);
                target.and_then(|target| self.dedicated_to(id, client, target))
            }
        };
        let dedicated = client.dedicated.get_or_insert_default();
        dedicated.last_was_dedicated = true;
        dedicated.risk = dedicated.risk.max(client.risk);
        let Some(backend) = backend else {
            client.topology_version = self.dbs[client.db].topology_version.wrapping_sub(1);
            let parked =
                self.dbs[client.db].park(self.io.now, client.identity, true, raw, request, NO_PRIMARY);
            parked.opening = opening;
            return;
        };
        if !opening.is_empty() {
            self.open_transaction(client, backend, &opening);
        }
        client.congested = self.enqueue(backend, raw, request);
    }

    pub fn open_transaction(&mut self, client: &mut Client, id: Id, opening: &[Vec<u8>]) {
        for request in opening {
            self.enqueue(id, request, Pending::internal(Purpose::Ignore));
        }
        if let Some(backend) = self.backends.arena.get_mut(id) {
            backend.is_bound = true;
            backend.in_transaction = true;
        }
        let transaction = client.dedicated.as_deref_mut().and_then(|own| own.transaction.as_mut());
        if let Some(transaction) = transaction {
            transaction.held = TransactionLocation::At(id);
        }
    }

    /// Refuses EXEC or DISCARD with arguments. As in the engine, EXEC then ends the transaction, and
    /// DISCARD prevents that it is executed.
    fn refuse_end(&mut self, client: &mut Client, command: &Command) -> Flow {
        // Replies to queued commands must be received first.
        if !client.is_drained() {
            return Flow::Defer;
        }
        let reason = format!("wrong number of arguments for '{}' command", command.name);
        if command.handling == Handling::Exec {
            self.release_bound(client);
            let text = format!("EXECABORT Transaction discarded because of: {reason}");
            client.reply(Class::Other, |out| encode::error(out, &text));
            return Flow::Next;
        }
        if let Some(transaction) = client.dedicated.as_deref_mut().and_then(|own| own.transaction.as_mut()) {
            transaction.broken = true;
        }
        client.reply(Class::Other, |out| encode::error(out, &format!("ERR {reason}")));
        Flow::Next
    }

    fn finish(&mut self, id: Id, client: &mut Client, command: &Command, args: &Args<'_>) -> Flow {
        self.check_watched(client);
        let dedicated = client.dedicated.get_or_insert_default();
        let transaction = dedicated.transaction.get_or_insert_default();
        let is_exec = command.handling == Handling::Exec;
        let held = transaction.held;
        let is_lost = held == TransactionLocation::Lost || held == TransactionLocation::Nowhere && !is_exec;
        if !is_lost && !transaction.broken {
            let answer = Answer::Action(Box::new(ReplyAction::TransactionEnded));
            self.send_queued(id, client, None, args.raw, Class::Other, answer);
            client.blocked = true;
            return Flow::Next;
        }
        // Replies to queued commands must be received first.
        if !client.is_drained() {
            return Flow::Defer;
        }
        self.release_bound(client);
        client.reply(Class::Other, |out| match is_exec {
            true => encode::error(out, ABORTED),
            false => encode::simple(out, "OK"),
        });
        Flow::Next
    }
}

const ABORTED: &str = "EXECABORT Transaction discarded because of previous errors.";

/// Whether the command may be part of a transaction. Commands that concern the entire database may
/// only if there is one shard.
fn may_be_queued(handling: Handling, shards: usize) -> bool {
    use Handling::*;
    match handling {
        Multi | Watch | Subscribe | Unsubscribe | Monitor | Auth | Hello | Client | Select | Cluster
        | Refuse | Acl | Config | Info => false,
        Scan | Dbsize | Keys | Randomkey | Flush | Script | Function | Wait | Pubsub => shards < 2,
        _ => true,
    }
}
