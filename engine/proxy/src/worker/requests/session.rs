//! Identity and protocol of a client: AUTH, HELLO, RESET, SELECT, PING and similar commands.

use crate::arena::Id;
use crate::command::{Class, Command, Handling};
use crate::control::Mode;
use crate::worker::clients::client::Client;
use crate::worker::clients::reply::{Answer, ReplyAction};
use crate::worker::types::request::{Flow, pending};
use crate::worker::types::session::{CLIENT_NAMES, Credentials, Muted, name_error};
use crate::worker::upstream::Upstream;
use crate::worker::upstream::db::Db;
use resp::{Args, encode};

impl Upstream {
    pub fn session(
        &mut self,
        id: Id,
        client: &mut Client,
        command: &'static Command,
        args: &Args<'_>,
    ) -> Flow {
        let class = command.class;
        match command.handling {
            Handling::Auth => return self.auth(id, client, args),
            Handling::Hello => return self.hello(id, client, args),
            Handling::Client => return self.client_command(id, client, args),
            Handling::Reset => {
                if !client.is_drained() {
                    return Flow::Defer;
                }
                self.reset(client);
                client.reply(class, |out| encode::simple(out, "RESET"));
            }
            Handling::Quit => {
                client.reply(class, |out| encode::simple(out, "OK"));
                client.closing = true;
            }
            Handling::Select => self.select(client, args),
            Handling::Ping => match args.get(1) {
                _ if args.len() > 2 => return self.forward_home(id, client, class, args.raw),
                Some(text) => client.reply(class, |out| encode::bulk(out, text)),
                None => client.reply(class, |out| encode::simple(out, "PONG")),
            },
            Handling::Echo => client.reply(class, |out| encode::bulk(out, args.get(1).unwrap_or_default())),
            _ => self.read_mode(client),
        }
        Flow::Next
    }

    /// Answers READONLY, READWRITE and ASKING, which are only for cluster clients and have no
    /// effect on primaries.
    fn read_mode(&mut self, client: &mut Client) {
        let cluster = self.dbs[client.db].config.mode == Mode::OssCluster;
        client.reply(Class::Other, |out| match cluster {
            true => encode::simple(out, "OK"),
            false => encode::error(out, "ERR This instance has cluster support disabled"),
        });
    }

    fn select(&mut self, client: &mut Client, args: &Args<'_>) {
        let cluster = self.dbs[client.db].config.mode == Mode::OssCluster;
        client.reply(Class::Other, |out| match args.get(1).and_then(resp::decimal) {
            Some(0) => encode::simple(out, "OK"),
            None => encode::error(out, "ERR value is not an integer or out of range"),
            Some(number) if i32::try_from(number).is_err() => {
                encode::error(out, "ERR value is out of range, value must between -2147483648 and 2147483647")
            }
            Some(_) if cluster => encode::error(out, "ERR SELECT is not allowed in cluster mode"),
            Some(_) => encode::error(out, "ERR DB index is out of range"),
        });
    }

    fn reset(&mut self, client: &mut Client) {
        self.release_dedicated(client);
        client.profile = None;
        client.muted = Muted::No;
        self.change_identity(client, 0);
    }

    fn auth(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        if !client.is_settled() {
            return Flow::Defer;
        }
        let (user, password) = match (args.get(1), args.get(2)) {
            (Some(password), None)
                if !self.dbs[client.db].identities[0].noauth && self.is_known(client.db) =>
            {
                let _ = password;
                let text = "ERR AUTH <password> called without any password configured for the default user. \
                            Are you sure your configuration is correct?";
                client.reply(Class::Other, |out| encode::error(out, text));
                return Flow::Next;
            }
            (Some(password), None) => (&b"default"[..], password),
            (Some(user), Some(password)) if args.len() == 3 => (user, password),
            _ => {
                client.reply(Class::Other, |out| encode::error(out, "ERR syntax error"));
                return Flow::Next;
            }
        };
        let resp3 = self.dbs[client.db].is_resp3(client);
        self.verify(id, client, (user, password), resp3, None, false);
        Flow::Next
    }

    /// Whether a shard has reported if the default user requires a password.
    fn is_known(&self, db: usize) -> bool {
        let connected = |id: &Option<Id>| {
            id.and_then(|id| self.backends.arena.get(id)).is_some_and(|b| b.inflight.is_empty())
        };
        self.dbs[db].identities[0].connections.iter().flatten().any(connected)
    }

