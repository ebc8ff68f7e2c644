//! request -> command: selects the handling by the name, and forwards common commands.

use crate::arena::Id;
use crate::command::{Class, Command, Handling, Keys, ReplySafety};
use crate::command_index;
use crate::reply_safety::{self, Risk};
use crate::stats::Failure;
use crate::worker::clients::client::Client;
use crate::worker::clients::reply::Answer;
use crate::worker::requests::numbered::{NO_SUCH_DATABASE, names_other_database};
use crate::worker::requests::subcommands;
use crate::worker::types::request::{Flow, Pending, pending};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::db::CrossSlot;
use resp::{Args, encode};

impl Upstream {
    /// Handles one request, or defers it without changing anything.
    #[inline]
    pub fn dispatch(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        let db = &self.dbs[client.db];
        if client.topology_version != db.topology_version {
            // Slots have moved: pending requests may be sent again and must not be overtaken.
            if !client.is_drained() {
                return Flow::Defer;
            }
            client.topology_version = db.topology_version;
        }
        let name = args.get(0).unwrap_or_default();
        let command = command_index::find(name).unwrap_or_else(|| db.commands.find(name));
        // Commands queued in a transaction do not block.
        client.current_command = (command.index, command.blocks(args) && !client.is_queueing());
        if command.proof == ReplySafety::Unknown && reply_safety::is_http(name) {
            return self.refuse_http(client, command);
        }
        client.risk = reply_safety::risk(command.proof, args);
        if self.dbs[client.db].identities[client.identity].noauth && !is_open(command) {
            return self.refuse_unauthenticated(client, command);
        }
        if client.risk == Risk::Unsafe && !client.is_queueing() && !client.is_drained() {
            // It uses another connection than the pending requests and must not overtake them.
            return Flow::Defer;
        }
        let flow = if client.dedicated.is_some() {
            let flow = self.dispatch_dedicated(id, client, command, args);
            if flow == Flow::Next && command.handling != Handling::Client {
                forget_caching(client);
            }
            flow
        } else {
            self.dispatch_command(id, client, command, args)
        };
        if flow == Flow::Next {
            let db = &mut self.dbs[client.db];
            let class = if client.current_command.1 { Class::Blocking } else { command.class };
            if let Some(failure) = client.refusal.take() {
                db.stats.unserved[class as usize] += 1;
                db.stats.failed(failure);
                return flow;
            }
            db.stats.requests[class as usize] += 1;
            if command.may_write() {
                client.wrote(db.topology_version);
            }
        }
        flow
    }

    /// Refuses an HTTP request. The engine would close the connection, which other clients share,
    /// without a reply.
    #[cold]
    fn refuse_http(&mut self, client: &mut Client, command: &Command) -> Flow {
        client.reply(command.class, |out| {
            encode::error(out, "ERR Protocol error: HTTP requests are not supported")
        });
        client.refusal = None;
        client.closing = true;
        let stats = &mut self.dbs[client.db].stats;
        stats.unserved[command.class as usize] += 1;
        stats.failed(Failure::Protocol);
        Flow::Next
    }

    #[cold]
    fn refuse_unauthenticated(&mut self, client: &mut Client, command: &Command) -> Flow {
        client.reply(command.class, |out| encode::error(out, "NOAUTH Authentication required."));
        client.refusal = None;
        let stats = &mut self.dbs[client.db].stats;
        stats.unserved[command.class as usize] += 1;
        stats.failed(Failure::Noauth);
        Flow::Next
    }

    #[inline]
    pub fn dispatch_command(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        if command.handling == Handling::Forward {
            return self.forward(id, client, command, args);
        }
        self.dispatch_special(id, client, command, args)
    }

    fn dispatch_special(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        use Handling::*;
        if let Some(flow) = self.refuse(id, client, command, args) {
            return flow;
        }
        match command.handling {
            Mget | Mset | Count => self.split(id, client, command, args),
            Block => self.block(id, client, command, args),
            Xread if command.blocks(args) => self.block(id, client, command, args),
            Subscribe | Unsubscribe => self.subscribe(id, client, command, args),
            Monitor => self.monitor(id, client, args),
            Multi | Exec | Discard | Watch | Unwatch => self.transaction(id, client, command, args),
            Auth | Hello | Reset | Quit | Select | Client | Ping | Echo | ReadMode => {
                self.session(id, client, command, args)
            }
            Scan | Dbsize | Keys | Randomkey | Flush | Script | Function | Wait | Info | Pubsub | Config => {
                self.fan_out(id, client, command, args)
            }
            Cluster => self.dbs[client.db].cluster(client, args),
            Acl | Forward | OtherDatabase | Xread | Run | Refuse => self.forward(id, client, command, args),
        }
    }

    /// Refuses invalid commands that the proxy answers itself, with the same errors as the engine.
    fn refuse(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Option<Flow> {
        let wrong = match command.handling {
            Handling::Auth if !command.accepts(args.len()) => {
                Some("ERR wrong number of arguments for 'auth' command".into())
            }
            _ if !command.accepts(args.len()) => {
                return Some(self.forward_home(id, client, command.class, args.raw));
            }
            Handling::OtherDatabase if names_other_database(command, args) => Some(NO_SUCH_DATABASE.into()),
            Handling::Refuse => Some(format!("ERR {} is not available through the endpoint", command.name)),
            handling => subcommands::refusal(handling, args.get(1).unwrap_or_default()),
        };
        if let Some(text) = wrong {
            client.reply(command.class, |out| encode::error(out, &text));
            return Some(Flow::Next);
        }
        None
    }

    /// Forwards the request unchanged to the shard of the first key.
    #[inline]
    pub fn forward(&mut self, id: Id, client: &mut Client, command: &Command, args: &Args<'_>) -> Flow {
        let db = &self.dbs[client.db];
        let slot = match db.slot_of_keys(command, args) {
            Ok(Some(slot)) => {
                if !db.serves(client, slot) {
                    return db.redirect_client(client, command.class, slot);
                }
                slot
            }
            Ok(None) => db.topology.home(),
            Err(CrossSlot) => return client.refuse_slots(command.class),
        };
        let number = client.expect(command.class, Answer::Waiting);
        let is_script = command.handling == Handling::Run;
        let roams = command.keys == Keys::Unknown;
        let request =
            Pending { is_script, has_unknown_keys: roams, ..pending(id, number, 0, command.class, slot) };
        self.route(id, client, args.raw, request);
        Flow::Next
    }

    pub fn forward_home(&mut self, id: Id, client: &mut Client, class: Class, raw: &[u8]) -> Flow {
        let slot = self.dbs[client.db].topology.home();
        self.ask(id, client, class, slot, raw);
        Flow::Next
    }

    /// Sends one request to one shard and returns its reply to the client.
    #[inline]
    pub fn ask(&mut self, id: Id, client: &mut Client, class: Class, slot: u16, raw: &[u8]) {
        let number = client.expect(class, Answer::Waiting);
        self.route(id, client, raw, pending(id, number, 0, class, slot));
    }
}

/// Removes CLIENT CACHING after the command that it applied to has been sent.
fn forget_caching(client: &mut Client) {
    if let Some(dedicated) = client.dedicated.as_deref_mut() {
        dedicated.caching = None;
    }
}

/// Whether the command is allowed before login.
fn is_open(command: &Command) -> bool {
    matches!(command.handling, Handling::Auth | Handling::Hello | Handling::Quit | Handling::Reset)
}
