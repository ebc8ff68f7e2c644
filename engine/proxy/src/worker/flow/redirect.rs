//! Redirections and temporary failures: which requests are sent again, and which are overtaken.

use crate::stats::Failure;
use crate::worker::Worker;
use crate::worker::types::errors::{NO_PRIMARY, TRANSACTION_MOVED, UNSETTLED};
use crate::worker::types::request::{MAX_REDIRECTS, Pending, Purpose, Redirect, RequestResult, To};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::backend::Backend;
use crate::worker::upstream::parked_requests::is_later;

impl Worker {
    /// Handles an error reply. It is delivered to the client unless it is a redirection or a
    /// temporary failure.
    #[cold]
    pub fn error_reply(
        &mut self,
        backend: &mut Backend,
        pending: &Pending,
        frame: &[u8],
    ) -> Option<Redirect> {
        if pending.is_script && !backend.in_transaction {
            self.script_failed(backend, pending, frame);
            return None;
        }
        self.follow(backend, pending, frame, None)
    }

    /// Handles a statement of the shard about a request: the one that it has just answered, or
    /// the script whose request is `script`.
    pub fn follow(
        &mut self,
        backend: &Backend,
        pending: &Pending,
        frame: &[u8],
        script: Option<&[u8]>,
    ) -> Option<Redirect> {
        let Upstream { dbs, io, reports, .. } = &mut self.upstream;
        let destination = dbs[backend.db].destination(io, reports, backend, pending, frame);
        let again = destination.filter(|_| pending.redirects < MAX_REDIRECTS);
        let Some(to) = again.filter(|_| !backend.in_transaction) else {
            let moved =
                backend.in_transaction && matches!(again, Some(To::Owner | To::Slot(_) | To::Asking(_)));
            let unsettled = frame.starts_with(b"-MOVED ") || frame.starts_with(b"-ASK ");
            let frame = if unsettled { UNSETTLED } else { frame };
            match moved || unsettled {
                true => {
                    let frame = if moved { TRANSACTION_MOVED } else { frame };
                    self.deliver_failure(backend.db, pending, RequestResult::Failed, frame);
                }
                false => self.deliver(backend.db, pending, frame),
            }
            return None;
        };
        let mut pending = *pending;
        let bytes = script.unwrap_or_else(|| backend.request(&pending)).to_vec();
        // Waiting is limited by time, redirections are limited by number.
        pending.redirects += u8::from(!matches!(to, To::Later | To::AfterUpdate));
        self.upstream.dbs[backend.db].stats.failed(Failure::of(frame));
        if to == To::Later {
            self.upstream.note_no_primary(backend, frame);
        }
        let is_dedicated = backend.owner.is_some();
        let (db, identity) = (backend.db, backend.identity);
        Some(Redirect { pending, bytes, identity, db, is_dedicated, to, frame: frame.to_vec() })
    }

    /// Sends a request to the destination of its redirection.
    pub fn redirect(&mut self, redirect: Redirect) {
        let Redirect { mut pending, bytes, identity, db, is_dedicated, to, frame } = redirect;
        if let To::Slot(slot) = to {
            pending.slot = slot;
        }
        self.block_later_requests(db, &pending);
        let target = match to {
            To::Owner | To::Slot(_) => self.upstream.dbs[db].topology.owner(pending.slot),
            To::Asking(target) => Some(target),
            To::Later | To::AfterUpdate => None,
        };
        let lane = self.upstream.dbs[db].lane(pending.reply_to.client);
        // An earlier request that waits for a retry must not be overtaken.
        let is_first = !self.upstream.dbs[db].parked.has_earlier(&pending);
        let backend = target.filter(|_| is_first).and_then(|target| match is_dedicated {
            true => self.dedicated_for(pending.reply_to.client, target),
            false => self.upstream.shared_to(db, identity, target, lane),
        });
        match backend {
            Some(id) => {
                if matches!(to, To::Asking(_)) {
                    self.upstream.enqueue(id, b"*1\r\n$6\r\nASKING\r\n", Pending::internal(Purpose::Ignore));
                }
                self.upstream.enqueue(id, &bytes, pending);
            }
            None => {
                let error = match to {
                    To::Later => &frame[..],
                    To::AfterUpdate => UNSETTLED,
                    _ => NO_PRIMARY,
                };
                let now = self.upstream.io.now;
                let db = &mut self.upstream.dbs[db];
                let outdated = db.topology.version.filter(|_| to == To::AfterUpdate);
                db.park(now, identity, is_dedicated, &bytes, pending, error).outdated = outdated;
            }
        }
    }

    /// Answers earlier requests of the same client and slot that wait to be sent again with the
    /// error of the shard, because sending them after a later request was executed would change the
    /// order.
    #[inline]
    pub fn check_overtaken(&mut self, db: usize, done: &Pending, redirects: &mut Vec<Redirect>) {
        if !redirects.is_empty() || !self.upstream.dbs[db].parked.is_empty() {
            self.answer_overtaken(db, done, redirects);
        }
    }

    #[cold]
    fn answer_overtaken(&mut self, db: usize, done: &Pending, redirects: &mut Vec<Redirect>) {
        let is_overtaken = |waiting: &Pending| {
            waiting.reply_to.client == done.reply_to.client
                && waiting.slot == done.slot
                && is_later(done.reply_to.number, waiting.reply_to.number)
        };
        let (overtaken, others): (Vec<_>, Vec<_>) = std::mem::take(redirects)
            .into_iter()
            .partition(|redirect| redirect.to == To::Later && is_overtaken(&redirect.pending));
        *redirects = others;
        let mut answers: Vec<_> =
            overtaken.into_iter().map(|redirect| (redirect.pending, redirect.frame)).collect();
        let overtaken = self.upstream.dbs[db]
            .parked
            .extract(done.reply_to.client, |parked| is_overtaken(&parked.pending));
        answers.extend(overtaken.into_iter().map(|parked| (parked.pending, parked.error)));
        for (pending, frame) in answers {
            self.deliver_failure(db, &pending, RequestResult::Failed, &frame);
        }
    }

    /// Answers earlier requests of the same client and slot that wait to be sent again, because this
    /// later one was lost and may have been executed.
    pub fn answer_earlier(&mut self, db: usize, lost: &Pending) {
        if !self.upstream.dbs[db].parked.has(lost.reply_to.client) {
            return;
        }
        let overtaken = self.upstream.dbs[db].parked.extract(lost.reply_to.client, |parked| {
            parked.pending.slot == lost.slot && is_later(lost.reply_to.number, parked.pending.reply_to.number)
        });
        for parked in overtaken {
            if !parked.opening.is_empty() {
                self.never_opened(parked.pending.reply_to.client);
            }
            self.deliver_failure(db, &parked.pending, RequestResult::Failed, &parked.error);
        }
    }

    /// Prevents later requests of this client from overtaking the one that is sent again.
    pub fn block_later_requests(&mut self, db: usize, pending: &Pending) {
        let stale = self.upstream.dbs[db].topology_version.wrapping_sub(1);
        if let Some(client) = self.clients.arena.get_mut(pending.reply_to.client) {
            client.topology_version = stale;
        }
    }
}
