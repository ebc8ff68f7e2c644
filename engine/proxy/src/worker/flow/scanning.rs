//! Replies to SCAN. A process that has lost a slot skips it silently, so a page counts only as far
//! as the process owned the slots after it had returned the page.

use crate::command::Class;
use crate::worker::Worker;
use crate::worker::clients::client::Client;
use crate::worker::clients::reply::{Answer, ReplyAction};
use crate::worker::clients::scan::{Page, Progress, Scan};
use crate::worker::types::cursor::Cursor;
use crate::worker::types::errors::NO_PRIMARY;
use crate::worker::types::request::{FollowUp, ReplyTarget, pending};
use crate::worker::types::session::Credentials;
use crate::worker::types::slot_owners::SlotOwners;
use crate::worker::upstream::Upstream;
use resp::slot::SLOTS;

const NODES: &[u8] = b"*2\r\n$7\r\nCLUSTER\r\n$5\r\nNODES\r\n";
/// Time in microseconds for which the user for canary writes does not ask after a refusal.
const REFUSED: u64 = 60_000_000;

impl Worker {
    /// Handles the reply to SCAN, or to the request for the owners of slots after it. Returns the
    /// reply for the client, or `None` if the owners must be requested first.
    pub fn continue_scan(
        &mut self,
        reply_to: ReplyTarget,
        client: &mut Client,
        mut scan: Scan,
        frame: &[u8],
    ) -> Option<Vec<u8>> {
        let answering = self.upstream.answering;
        let db = &mut self.upstream.dbs[client.db];
        if let Some(page) = &scan.page {
            if frame.starts_with(b"-NOPERM") && !scan.asks_as_client {
                db.owners_refused_until = self.upstream.io.now + REFUSED;
                self.ask_for_owners(reply_to, client, scan);
                return None;
            }
            let owners = match frame[0] {
                b'-' if frame.starts_with(b"-NOPERM") => None,
                b'-' => return Some(page.encode(Some(restarted(&scan)), None)),
                _ => resp::text(frame).map(|text| SlotOwners::parse(&String::from_utf8_lossy(text))),
            };
            if page.process != answering {
                // Another process has replied, because the connection was lost.
                return Some(page.encode(Some(restarted(&scan)), None));
            }
            return Some(self.finish_page(client.db, &scan, page, owners.as_ref()));
        }
        let Some(page) = Page::parse(frame, answering) else { return Some(frame.to_vec()) };
        let is_sharded = db.config.sharded;
        if scan.process != Some(answering) && !scan.cursor.is_at_start(is_sharded) {
            // It was redirected to a process in which the position is invalid.
            return Some(page.encode(Some(scan.cursor.restarted(is_sharded)), None));
        }
        let next = Cursor { engine: page.next, process: db.process_number(answering), ..scan.cursor };
        if !is_sharded {
            return Some(page.encode((page.next != 0).then_some(next), None));
        }
        if page.is_within(scan.cursor.slot()) {
            return Some(page.encode(Some(next), None));
        }
        scan.page = Some(page);
        self.ask_for_owners(reply_to, client, scan);
        None
    }

    /// Requests the owners of all slots from the process that has returned a page.
    fn ask_for_owners(&mut self, reply_to: ReplyTarget, client: &mut Client, mut scan: Scan) {
        let Some(page) = &scan.page else { return };
        let target = page.process;
        let slot = scan.cursor.slot();
        let now = self.upstream.io.now;
        let db = &mut self.upstream.dbs[client.db];
        let canary = db.config.canary.clone().filter(|_| now >= db.owners_refused_until);
        scan.asks_as_client = canary.is_none();
        let identity = canary.map_or(client.identity, |canary| {
            let login = Some((canary.user.into_bytes(), canary.password.into_bytes()));
            db.intern(Credentials { login, resp3: false })
        });
        if let Some(expected) = client.output.expected(reply_to.number) {
            expected.answer = Answer::Action(Box::new(ReplyAction::Scan(scan)));
        }
        let pending = pending(reply_to.client, reply_to.number, 0, Class::Read, slot);
        self.upstream.follow_ups.push(FollowUp { db: client.db, identity, target, bytes: NODES, pending });
    }

    /// Sends requests that follow replies, after the replies of a connection have been handled.
    pub fn send_follow_ups(&mut self) {
        while let Some(FollowUp { db, identity, target, bytes, pending }) = self.upstream.follow_ups.pop() {
            match self.upstream.shared_to(db, identity, target, 0) {
                Some(backend) => drop(self.upstream.enqueue(backend, bytes, pending)),
                None => self.deliver(db, &pending, NO_PRIMARY),
            }
        }
    }

    /// Returns the reply for the client after the process has reported its slots. `None`: it may
    /// not report them to any user, so the known owners count.
    fn finish_page(&mut self, db: usize, scan: &Scan, page: &Page, owners: Option<&SlotOwners>) -> Vec<u8> {
        let Upstream { dbs, io, reports, .. } = &mut self.upstream;
        let db = &mut dbs[db];
        let from = scan.cursor.slot();
        if scan.cursor.at_importer {
            let is_here = owners.is_none_or(|owners| owners.owns(from) || owners.is_importing(from));
            let next = if is_here { after(from) } else { Some(Cursor::start_of(from)) };
            return page.encode(next, Some(from..from + 1));
        }
        // Before the page, according to the known owners, and after it, according to the process.
        let owned = |slot| {
            db.topology.owner(slot) == Some(page.process) && !db.has_moved_since(scan.topology_version, slot)
        };
        let progress = match owners {
            Some(owners) => {
                page.progress(from, |slot| owned(slot) && owners.owns(slot), |slot| owners.is_migrating(slot))
            }
            None => page.progress(from, owned, |_| false),
        };
        let stop = match progress {
            Progress::Complete => SLOTS,
            Progress::Until(slot) => slot,
            Progress::Importer | Progress::Again => from,
        };
        if let Some(owner) = owners.filter(|_| stop < SLOTS).and_then(|owners| owners.owner(stop)) {
            db.learn_owner(io, reports, page.process, stop, owner);
        }
        let next = match progress {
            Progress::Complete => Some(Cursor {
                engine: page.next,
                process: db.process_number(page.process),
                at_importer: false,
            }),
            Progress::Until(SLOTS) => None,
            Progress::Until(slot) => Some(Cursor::start_of(slot)),
            Progress::Again => Some(Cursor::start_of(from)),
            Progress::Importer => {
                let importer = owners.and_then(|owners| db.topology.listed(owners.importer(from)?));
                let process = importer.map(|importer| db.process_number(importer));
                Some(process.map_or(Cursor::start_of(from), |process| Cursor {
                    process,
                    at_importer: true,
                    ..Cursor::start_of(from)
                }))
            }
        };
        let kept = match progress {
            Progress::Complete | Progress::Until(SLOTS) => None,
            Progress::Until(slot) => Some(from..slot),
            Progress::Importer | Progress::Again => Some(from..from + 1),
        };
        page.encode(next, kept)
    }
}

fn restarted(scan: &Scan) -> Cursor {
    Cursor::start_of(scan.cursor.slot())
}

/// Returns the start of the next slot, if there is one.
fn after(slot: u16) -> Option<Cursor> {
    (slot + 1 < SLOTS).then(|| Cursor::start_of(slot + 1))
}