    /// Sends the password to a shard for verification, on a connection of that user. If it is
    /// correct, the client becomes that user.
    fn verify(
        &mut self,
        id: Id,
        client: &mut Client,
        (user, password): (&[u8], &[u8]),
        resp3: bool,
        name: Option<Vec<u8>>,
        hello: bool,
    ) {
        let login = Some((user.to_vec(), password.to_vec()));
        let db = client.db;
        let identity = self.dbs[db].intern(Credentials { login, resp3 });
        // Counted now, so that the identity is not reused before the shard answers.
        self.dbs[db].identities[identity].clients += 1;
        let action = ReplyAction::ChangeIdentity { identity, name, hello };
        let number = client.expect(Class::Other, Answer::Action(Box::new(action)));
        client.blocked = true;
        let mut request = Vec::new();
        encode::command(&mut request, [b"AUTH", user, password].into_iter());
        let slot = self.dbs[db].topology.home();
        let before = std::mem::replace(&mut client.identity, identity);
        self.send(client, &request, pending(id, number, 0, Class::Other, slot));
        client.identity = before;
    }

    fn hello(&mut self, id: Id, client: &mut Client, args: &Args<'_>) -> Flow {
        if !client.is_settled() {
            return Flow::Defer;
        }
        let options = match hello_options(args) {
            Ok(options) => options,
            Err(text) => {
                client.reply(Class::Other, |out| encode::error(out, &text));
                return Flow::Next;
            }
        };
        let resp3 = options.resp3.unwrap_or(self.dbs[client.db].is_resp3(client));
        if let Some(login) = options.login {
            self.verify(id, client, login, resp3, options.name.map(<[u8]>::to_vec), true);
            return Flow::Next;
        }
        let credentials = &self.dbs[client.db].identities[client.identity];
        if credentials.noauth {
            let text = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
                        <proto> AUTH <user> <pass> option can be used to authenticate the client and select the \
                        RESP protocol version at the same time";
            client.reply(Class::Other, |out| encode::error(out, text));
            return Flow::Next;
        }
        let login = credentials.credentials.login.clone();
        let identity = self.dbs[client.db].intern(Credentials { login, resp3 });
        self.change_identity(client, identity);
        if let Some(name) = options.name {
            client.profile.get_or_insert_default().name = name.to_vec();
        }
        let greeting = self.dbs[client.db].greeting(client);
        client.reply(Class::Other, |out| out.extend_from_slice(&greeting));
        Flow::Next
    }
}

impl Db {
    pub fn is_resp3(&self, client: &Client) -> bool {
        self.identities[client.identity].credentials.resp3
    }

    pub fn user_of(&self, client: &Client) -> &[u8] {
        self.identities[client.identity].credentials.user()
    }

    /// Returns the reply to HELLO.
    pub fn greeting(&self, client: &Client) -> Vec<u8> {
        let resp3 = self.is_resp3(client);
        let mode = if self.config.mode == Mode::OssCluster { "cluster" } else { "standalone" };
        let mut out = Vec::new();
        if resp3 {
            encode::map(&mut out, 7)
        } else {
            encode::array(&mut out, 14)
        }
        let text = |out: &mut Vec<u8>, name: &str, value: &str| {
            encode::bulk(out, name.as_bytes());
            encode::bulk(out, value.as_bytes());
        };
        text(&mut out, "server", &self.engine.0);
        text(&mut out, "version", &self.engine.1);
        encode::bulk(&mut out, b"proto");
        encode::integer(&mut out, if resp3 { 3 } else { 2 });
        encode::bulk(&mut out, b"id");
        encode::integer(&mut out, client.number as i64);
        text(&mut out, "mode", mode);
        text(&mut out, "role", "master");
        encode::bulk(&mut out, b"modules");
        encode::array(&mut out, 0);
        out
    }
}

struct HelloOptions<'a> {
    resp3: Option<bool>,
    login: Option<(&'a [u8], &'a [u8])>,
    name: Option<&'a [u8]>,
}

fn hello_options<'a>(args: &Args<'a>) -> Result<HelloOptions<'a>, String> {
    let mut options = HelloOptions { resp3: None, login: None, name: None };
    let Some(version) = args.get(1) else { return Ok(options) };
    options.resp3 = match resp::decimal(version) {
        None => return Err("ERR Protocol version is not an integer or out of range".into()),
        Some(2) => Some(false),
        Some(3) => Some(true),
        Some(_) => return Err("NOPROTO unsupported protocol version".into()),
    };
    let mut at = 2;
    while let Some(option) = args.get(at) {
        match (option.to_ascii_lowercase().as_slice(), args.get(at + 1), args.get(at + 2)) {
            (b"auth", Some(user), Some(password)) => {
                options.login = Some((user, password));
                at += 3;
            }
            (b"setname", Some(name), _) => {
                if let Some(text) = name_error(CLIENT_NAMES, name) {
                    return Err(text);
                }
                options.name = Some(name);
                at += 2;
            }
            _ => {
                return Err(format!(
                    "ERR Syntax error in HELLO option '{}'",
                    String::from_utf8_lossy(option)
                ));
            }
        }
    }
    Ok(options)
}
