//! CLIENT TRACKING, CACHING and TRACKINGINFO: the commands of a client with tracking use dedicated
//! connections, so that the engine knows which client reads which key.

use crate::arena::Id;
use crate::command::Class;
use crate::reply_safety::Risk;
use crate::worker::clients::client::Client;
use crate::worker::clients::dedicated::{Tracking, TrackingMode};
use crate::worker::clients::reply::{Answer, ReplyAction, TrackingChange};
use crate::worker::requests::subcommands::is_word;
use crate::worker::types::request::{Flow, Pending, Purpose, pending};
use crate::worker::upstream::Upstream;
use resp::{Args, encode};

const UNAVAILABLE: &str = "ERR CLIENT TRACKING needs RESP3 and no REDIRECT through the endpoint";

impl Upstream {
    /// Sends CLIENT TRACKING to one shard. If the shard accepts it, it applies to all dedicated
    /// connections of the client. Watched keys and subscriptions are not affected.
    pub fn track(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        if !client.is_drained() {
            return Flow::Defer;
        }
        let is_off = is_word(args, 2, "off");
        let is_on = client.dedicated.as_deref().is_some_and(|own| own.tracking.is_on());
        let options = TrackingOptions::parse(args);
        if is_off && !is_on && args.len() == 3 {
            client.reply(Class::Other, |out| encode::simple(out, "OK"));
            return Flow::Next;
        }
        if !is_off && !self.dbs[client.db].is_resp3(client) || options.redirects {
            client.reply(Class::Other, |out| encode::error(out, UNAVAILABLE));
            return Flow::Next;
        }
        let topology = &self.dbs[client.db].topology;
        let slot = topology.home();
        let dedicated = client.dedicated.get_or_insert_default();
        let first = topology.owner(slot).and_then(|target| dedicated.connection(target));
        let mut others = dedicated.all_connections();
        others.retain(|id| Some(*id) != first);
        let change =
            TrackingChange { request: args.raw.to_vec(), mode: (!is_off).then_some(options.mode), others };
        let number = client.expect(Class::Other, Answer::Action(Box::new(ReplyAction::Tracking(change))));
        self.send_dedicated(id, client, args.raw, pending(id, number, 0, Class::Other, slot));
        client.blocked = true;
        Flow::Next
    }

    /// Applies CLIENT TRACKING, which a shard has accepted, to the other connections of the client.
    pub fn apply_tracking(&mut self, client: &mut Client, change: TrackingChange) {
        let TrackingChange { request, mode, others } = change;
        for connection in others {
            self.enqueue(connection, &request, Pending::internal(Purpose::Ignore));
        }
        let dedicated = client.dedicated.get_or_insert_default();
        match mode {
            Some(mode) => dedicated.tracking.enable(request, mode),
            None => {
                dedicated.tracking = Tracking::default();
                dedicated.caching = None;
                // The engine may still report keys that were read before, so other clients must not
                // use the connections.
                dedicated.risk = Risk::Unsafe;
            }
        }
    }

    pub fn about_tracking(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        let mode = match () {
            () if is_word(args, 1, "caching") && is_word(args, 2, "yes") => Some(TrackingMode::OptIn),
            () if is_word(args, 1, "caching") && is_word(args, 2, "no") => Some(TrackingMode::OptOut),
            () => None,
        };
        let dedicated = client.dedicated.as_deref_mut().filter(|own| own.tracking.is_on());
        if let Some(dedicated) = dedicated.filter(|own| args.len() == 3 && mode == Some(own.tracking.mode)) {
            dedicated.caching = Some(args.raw.to_vec());
            client.reply(Class::Other, |out| encode::simple(out, "OK"));
            return Flow::Next;
        }
        let slot = self.dbs[client.db].topology.home();
        self.ask(id, client, Class::Other, slot, args.raw);
        Flow::Next
    }
}

/// Options of CLIENT TRACKING, found by position. The engine checks them.
struct TrackingOptions {
    redirects: bool,
    mode: TrackingMode,
}

impl TrackingOptions {
    fn parse(args: &Args<'_>) -> Self {
        let mut options = Self { redirects: false, mode: TrackingMode::All };
        let mut at = 3;
        while let Some(word) = args.get(at) {
            match word.to_ascii_lowercase().as_slice() {
                b"redirect" => {
                    options.redirects = true;
                    at += 1;
                }
                b"prefix" => at += 1,
                b"optin" => options.mode = TrackingMode::OptIn,
                b"optout" => options.mode = TrackingMode::OptOut,
                _ => {}
            }
            at += 1;
        }
        options
    }
}
