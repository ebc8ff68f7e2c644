//! Commands that concern the entire database: sent to every primary, with one merged reply. In
//! cluster mode, only the primaries assigned to this endpoint are included, because a cluster node
//! answers only for itself.

use crate::arena::Id;
use crate::command::{Class, Command, Handling};
use crate::worker::clients::client::Client;
use crate::worker::clients::join::{Join, Kind, SHARD_BITS};
use crate::worker::clients::reply::Answer;
use crate::worker::requests::subcommands::is_word;
use crate::worker::types::request::{Flow, pending};
use crate::worker::upstream::Upstream;
use resp::{Args, encode};

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
            Handling::Info => Kind::Info,
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

    /// Sends SCAN to one shard. The low bits of the cursor are the number of the shard, the others
    /// are the cursor of the shard.
    fn scan(&mut self, id: Id, client: &mut Client, command: &'static Command, args: &Args<'_>) -> Flow {
        let slots: Vec<_> = self.dbs[client.db].topology.representatives().collect();
        let digits = args.get(1).and_then(|cursor| std::str::from_utf8(cursor).ok());
        let Some(cursor) = digits.and_then(|cursor| cursor.parse::<u64>().ok()).filter(|_| slots.len() > 1)
        else {
            return self.forward_home(id, client, command.class, args.raw);
        };
        let shard = cursor & ((1 << SHARD_BITS) - 1);
        let Some(&slot) = slots.get(shard as usize) else {
            // The database has fewer shards than when the scan started. The keys of the removed
            // shards are on other shards now.
            client.reply(command.class, |out| out.extend_from_slice(b"*2\r\n$1\r\n0\r\n*0\r\n"));
            return Flow::Next;
        };
        let own = (cursor >> SHARD_BITS).to_string();
        let mut request = Vec::with_capacity(args.raw.len());
        let rewritten = args.iter().enumerate().map(|(n, arg)| if n == 1 { own.as_bytes() } else { arg });
        encode::array(&mut request, args.len());
        rewritten.for_each(|arg| encode::bulk(&mut request, arg));
        let last = shard as usize + 1 == slots.len();
        let join = Join::new(Kind::Scan { shard, last }, 1);
        let number = client.expect(command.class, Answer::Joining(join));
        self.route(id, client, &request, pending(id, number, 0, command.class, slot));
        Flow::Next
    }
}
