//! CLIENT: concerns the client's connection to the endpoint, the only one that the client knows.

use crate::arena::Id;
use crate::command::Class;
use crate::worker::clients::client::Client;
use crate::worker::clients::reply::{Answer, ReplyAction};
use crate::worker::requests::subcommands::is_word;
use crate::worker::types::request::{Flow, pending};
use crate::worker::types::session::Muted;
use crate::worker::upstream::Upstream;
use crate::worker::upstream::db::Db;
use resp::{Args, encode};

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
            // The engine decides whether this user has permission. The request lists a client ID
            // that does not exist.
            let number = client.expect(Class::Other, Answer::Action(Box::new(ReplyAction::List)));
            let slot = self.dbs[client.db].topology.home();
            let request = b"*4\r\n$6\r\nCLIENT\r\n$4\r\nLIST\r\n$2\r\nID\r\n$1\r\n1\r\n";
            self.route(id, client, request, pending(id, number, 0, Class::Other, slot));
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

    fn set_name(&mut self, client: &mut Client, name: &[u8]) {
        if name.iter().any(|b| !(b'!'..=b'~').contains(b)) {
            let text = "ERR Client names cannot contain spaces, newlines or special characters.";
            client.reply(Class::Other, |out| encode::error(out, text));
            return;
        }
        client.profile.get_or_insert_default().name = name.to_vec();
        client.reply(Class::Other, |out| encode::simple(out, "OK"));
    }

    fn reply_text(&self, client: &mut Client, text: &str) {
        let frame = self.dbs[client.db].text(client, text);
        client.reply(Class::Other, |out| out.extend_from_slice(&frame));
    }

    /// Enables tracking: the commands of the client then use dedicated connections, so that the
    /// engine knows which client reads which key.
    fn track(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        if !client.is_drained() {
            return Flow::Defer;
        }
        if !self.dbs[client.db].is_resp3(client)
            || args.iter().any(|arg| arg.eq_ignore_ascii_case(b"redirect"))
        {
            client.reply(Class::Other, |out| {
                encode::error(out, "ERR CLIENT TRACKING needs RESP3 and no REDIRECT through the endpoint");
            });
            return Flow::Next;
        }
        if is_word(args, 2, "off") {
            self.release_dedicated(client);
            client.reply(Class::Other, |out| encode::simple(out, "OK"));
            return Flow::Next;
        }
        client.blocked = true;
        let slot = self.dbs[client.db].topology.home();
        let number = client.expect(Class::Other, Answer::Action(Box::new(ReplyAction::Tracking)));
        self.send_dedicated(id, client, args.raw, pending(id, number, 0, Class::Other, slot));
        client.dedicated.get_or_insert_default().tracking = Some(args.raw.to_vec());
        Flow::Next
    }

    fn about_tracking(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        let needs = match () {
            () if is_word(args, 1, "caching") && is_word(args, 2, "yes") => "optin",
            () if is_word(args, 1, "caching") && is_word(args, 2, "no") => "optout",
            () => "",
        };
        let dedicated = client.dedicated.as_deref_mut();
        let fits = |tracking: &Vec<u8>| {
            tracking.to_ascii_lowercase().windows(needs.len()).any(|at| at == needs.as_bytes())
        };
        if let Some(dedicated) = dedicated
            .filter(|own| args.len() == 3 && !needs.is_empty() && own.tracking.as_ref().is_some_and(fits))
        {
            dedicated.caching = Some(args.raw.to_vec());
            client.reply(Class::Other, |out| encode::simple(out, "OK"));
            return Flow::Next;
        }
        let slot = self.dbs[client.db].topology.home();
        self.ask(id, client, Class::Other, slot, args.raw);
        Flow::Next
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
        let user =
            credentials.login.as_ref().map_or("default".into(), |(user, _)| String::from_utf8_lossy(user));
        let profile = client.profile.as_deref().cloned().unwrap_or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!(
            "id={} addr={} laddr={}:{} name={} age={} db=0 user={user} lib-name={} lib-ver={} resp={}",
            client.number,
            client.peer.map_or("?:0".into(), |peer| peer.to_string()),
            self.config.address,
            self.config.port,
            text(&profile.name),
            now.saturating_sub(client.since) / 1_000_000,
            text(&profile.library_name),
            text(&profile.library_version),
            if credentials.resp3 { 3 } else { 2 },
        )
    }
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
    let name = String::from_utf8_lossy(args.get(2).unwrap_or_default()).into_owned();
    if value.iter().any(|b| !(b'!'..=b'~').contains(b)) {
        let text = format!("ERR {name} cannot contain spaces, newlines or special characters.");
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
