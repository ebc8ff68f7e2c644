//! Where the keys of commands are, as the engine describes it.

use crate::connection::Connection;
use crate::error::{Code, Error, Result};
use resp::{Args, decimal, items, text};
use std::collections::HashMap;
use std::path::Path;

/// How to find the keys of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Arguments `first`, `first + step`, … up to `last`. A negative `last` counts from the end.
    Range { first: usize, last: i64, step: usize },
    /// The position depends on other arguments: the engine is asked for each command.
    Asked,
    /// It depends on the second argument, which is the name of a subcommand.
    Subcommand,
}

pub struct CommandTable {
    connection: Connection,
    known: HashMap<Vec<u8>, Keys>,
}

impl CommandTable {
    pub fn open(socket: &Path, user: &str, password: &str) -> Result<Self> {
        Ok(Self { connection: Connection::open(socket, user, password)?, known: HashMap::new() })
    }

    /// Writes the indexes of the keys of a command to `keys`. `name`: in capital letters.
    pub fn keys(&mut self, name: &[u8], args: Args<'_>, keys: &mut Vec<usize>) -> Result<()> {
        keys.clear();
        let mut found = self.find(name)?;
        if found == Keys::Subcommand {
            let subcommand = args.get(1).unwrap_or_default().to_ascii_uppercase();
            found = self.find(&[name, b"|", &subcommand].concat())?;
        }
        match found {
            Keys::Range { first, last, step } => {
                let count = args.len() as i64;
                let last = if last < 0 { count + last } else { last };
                keys.extend((first..=usize::try_from(last).unwrap_or(0)).step_by(step));
            }
            Keys::Asked => self.ask(args, keys)?,
            Keys::Subcommand => {}
        }
        if keys.is_empty() || keys.last().is_some_and(|&last| last >= args.len()) {
            return Err(unknown(name));
        }
        Ok(())
    }

    fn find(&mut self, name: &[u8]) -> Result<Keys> {
        if let Some(&keys) = self.known.get(name) {
            return Ok(keys);
        }
        let reply = self.connection.command(&[b"COMMAND", b"INFO", name])?;
        let keys = parse(&reply).ok_or_else(|| unknown(name))?;
        self.known.insert(name.to_vec(), keys);
        Ok(keys)
    }

    fn ask(&mut self, args: Args<'_>, keys: &mut Vec<usize>) -> Result<()> {
        let mut request: Vec<&[u8]> = vec![b"COMMAND", b"GETKEYS"];
        request.extend(args.iter());
        let reply = self.connection.command(&request).map_err(|error| match error.code {
            Code::ShardUnavailable if error.message.contains("rejected") => unknown(request[2]),
            _ => error,
        })?;
        let found: Vec<&[u8]> = items(&reply).unwrap_or_default().into_iter().filter_map(text).collect();
        // Keys follow each other in the order of the reply, but other arguments can be equal to a key.
        let mut from = 1;
        for key in found {
            let at = (from..args.len()).find(|&index| args.get(index) == Some(key));
            let at = at.or_else(|| (1..args.len()).find(|&index| args.get(index) == Some(key)));
            let at = at.ok_or_else(|| unknown(request[2]))?;
            keys.push(at);
            from = at + 1;
        }
        Ok(())
    }
}

/// Reads the reply to COMMAND INFO with one name.
fn parse(reply: &[u8]) -> Option<Keys> {
    let fields = items(items(reply)?.first()?)?;
    let number = |index: usize| decimal(text(fields.get(index)?)?);
    let is_movable = items(fields.get(2)?)?.into_iter().filter_map(text).any(|flag| flag == b"movablekeys");
    let has_subcommands = fields.get(9).and_then(|field| items(field)).is_some_and(|list| !list.is_empty());
    if has_subcommands {
        return Some(Keys::Subcommand);
    }
    if is_movable {
        return Some(Keys::Asked);
    }
    let (first, last, step) = (number(3)?, number(4)?, number(5)?);
    let (first, step) = (usize::try_from(first).ok()?, usize::try_from(step).ok()?);
    (first > 0 && step > 0).then_some(Keys::Range { first, last, step })
}

/// The command that does for one key what this one does for several, and the number of its values.
pub fn single(name: &[u8]) -> Option<(&'static [u8], usize)> {
    Some(match name {
        b"DEL" | b"UNLINK" => (b"UNLINK", 0),
        b"MSET" | b"MSETNX" => (b"SET", 1),
        _ => return None,
    })
}

/// The arguments of FUNCTION, so that libraries replace those of the same name.
pub fn function(args: Args<'_>) -> Vec<&[u8]> {
    let mut all: Vec<&[u8]> = args.iter().collect();
    let is = |index: usize, text: &str| {
        args.get(index).is_some_and(|arg| arg.eq_ignore_ascii_case(text.as_bytes()))
    };
    if is(1, "LOAD") && !is(2, "REPLACE") {
        all.insert(2, b"REPLACE");
    }
    if is(1, "RESTORE") && !is(3, "FLUSH") {
        all.truncate(3);
        all.push(b"REPLACE");
    }
    all
}

#[cold]
fn unknown(name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name);
    Error::general(format!(
        "{name} cannot be replayed, because the engine of the target does not say which keys it changes. \
         Restore a backup, or a point in time before this change."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_commands() {
        let info = |flags: &str, numbers: &str, rest: &str| {
            parse(
                format!("*1\r\n*10\r\n$1\r\nx\r\n:-3\r\n{flags}{numbers}*0\r\n*0\r\n*0\r\n{rest}").as_bytes(),
            )
        };
        let write = "*1\r\n+write\r\n";
        assert_eq!(
            info(write, ":1\r\n:-1\r\n:2\r\n", "*0\r\n"),
            Some(Keys::Range { first: 1, last: -1, step: 2 })
        );
        assert_eq!(info("*1\r\n+movablekeys\r\n", ":1\r\n:1\r\n:1\r\n", "*0\r\n"), Some(Keys::Asked));
        assert_eq!(info(write, ":0\r\n:0\r\n:0\r\n", "*1\r\n*0\r\n"), Some(Keys::Subcommand));
        assert_eq!(info(write, ":0\r\n:0\r\n:0\r\n", "*0\r\n"), None);
        assert_eq!(parse(b"*1\r\n*-1\r\n"), None);
    }
}
