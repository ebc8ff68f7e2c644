//! Commands that concern the entire database: sent to every primary, with one merged reply. In
//! cluster mode, only the primaries assigned to this endpoint are included, because a cluster node
//! answers only for itself.

use crate::arena::Id;
use crate::command::{Class, Command, Handling};
use crate::control::Mode;
use crate::worker::clients::client::Client;
use crate::worker::clients::info::EndpointInfo;
use crate::worker::clients::join::{Join, Kind};
use crate::worker::clients::reply::Answer;
use crate::worker::requests::subcommands::is_word;
use crate::worker::types::request::{Flow, pending};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::db::Db;
use resp::{Args, encode};
use std::sync::atomic::Ordering;

/// Length of the section, which is the start of the password for canary writes.
const SECTION: usize = 32;

/// Returns INFO with the section as its first argument. The engine ignores unknown sections.
fn with_section(args: &Args<'_>, password: &[u8]) -> Vec<u8> {
    let section = &password[..password.len().min(SECTION)];
    let default = (args.len() == 1).then_some(&b"default"[..]);
    let words: Vec<_> =
        [&b"INFO"[..], section].into_iter().chain(args.iter().skip(1)).chain(default).collect();
    let mut request = Vec::new();
    encode::command(&mut request, words.into_iter());
    request
}

impl Db {
    fn info(&self) -> EndpointInfo {
        EndpointInfo {
            is_cluster: self.config.mode == Mode::OssCluster,
            port: self.config.port,
            clients: self.connections.now.load(Ordering::Relaxed),
            max_clients: self.config.max_connections,
        }
    }
}

impl Upstream {
    pub fn fan_out(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        let word = |text| is_word(args, 1, text);
        let kind = match command.handling {
            Handling::Dbsize => Kind::Sum,
            Handling::Keys => Kind::Concatenate,
            Handling::Randomkey => Kind::First,
            Handling::Flush => Kind::Same,
            Handling::Script if word("load") || word("flush") => Kind::Same,
            Handling::Script if word("exists") => Kind::MinimumEach,
            Handling::Function if ["load", "delete", "flush", "restore"].into_iter().any(word) => Kind::Same,
            Handling::Config if word("resetstat") => Kind::Same,
            Handling::Info => return self.info(id, client, command, args),
            Handling::Pubsub if word("shardchannels") => Kind::Concatenate,
            Handling::Pubsub if word("shardnumsub") => Kind::SumEachSecond,
            Handling::Script | Handling::Function if word("kill") && args.len() == 2 => {
                return self.kill_script(id, client, args);
            }
            Handling::Scan => return self.scan(id, client, command, args),
            Handling::Wait => return self.wait(id, client, args),
            _ => return self.forward_home(id, client, command.class, args.raw),
        };
        self.ask_all(id, client, command.class, args.raw, kind);
        Flow::Next
    }

    /// Reads INFO of all shards. Users may run it only with a section that scripts do not know, if the
    /// agent has sent one.
    fn info(&mut self, id: Id, client: &mut Client, command: &Command, args: &Args<'_>) -> Flow {
        let db = &self.dbs[client.db];
        let request = db.config.canary.as_ref().map(|canary| with_section(args, canary.password.as_bytes()));
        let kind = Kind::Info(db.info());
        self.ask_all(id, client, command.class, request.as_deref().unwrap_or(args.raw), kind);
        Flow::Next
    }

    fn ask_all(&mut self, id: Id, client: &mut Client, class: Class, raw: &[u8], kind: Kind) {
        let mut slots: Vec<_> = self.dbs[client.db].topology.representatives().collect();
        if slots.is_empty() {
            slots.push(self.dbs[client.db].topology.home());
        }
        if matches!(kind, Kind::First) {
            // Start with a different shard each time, so that the keys of one shard are not
            // preferred.
            let by = self.io.now as usize % slots.len();
            slots.rotate_left(by);
        }
        let number = client.expect(class, Answer::Joining(Join::new(kind, slots.len())));
        for (part, slot) in slots.into_iter().enumerate() {
            self.route(id, client, raw, pending(id, number, part as u32, class, slot));
        }
    }

    /// Sends the command to all shards on dedicated connections, because the running script blocks
    /// the shared ones.
    fn kill_script(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        if !client.is_drained() {
            return Flow::Defer;
        }
        let slots: Vec<_> = self.dbs[client.db].topology.representatives().collect();
        if slots.is_empty() {
            return self.forward_home(id, client, Class::Other, args.raw);
        }
        let join = Join::new(Kind::Any, slots.len());
        let number = client.expect(Class::Other, Answer::Joining(join));
        for (part, slot) in slots.into_iter().enumerate() {
            self.send_dedicated(id, client, args.raw, pending(id, number, part as u32, Class::Other, slot));
        }
        client.blocked = true;
        Flow::Next
    }
}
