//! Commands that wait for an event, on dedicated connections.

use crate::arena::Id;
use crate::command::{self, Command, Handling};
use crate::worker::Worker;
use crate::worker::client::Client;
use crate::worker::dispatch::is_word;
use crate::worker::output::Answer;
use crate::worker::parked_requests::Parked;
use crate::worker::types::request::{Flow, Pending, pending};
use resp::{Args, Limits, RequestParser, encode};
use std::borrow::Cow;

impl Worker {
    /// Sends a command that may block. No further request of this client is handled until it is
    /// answered.
    pub(super) fn block(&mut self, id: Id, client: &mut Client, command: &Command, args: &Args<'_>) -> Flow {
        let db = &self.dbs[client.db];
        let slot = command.first_key(args).map_or_else(|| db.topology.home(), |key| db.slot_of(key));
        if !client.is_drained() {
            return Flow::Defer;
        }
        if !self.serves(client, slot) {
            return self.redirect_client(client, command.class, slot);
        }
        let number = client.expect(command.class, Answer::Waiting);
        self.send_dedicated(id, client, args.raw, pending(id, number, 0, command.class, slot));
        client.blocked = true;
        Flow::Next
    }

    /// Returns the request with the remaining timeout if its blocking was interrupted because the
    /// primary was demoted.
    pub(super) fn with_remaining_timeout<'a>(
        &mut self,
        parked: &'a Parked,
        pending: Pending,
    ) -> (Cow<'a, [u8]>, Pending) {
        let client = self.clients.get_mut(pending.reply_to.client);
        let slot = client.and_then(|client| client.output.expected(pending.reply_to.number));
        let Some(slot) = slot.filter(|_| parked.error.starts_with(b"-UNBLOCKED")) else {
            return (Cow::Borrowed(&parked.bytes), pending);
        };
        let since = if pending.blocks_since == 0 { slot.arrived } else { pending.blocks_since };
        let waited = self.now.saturating_sub(since);
        match shortened(&parked.bytes, waited) {
            Some(bytes) => (Cow::Owned(bytes), Pending { blocks_since: self.now, ..pending }),
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
    let command = command::find(args.get(0)?)?;
    let (at, in_millis) = match (command.handling, command.name) {
        (Handling::Xread, _) => ((0..args.len()).find(|&at| is_word(&args, at, "block"))? + 1, true),
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
