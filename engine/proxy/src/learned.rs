//! Commands that are not in the table, of newer engines and of modules, as the shard describes them
//! in its COMMAND reply.

use crate::command::{Class, Command, Handling, Keys, command};
use crate::command_index::{self, FIRST_LEARNED, TABLE, UNKNOWN};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Commands of the engine of one database.
#[derive(Debug, Default)]
pub struct LearnedCommands {
    commands: HashMap<Vec<u8>, &'static Command>,
    /// The server, version and modules in the HELLO reply for which the commands were learned.
    of: Option<Vec<Vec<u8>>>,
}

/// Every command that any thread has learned. Entries live as long as the process.
static ALL: Mutex<Vec<&'static Command>> = Mutex::new(Vec::new());
/// More than any engine with all its modules has.
const MOST: usize = 4096;

impl LearnedCommands {
    /// Returns the learned command. An unknown one goes to the home shard, which returns the
    /// engine's error.
    #[cold]
    pub fn find(&self, name: &[u8]) -> &'static Command {
        self.commands.get(&name.to_ascii_lowercase()).copied().unwrap_or(&UNKNOWN)
    }

    /// Whether the shard with this HELLO reply must be queried for its commands. True once for each
    /// new combination of server, version and modules.
    pub fn is_other_engine(&mut self, hello: &[u8]) -> bool {
        let fields = resp::items(hello).unwrap_or_default();
        let identity = fields
            .chunks_exact(2)
            .filter(|pair| matches!(resp::text(pair[0]), Some(b"server" | b"version" | b"modules")));
        let engine = Some(identity.map(|pair| pair[1].to_vec()).collect());
        let is_other = self.of != engine;
        self.of = engine;
        is_other
    }

    /// Repeats the query, because the shard was lost before it answered.
    pub fn reset_query(&mut self) {
        self.of = None;
    }

    /// Parses the reply to COMMAND.
    pub fn learn(&mut self, reply: &[u8]) {
        let Some(rows) = resp::items(reply) else {
            // The user may lack permission for COMMAND.
            self.of = None;
            return;
        };
        let fresh = rows.into_iter().filter_map(|row| parse(&resp::items(row)?));
        self.commands = fresh.map(|command| (command.name.as_bytes().to_vec(), command)).collect();
    }
}

/// Returns the name of the command with this index, of the table or learned.
pub fn name_of(index: u16) -> &'static str {
    match TABLE.get(usize::from(index)) {
        Some(command) => command.name,
        None => index.checked_sub(FIRST_LEARNED).and_then(learned_name).unwrap_or("unknown"),
    }
}

fn learned_name(number: u16) -> Option<&'static str> {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(usize::from(number)).map(|command| command.name)
}

fn parse(row: &[&[u8]]) -> Option<&'static Command> {
    let [name, arity, flags, first, last, step, rest @ ..] = row else { return None };
    let name = std::str::from_utf8(resp::text(name)?).ok()?.to_ascii_lowercase();
    if command_index::find(name.as_bytes()).is_some() {
        return None;
    }
    let flags: Vec<_> = resp::items(flags)?.into_iter().filter_map(resp::text).collect();
    let has = |flag: &str| flags.contains(&flag.as_bytes());
    let number = |text: &[u8]| resp::integer(text).and_then(|number| usize::try_from(number).ok());
    let keys = match (number(first)?, number(step)?) {
        (0, _) => rest.get(2).and_then(|specs| counted(specs)).unwrap_or(match has("movablekeys") {
            true => Keys::Unknown,
            false => Keys::None,
        }),
        (first, step) => {
            let last = resp::integer(last).and_then(|last| isize::try_from(last).ok())?;
            Keys::Range(first, last, step.max(1))
        }
    };
    let class = match () {
        () if has("write") => Class::Write,
        () if has("readonly") => Class::Read,
        () => Class::Other,
    };
    let handling = match () {
        // It concerns the server process, or the connection, which other clients share.
        () if has("admin") || has("pubsub") || has("no_auth") => Handling::Refuse,
        () if has("blocking") => Handling::Block,
        () if has("module") => Handling::Run,
        () => Handling::Forward,
    };
    let arity = i32::try_from(resp::integer(arity)?).ok()?;
    intern(name, |name| command(name, arity, class, keys, handling))
}

/// Returns the first key specification that counts keys or finds them after the word STREAMS.
fn counted(specs: &[u8]) -> Option<Keys> {
    resp::items(specs)?.into_iter().find_map(|spec| {
        let spec = resp::items(spec)?;
        let begin = resp::items(field(&spec, b"begin_search")?)?;
        let find = resp::items(field(&spec, b"find_keys")?)?;
        let begins = resp::items(field(&begin, b"spec")?)?;
        let finds = resp::items(field(&find, b"spec")?)?;
        let number = |of: &[&[u8]], name: &[u8]| usize::try_from(resp::integer(field(of, name)?)?).ok();
        match (resp::text(field(&begin, b"type")?)?, resp::text(field(&find, b"type")?)?) {
            (b"index", b"keynum") => {
                let (at, first) = (number(&finds, b"keynumidx")?, number(&finds, b"firstkey")?);
                let step = number(&finds, b"keystep")?.max(1);
                (first == at + 1).then_some(Keys::Counted(number(&begins, b"index")? + at, step))
            }
            (b"keyword", _) if resp::text(field(&begins, b"keyword")?)? == b"STREAMS" => Some(Keys::Streams),
            _ => None,
        }
    })
}

