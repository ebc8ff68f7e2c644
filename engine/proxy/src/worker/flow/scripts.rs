//! The author of a script determines its reply, so an error of a script that looks like a
//! redirection or a temporary failure cannot be trusted. It cannot simply be passed to the client
//! either, because shards also refuse scripts with these errors. The proxy therefore sends the
//! shard a command with the same keys whose errors clients cannot influence, and follows only that
//! reply.

use crate::command_index;
use crate::learned::LearnedCommands;
use crate::worker::Worker;
use crate::worker::types::request::{Pending, Purpose, Redirect, UnverifiedScriptError};
use crate::worker::upstream::backend::Backend;
use resp::{Limits, RequestParser, encode};

/// Errors that a shard returns for any command with these keys before it executes anything.
/// READONLY is not one of them: a replica executes a script until it writes.
const REFUSALS: [&[u8]; 6] = [b"MOVED", b"ASK", b"CLUSTERDOWN", b"LOADING", b"MASTERDOWN", b"TRYAGAIN"];

impl Worker {
    /// Handles an error reply to a script.
    pub fn script_failed(&mut self, backend: &mut Backend, pending: &Pending, frame: &[u8]) {
        let is_refusal = REFUSALS.contains(&first_word(frame));
        let request = backend.request(pending);
        let Some(probe) =
            is_refusal.then(|| probe(request, &self.upstream.dbs[backend.db].commands)).flatten()
        else {
            self.deliver(backend.db, pending, frame);
            return;
        };
        let unverified =
            UnverifiedScriptError { pending: *pending, request: request.to_vec(), frame: frame.to_vec() };
        backend.unverified.push_back(unverified);
        backend.enqueue(&probe, Pending::internal(Purpose::Probe));
    }

    /// Handles the reply of the shard to the probe.
    pub fn handle_probe_reply(&mut self, backend: &mut Backend, frame: &[u8]) -> Option<Redirect> {
        let UnverifiedScriptError { pending, request, frame: script_error } =
            backend.unverified.pop_front()?;
        if frame[0] == b'-' && first_word(frame) == first_word(&script_error) {
            return self.follow(backend, &pending, frame, Some(&request));
        }
        self.deliver(backend.db, &pending, &script_error);
        None
    }

    /// Delivers the error of the script, because the connection was lost before the probe was
    /// answered.
    pub fn deliver_unverified(&mut self, backend: &mut Backend) {
        if let Some(unverified) = backend.unverified.pop_front() {
            self.deliver(backend.db, &unverified.pending, &unverified.frame);
        }
    }
}

fn first_word(frame: &[u8]) -> &[u8] {
    frame.get(1..).and_then(|text| text.split(|byte| byte.is_ascii_whitespace()).next()).unwrap_or_default()
}

/// Returns EXISTS with the keys of a script, or `None` for a script without keys.
fn probe(request: &[u8], learned: &LearnedCommands) -> Option<Vec<u8>> {
    let mut parser = RequestParser::default();
    let limits = Limits { request: u32::MAX as usize, ..Limits::default() };
    let len = parser.parse(request, &limits).ok()??;
    let args = parser.args(&request[..len]);
    let name = args.get(0)?;
    let keys = command_index::find(name).unwrap_or_else(|| learned.find(name)).keys_of(&args);
    if keys.is_empty() {
        return None;
    }
    let mut probe = Vec::new();
    encode::command(&mut probe, std::iter::once(&b"EXISTS"[..]).chain(keys).collect::<Vec<_>>().into_iter());
    Some(probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_contains_the_keys_of_the_script() {
        let of = |words: &[&str]| {
            let mut request = Vec::new();
            encode::command(&mut request, words.iter().map(|word| word.as_bytes()));
            probe(&request, &LearnedCommands::default()).map(|probe| String::from_utf8(probe).unwrap())
        };
        let exists = "*3\r\n$6\r\nEXISTS\r\n$1\r\na\r\n$1\r\nb\r\n";
        assert_eq!(of(&["eval", "s", "2", "a", "b", "c"]).as_deref(), Some(exists));
        assert_eq!(of(&["FCALL", "f", "9", "a", "b"]).as_deref(), Some(exists));
        assert_eq!(of(&["eval", "s", "0", "a"]), None);
    }
}
