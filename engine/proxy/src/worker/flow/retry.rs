//! Requests that waited for a primary are sent again.

use crate::arena::Id;
use crate::command::{Handling, ReadOptions};
use crate::command_index;
use crate::stats::Failure;
use crate::topology::TargetNumber;
use crate::worker::Worker;
use crate::worker::types::request::{Pending, RequestResult};
use crate::worker::upstream::db::RETRY;
use crate::worker::upstream::parked_requests::{Parked, client_slot};
use resp::{Limits, RequestParser, encode};
use std::borrow::Cow;
use std::collections::HashSet;

impl Worker {
    /// Sends waiting requests again. A shard that was unavailable receives only a few until it
    /// executes one: thousands of repeatedly refused requests would slow down the worker's other
    /// clients.
    pub fn retry_parked(&mut self, db: usize) {
        self.upstream.dbs[db].retry_at = self.upstream.io.now + RETRY / 2;
        let sent = self.upstream.sent_beside_parked(db);
        let mut left: Vec<_> = self.upstream.dbs[db].outages.iter().map(|open| open.retry_quota).collect();
        let mut held = HashSet::new();
        for parked in self.upstream.dbs[db].parked.take() {
            if parked.pending.deadline <= self.upstream.io.now {
                self.upstream.dbs[db].stats.failed(Failure::Timeout);
                if !parked.opening.is_empty() {
                    self.never_opened(parked.pending.reply_to.client);
                }
                self.deliver_failure(db, &parked.pending, RequestResult::Failed, &parked.error);
                continue;
            }
            if self.clients.arena.get(parked.pending.reply_to.client).is_none() {
                // It was not executed and must not be: its client has disconnected, and it had the
                // permissions of that client.
                continue;
            }
            let client_slot = client_slot(&parked.pending);
            let is_outdated =
                parked.outdated.is_some() && parked.outdated == self.upstream.dbs[db].topology.version;
            let must_wait = is_outdated || held.contains(&client_slot);
            let outage = self.upstream.dbs[db].outages.iter().position(|open| open.concerns(&parked.pending));
            let left = outage.and_then(|at| left.get_mut(at));
            let backend = if must_wait || left.as_ref().is_some_and(|left| **left == 0) {
                None
            } else if parked.is_dedicated {
                self.dedicated_again(db, &parked.pending)
            } else {
                self.upstream.shared(db, parked.identity, &parked.pending)
            };
            let is_delayed =
                |id: &Id| sent.get(&client_slot).is_some_and(|sent| sent.delays(&parked.pending, *id));
            let Some(id) = backend.filter(|id| !is_delayed(id)) else {
                held.insert(client_slot);
                self.upstream.dbs[db].parked.add(parked);
                continue;
            };
            if let Some(left) = left {
                *left -= 1;
            }
            if !parked.opening.is_empty() {
                self.opened(parked.pending.reply_to.client, id, &parked.opening);
            }
            let (bytes, pending) = self.with_remaining_timeout(&parked, parked.pending);
            self.upstream.enqueue(id, &bytes, pending);
        }
    }

    /// Finds or opens a dedicated connection for a client that is not being handled now.
    pub fn dedicated_for(&mut self, id: Id, target: TargetNumber) -> Option<Id> {
        let mut client = self.clients.arena.take(id)?;
        let backend = self.upstream.dedicated_to(id, &mut client, target);
        self.clients.arena.put_back(id, client);
        backend
    }

    fn dedicated_again(&mut self, db: usize, pending: &Pending) -> Option<Id> {
        let target = self.upstream.dbs[db].topology.owner(pending.slot)?;
        self.dedicated_for(pending.reply_to.client, target)
    }

    /// Sends the start of a transaction that has waited for a primary.
    fn opened(&mut self, client: Id, backend: Id, opening: &[Vec<u8>]) {
        let Some(mut owner) = self.clients.arena.take(client) else { return };
        self.upstream.open_transaction(&mut owner, backend, opening);
        self.clients.arena.put_back(client, owner);
    }

