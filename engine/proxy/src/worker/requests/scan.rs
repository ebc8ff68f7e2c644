//! SCAN: reads the slots in ascending order, each from the process that owns it.
//!
//! SCAN has no key, so a process does not refuse it when it has lost slots. After each page that
//! completes a slot, the process is therefore asked which slots it owns (`flow/scanning.rs`).

use crate::arena::Id;
use crate::command::Command;
use crate::topology::TargetNumber;
use crate::worker::clients::client::Client;
use crate::worker::clients::reply::{Answer, ReplyAction};
use crate::worker::clients::scan::Scan;
use crate::worker::types::cursor::{Cursor, process_number, with_engine_cursor};
use crate::worker::types::errors::NO_PRIMARY;
use crate::worker::types::request::{Flow, pending};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::db::Db;
use resp::Args;

impl Upstream {
    pub fn scan(&mut self, id: Id, client: &mut Client, command: &'static Command, args: &Args<'_>) -> Flow {
        let Some(cursor) = args.get(1).and_then(Cursor::parse) else {
            return self.forward_home(id, client, command.class, args.raw);
        };
        let db = &self.dbs[client.db];
        let Some((cursor, process)) = db.locate(cursor) else {
            client.reply(command.class, |out| out.extend_from_slice(b"*2\r\n$1\r\n0\r\n*0\r\n"));
            return Flow::Next;
        };
        let request = with_engine_cursor(args, cursor.engine);
        let slot = if db.config.sharded { cursor.slot() } else { 0 };
        let scan = Scan {
            cursor,
            process,
            topology_version: db.topology_version,
            page: None,
            asks_as_client: false,
        };
        let number = client.expect(command.class, Answer::Action(Box::new(ReplyAction::Scan(scan))));
        let request_to = pending(id, number, 0, command.class, slot);
        let Some(process) = process.filter(|_| cursor.at_importer) else {
            self.route(id, client, &request, request_to);
            return Flow::Next;
        };
        let lane = self.dbs[client.db].lane(id);
        match self.shared_to(client.db, client.identity, process, lane) {
            Some(backend) => client.congested = self.enqueue(backend, &request, request_to),
            None => client.output.answer(number, NO_PRIMARY),
        }
        Flow::Next
    }
}

impl Db {
    /// Returns the cursor for the process that continues the scan, and the process. `None`: no slot
    /// is left.
    fn locate(&self, cursor: Cursor) -> Option<(Cursor, Option<TargetNumber>)> {
        let is_sharded = self.config.sharded;
        let slot = if is_sharded { self.topology.next_local_slot(cursor.slot())? } else { 0 };
        if is_sharded && slot != cursor.slot() {
            return Some((Cursor::start_of(slot), self.topology.owner(slot)));
        }
        if cursor.at_importer {
            if let Some(process) =
                self.topology.find_listed(|address| process_number(address) == cursor.process)
            {
                return Some((cursor, Some(process)));
            }
            // Its keys are elsewhere now.
            return Some((Cursor::start_of(slot), self.topology.owner(slot)));
        }
        let owner = self.topology.owner(slot);
        let is_valid = cursor.is_at_start(is_sharded)
            || owner.is_some_and(|owner| self.process_number(owner) == cursor.process);
        Some((if is_valid { cursor } else { cursor.restarted(is_sharded) }, owner))
    }

    pub fn process_number(&self, target: TargetNumber) -> u16 {
        process_number(self.topology.targets[usize::from(target)].address)
    }
}