fn field<'a>(pairs: &[&'a [u8]], name: &[u8]) -> Option<&'a [u8]> {
    pairs.chunks_exact(2).find(|pair| resp::text(pair[0]) == Some(name)).map(|pair| pair[1])
}

fn intern(name: String, make: impl FnOnce(&'static str) -> Command) -> Option<&'static Command> {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    // A command of the same name in another module may differ: names are shared, all other
    // properties are compared.
    let name: &'static str = match all.iter().find(|known| known.name == name) {
        Some(known) => known.name,
        None if all.len() >= MOST => return None,
        None => Box::leak(name.into_boxed_str()),
    };
    let command = make(name);
    if let Some(known) = all.iter().find(|known| ***known == Command { index: known.index, ..command }) {
        return Some(known);
    }
    if all.len() >= MOST {
        return None;
    }
    let index = FIRST_LEARNED + all.len() as u16;
    let command = Box::leak(Box::new(Command { index, ..command }));
    all.push(command);
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, flags: &[&str], first: i64, specs: &str) -> String {
        let flags: String = flags.iter().map(|flag| format!("+{flag}\r\n")).collect();
        let count = flags.lines().count();
        format!(
            "*9\r\n${}\r\n{name}\r\n:-2\r\n~{count}\r\n{flags}:{first}\r\n:1\r\n:1\r\n*0\r\n*0\r\n{specs}",
            name.len()
        )
    }

    #[test]
    fn commands_missing_from_the_table_are_learned() {
        let keynum = "*1\r\n%2\r\n+begin_search\r\n%2\r\n+type\r\n+index\r\n+spec\r\n%1\r\n+index\r\n:1\r\n\
                      +find_keys\r\n%2\r\n+type\r\n+keynum\r\n+spec\r\n%3\r\n+keynumidx\r\n:0\r\n\
                      +firstkey\r\n:1\r\n+keystep\r\n:2\r\n";
        let rows = [
            row("get", &["write"], 7, "*0\r\n"),
            row("NEWGET", &["readonly"], 1, "*0\r\n"),
            row("m.run", &["write", "module"], 0, keynum),
            row("m.wait", &["blocking", "module"], 1, "*0\r\n"),
            row("m.set", &["admin"], 0, "*0\r\n"),
            row("m.any", &["movablekeys"], 0, "*0\r\n"),
        ];
        let mut learned = LearnedCommands::default();
        learned.learn(format!("*6\r\n{}", rows.concat()).as_bytes());
        let known = |name: &str| {
            let command = learned.find(name.as_bytes());
            (command.class, command.keys, command.handling)
        };
        assert_eq!(learned.commands.len(), 5);
        assert_eq!(known("NewGet"), (Class::Read, Keys::Range(1, 1, 1), Handling::Forward));
        assert_eq!(known("m.run"), (Class::Write, Keys::Counted(1, 2), Handling::Run));
        assert_eq!(known("m.wait"), (Class::Other, Keys::Range(1, 1, 1), Handling::Block));
        assert_eq!(known("m.set"), (Class::Other, Keys::None, Handling::Refuse));
        assert_eq!(known("m.any"), (Class::Other, Keys::Unknown, Handling::Forward));
        assert_eq!(learned.find(b"nosuch").name, "");
        assert_eq!(name_of(learned.find(b"m.run").index), "m.run");
        let before = ALL.lock().unwrap().len();
        learned.learn(format!("*6\r\n{}", rows.concat()).as_bytes());
        assert_eq!(ALL.lock().unwrap().len(), before);
    }

    #[test]
    fn each_engine_version_is_queried_once() {
        let mut learned = LearnedCommands::default();
        let hello = |version: &str| format!("*4\r\n$7\r\nversion\r\n$5\r\n{version}\r\n$2\r\nid\r\n:1\r\n");
        assert!(learned.is_other_engine(hello("8.0.1").as_bytes()));
        assert!(!learned.is_other_engine(hello("8.0.1").as_bytes()));
        assert!(learned.is_other_engine(hello("9.1.2").as_bytes()));
        learned.learn(b"-NOPERM\r\n");
        assert!(learned.is_other_engine(hello("9.1.2").as_bytes()));
        learned.reset_query();
        assert!(learned.is_other_engine(hello("9.1.2").as_bytes()));
    }
}
