//! CLIENT: concerns the client's connection to the endpoint, the only one that the client knows.

use crate::arena::Id;
use crate::command::Class;
use crate::control::Database;
use crate::worker::clients::client::Client;
use crate::worker::clients::dedicated::DedicatedConnections;
use crate::worker::clients::reply::{Answer, ReplyAction};
use crate::worker::requests::subcommands::is_word;
use crate::worker::types::list_filter::ListFilter;
use crate::worker::types::request::{Flow, pending};
use crate::worker::types::session::{CLIENT_NAMES, Muted, name_error};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::db::Db;
use resp::{Args, encode};
use std::hash::{BuildHasher, RandomState};

impl Upstream {
    pub fn client_command(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        let word = |text| is_word(args, 1, text);
        let exact = |n| args.len() == n;
        if word("id") && exact(2) {
            let number = client.number as i64;
            client.reply(Class::Other, |out| encode::integer(out, number));
        } else if word("setname") && exact(3) {
            self.set_name(client, args.get(2).unwrap_or_default());
        } else if word("getname") && exact(2) {
            let name = client.profile.as_ref().map(|profile| profile.name.clone()).unwrap_or_default();
            let resp3 = self.dbs[client.db].is_resp3(client);
            client.reply(Class::Other, |out| null_or_bulk(out, &name, resp3));
        } else if word("setinfo") && exact(4) {
            set_info(client, args);
        } else if word("info") && exact(2) {
            let mut line = self.dbs[client.db].describe(client, self.io.now);
            line.push('\n');
            self.reply_text(client, &line);
        } else if word("list") {
            match ListFilter::parse(args) {
                Ok(filter) => self.list_clients(id, client, filter),
                Err(text) => client.reply(Class::Other, |out| encode::error(out, &text)),
            }
        } else if (word("no-evict") || word("no-touch"))
            && exact(3)
            && (is_word(args, 2, "on") || is_word(args, 2, "off"))
        {
            client.reply(Class::Other, |out| encode::simple(out, "OK"));
        } else if word("reply") && exact(3) {
            mute(client, args);
        } else if word("getredir") && exact(2) {
            client.reply(Class::Other, |out| encode::integer(out, -1));
        } else if word("tracking") {
            return self.track(id, client, args);
        } else if word("caching") || word("trackinginfo") {
            return self.about_tracking(id, client, args);
        } else {
            // For HELP and malformed commands, the engine returns the text.
            return self.forward_home(id, client, Class::Other, args.raw);
        }
        Flow::Next
    }

    /// Lists the clients of the endpoint. The engine decides whether the user may see those of other
    /// users: SORT of a random name requires access to all keys, and is one of the dangerous
    /// commands. Permission for CLIENT LIST itself would include the other administrative commands.
    fn list_clients(&mut self, id: Id, client: &mut Client, filter: ListFilter) {
        let number = client.expect(Class::Other, Answer::Action(Box::new(ReplyAction::List(filter))));
        let key = format!("{:016x}", RandomState::new().hash_one(number));
        let mut request = Vec::new();
        encode::command(&mut request, [b"SORT", key.as_bytes()].into_iter());
        let slot = self.dbs[client.db].slot_of(key.as_bytes());
        self.route(id, client, &request, pending(id, number, 0, Class::Other, slot));
    }

    fn set_name(&mut self, client: &mut Client, name: &[u8]) {
        if let Some(text) = name_error(CLIENT_NAMES, name) {
            client.reply(Class::Other, |out| encode::error(out, &text));
            return;
        }
        client.profile.get_or_insert_default().name = name.to_vec();
        client.reply(Class::Other, |out| encode::simple(out, "OK"));
    }

    fn reply_text(&self, client: &mut Client, text: &str) {
        let frame = self.dbs[client.db].text(client, text);
        client.reply(Class::Other, |out| out.extend_from_slice(&frame));
    }
}

impl Db {
    /// Encodes a bulk string, or in RESP3 a verbatim string.
    pub fn text(&self, client: &Client, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        if self.is_resp3(client) {
            encode::bulk(&mut out, format!("txt:{text}").as_bytes());
            out[0] = b'=';
        } else {
            encode::bulk(&mut out, text.as_bytes());
        }
        out
    }

    /// Returns the line of the client in CLIENT LIST.
    pub fn describe(&self, client: &Client, now: u64) -> String {
        let credentials = &self.identities[client.identity].credentials;
        let user = String::from_utf8_lossy(credentials.user());
        let profile = client.profile.as_deref().cloned().unwrap_or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!(
            "id={} addr={} laddr={} name={} age={} idle={} flags={} db=0 user={user} resp={} lib-name={} lib-ver={}",
            client.number,
            client.peer.map_or("?:0".into(), |peer| peer.to_string()),
            local_address(&self.config),
            text(&profile.name),
            now.saturating_sub(client.since) / 1_000_000,
            now.saturating_sub(client.read_at) / 1_000_000,
            client.dedicated.as_deref().map_or('N', DedicatedConnections::flag),
            if credentials.resp3 { 3 } else { 2 },
            text(&profile.library_name),
            text(&profile.library_version),
        )
    }
}

/// Returns the address of the endpoint as `host:port`, with IPv6 addresses in brackets.
fn local_address(config: &Database) -> String {
    let Database { address, port, .. } = config;
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

fn null_or_bulk(out: &mut Vec<u8>, bytes: &[u8], resp3: bool) {
    match (bytes.is_empty(), resp3) {
        (false, _) => encode::bulk(out, bytes),
        (true, true) => out.extend_from_slice(b"_\r\n"),
        (true, false) => out.extend_from_slice(b"$-1\r\n"),
    }
}

fn set_info(client: &mut Client, args: &Args<'_>) {
    let value = args.get(3).unwrap_or_default();
    let name = args.get(2).unwrap_or_default();
    let name = String::from_utf8_lossy(&name[..name.len().min(128)]).replace(['\r', '\n'], " ");
    if let Some(text) = name_error(&name, value) {
        client.reply(Class::Other, |out| encode::error(out, &text));
        return;
    }
    let profile = client.profile.get_or_insert_default();
    let known = match name.to_ascii_lowercase().as_str() {
        "lib-name" => Some(&mut profile.library_name),
        "lib-ver" => Some(&mut profile.library_version),
        _ => None,
    };
    match known {
        Some(field) => {
            *field = value.to_vec();
            client.reply(Class::Other, |out| encode::simple(out, "OK"));
        }
        None => {
            client.reply(Class::Other, |out| encode::error(out, &format!("ERR Unrecognized option '{name}'")))
        }
    }
}

fn mute(client: &mut Client, args: &Args<'_>) {
    if is_word(args, 2, "on") {
        client.muted = Muted::No;
        client.reply(Class::Other, |out| encode::simple(out, "OK"));
    } else if is_word(args, 2, "off") {
        client.muted = Muted::Off;
    } else if is_word(args, 2, "skip") {
        if client.muted == Muted::No {
            client.muted = Muted::Skip;
        }
    } else {
        client.reply(Class::Other, |out| encode::error(out, "ERR syntax error"));
    }
}
