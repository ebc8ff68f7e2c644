//! MGET, MSET, DEL, UNLINK, EXISTS and TOUCH with keys of several shards: one request for each
//! slot.

use crate::arena::Id;
use crate::command::{Command, Handling};
use crate::worker::clients::client::Client;
use crate::worker::clients::join::{Join, Kind};
use crate::worker::clients::reply::Answer;
use crate::worker::types::request::{Flow, pending};
use crate::worker::upstream::Upstream;
use resp::{Args, encode};

/// The keys of one slot, as positions of arguments.
struct Part {
    slot: u16,
    args: Vec<usize>,
}

impl Upstream {
    pub fn split(&mut self, id: Id, client: &mut Client, command: &'static Command, args: &Args<'_>) -> Flow {
        let step = if command.handling == Handling::Mset { 2 } else { 1 };
        let db = &self.dbs[client.db];
        let whole = args.len() < 2 + step || !db.config.sharded;
        if whole || db.config.mode == crate::control::Mode::OssCluster {
            // The engine returns the error, including CROSSSLOT.
            return self.forward(id, client, command, args);
        }
        if (args.len() - 1) % step != 0 {
            let text = format!("ERR wrong number of arguments for '{}' command", command.name);
            client.reply(command.class, |out| encode::error(out, &text));
            return Flow::Next;
        }
        // There is one part per slot, because a shard in cluster mode rejects requests with keys of
        // two slots.
        let mut parts: Vec<Part> = Vec::new();
        let mut places = std::mem::take(&mut self.part_by_slot);
        let mut order = Vec::with_capacity(args.len() / step);
        for at in (1..args.len()).step_by(step) {
            let slot = db.slot_of(args.get(at).unwrap_or_default());
            // Index of the part that last used this slot. It is valid if that part belongs to this
            // slot and this request.
            let last = usize::from(places[usize::from(slot)]);
            let part = if parts.get(last).is_some_and(|part| part.slot == slot) {
                last
            } else {
                places[usize::from(slot)] = parts.len() as u16;
                parts.push(Part { slot, args: Vec::new() });
                parts.len() - 1
            };
            parts[part].args.extend(at..at + step);
            order.push(part as u32);
        }
        self.part_by_slot = places;
        if parts.len() == 1 {
            return self.forward(id, client, command, args);
        }
        let kind = match command.handling {
            Handling::Mget => Kind::Mget(order),
            Handling::Mset => Kind::Same,
            _ => Kind::Sum,
        };
        let number = client.expect(command.class, Answer::Joining(Join::new(kind, parts.len())));
        let mut request = Vec::new();
        for (n, part) in parts.iter().enumerate() {
            request.clear();
            encode::array(&mut request, part.args.len() + 1);
            encode::bulk(&mut request, command.name.as_bytes());
            for &at in &part.args {
                encode::bulk(&mut request, args.get(at).unwrap_or_default());
            }
            self.route(id, client, &request, pending(id, number, n as u32, command.class, part.slot));
        }
        Flow::Next
    }
}