    /// Breaks the transaction, because no primary became available in time.
    pub fn never_opened(&mut self, client: Id) {
        let dedicated = self.clients.arena.get_mut(client).and_then(|client| client.dedicated.as_deref_mut());
        if let Some(transaction) = dedicated.and_then(|dedicated| dedicated.transaction.as_mut()) {
            transaction.mark_lost();
        }
    }

    /// Returns the request with the remaining timeout if its blocking was interrupted because the
    /// primary was demoted.
    fn with_remaining_timeout<'a>(
        &mut self,
        parked: &'a Parked,
        pending: Pending,
    ) -> (Cow<'a, [u8]>, Pending) {
        let client = self.clients.arena.get_mut(pending.reply_to.client);
        let slot = client.and_then(|client| client.output.expected(pending.reply_to.number));
        let Some(slot) = slot.filter(|_| parked.error.starts_with(b"-UNBLOCKED")) else {
            return (Cow::Borrowed(&parked.bytes), pending);
        };
        let since = if pending.blocks_since == 0 { slot.arrived } else { pending.blocks_since };
        let waited = self.upstream.io.now.saturating_sub(since);
        match shortened(&parked.bytes, waited) {
            Some(bytes) => (Cow::Owned(bytes), Pending { blocks_since: self.upstream.io.now, ..pending }),
            None => (Cow::Borrowed(&parked.bytes), pending),
        }
    }
}

/// Returns the command with a timeout reduced by `waited` microseconds, or `None` if it has no
/// timeout.
fn shortened(request: &[u8], waited: u64) -> Option<Vec<u8>> {
    let mut parser = RequestParser::default();
    let limits = Limits { request: u32::MAX as usize, ..Limits::default() };
    let len = parser.parse(request, &limits).ok()??;
    let args = parser.args(&request[..len]);
    let command = command_index::find(args.get(0)?)?;
    let (at, in_millis) = match (command.handling, command.name) {
        (Handling::Xread, _) => (ReadOptions::parse(&args).block?, true),
        (_, "blmpop" | "bzmpop") => (1, false),
        _ => (args.len() - 1, false),
    };
    let timeout: f64 =
        std::str::from_utf8(args.get(at)?).ok()?.parse().ok().filter(|&timeout| timeout > 0.0)?;
    let waited = waited as f64 / if in_millis { 1e3 } else { 1e6 };
    // 0 would mean no timeout.
    let left = if in_millis {
        (timeout - waited).max(1.0).ceil().to_string()
    } else {
        format!("{:.3}", (timeout - waited).max(0.001))
    };
    let mut out = Vec::with_capacity(request.len());
    encode::array(&mut out, args.len());
    for (n, arg) in args.iter().enumerate() {
        encode::bulk(&mut out, if n == at { left.as_bytes() } else { arg });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elapsed_time_is_subtracted_from_the_timeout() {
        let left = |line: &str| {
            let mut request = Vec::new();
            let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
            encode::command(&mut request, words.into_iter());
            let mut parser = RequestParser::default();
            let shorter = shortened(&request, 1_500_000)?;
            parser.parse(&shorter, &Limits::default()).unwrap();
            let words = parser.args(&shorter).iter().map(|arg| String::from_utf8_lossy(arg).into_owned());
            Some(words.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(left("BLPOP a b 10").as_deref(), Some("BLPOP a b 8.500"));
        assert_eq!(left("BLMOVE a b LEFT LEFT 1").as_deref(), Some("BLMOVE a b LEFT LEFT 0.001"));
        assert_eq!(left("BZMPOP 2 1 a MIN").as_deref(), Some("BZMPOP 0.500 1 a MIN"));
        assert_eq!(
            left("XREAD COUNT 1 BLOCK 2000 STREAMS a $").as_deref(),
            Some("XREAD COUNT 1 BLOCK 500 STREAMS a $")
        );
        assert_eq!(left("BLPOP a 0"), None);
    }
}
