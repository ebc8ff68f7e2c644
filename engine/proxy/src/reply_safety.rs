//! Which requests may cause more than one reply.
//!
//! The engine copies parts of some requests into error texts without removing line breaks. On a
//! connection that many clients share, the text after such a line break would be taken for the
//! reply to the next request. Commands of the table are trusted as far as
//! `engine/testkit/conformance/reply_injection.py` has tested them; `reply_injection.json` in the same
//! directory contains the result.

use crate::command::{Handling, ReplySafety};
use resp::Args;

/// Measure that a request requires so that it cannot harm other clients, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Risk {
    #[default]
    None,
    /// A fence after it, unless the engine is known to remove line breaks from errors of scripts.
    Script,
    /// A fence after it: a request with a random text that must be the next reply.
    Unknown,
    /// A dedicated connection that is closed afterwards.
    Unsafe,
}

/// Returns the proof for commands of the table.
pub const fn proof(handling: Handling) -> ReplySafety {
    match handling {
        Handling::Run | Handling::Script => ReplySafety::Script,
        Handling::Function => ReplySafety::Unsafe,
        _ => ReplySafety::Safe,
    }
}

#[inline]
pub fn risk(proof: ReplySafety, args: &Args<'_>) -> Risk {
    match proof {
        ReplySafety::Safe => Risk::None,
        proof => risk_of_arguments(proof, args),
    }
}

#[cold]
fn risk_of_arguments(proof: ReplySafety, args: &Args<'_>) -> Risk {
    let has_line_break = |arg: &[u8]| arg.iter().any(|byte| matches!(byte, b'\r' | b'\n'));
    match proof {
        ReplySafety::Safe => Risk::None,
        // The script is the first argument of EVAL and the second of SCRIPT LOAD.
        ReplySafety::Script if args.iter().skip(1).take(2).all(has_plain_first_line) => Risk::Script,
        ReplySafety::Unknown if !args.iter().any(has_line_break) => Risk::Unknown,
        ReplySafety::Script | ReplySafety::Unsafe | ReplySafety::Unknown => Risk::Unsafe,
    }
}

/// Whether the engine does not interpret the first line, or it is a Lua header without quotes and
/// escapes. Quoted words may contain escaped line breaks.
fn has_plain_first_line(script: &[u8]) -> bool {
    let Some(rest) = script.strip_prefix(b"#!") else { return true };
    let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let is_lua = line.strip_prefix(b"lua").is_some_and(|options| options.first().is_none_or(|&b| b == b' '));
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\'' | b'\\');
    is_lua && line.iter().all(is_plain)
}

/// Versions whose errors of Lua scripts contain no line breaks of the script, according to
/// `reply_injection.json`.
const SAFE_SCRIPTS: [&[u8]; 1] = [b"9.1."];
/// Modules that do not affect this: the engine's own Lua, and Shardboard's module for values on
/// flash.
const SAFE_MODULES: [&[u8]; 2] = [b"lua", b"tier"];

/// Whether scripts need no fence at the shard with this HELLO reply.
pub fn has_safe_scripts(hello: &[u8]) -> bool {
    let fields = resp::items(hello).unwrap_or_default();
    let value = |name: &[u8]| {
        fields.chunks_exact(2).find(|pair| resp::text(pair[0]) == Some(name)).map(|pair| pair[1])
    };
    let version = value(b"version").and_then(resp::text).unwrap_or_default();
    let is_valkey = value(b"server").and_then(resp::text) == Some(b"valkey");
    let modules = value(b"modules").and_then(resp::items).unwrap_or_default();
    let is_safe = |module: &&[u8]| {
        let fields = resp::items(module).unwrap_or_default();
        let name = fields.chunks_exact(2).find(|pair| resp::text(pair[0]) == Some(b"name"));
        name.and_then(|pair| resp::text(pair[1])).is_some_and(|name| SAFE_MODULES.contains(&name))
    };
    is_valkey && SAFE_SCRIPTS.iter().any(|known| version.starts_with(known)) && modules.iter().all(is_safe)
}

/// Whether the engine treats the request as HTTP, closes the connection and logs an attack. It
/// compares C strings, so a name ends at a NUL.
pub fn is_http(name: &[u8]) -> bool {
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_index::{TABLE, UNKNOWN, find};
    use resp::{Limits, RequestParser, encode};
    use serde_json::Value;

    fn risk_of(words: &[&[u8]]) -> Risk {
        let (mut request, mut parser) = (Vec::new(), RequestParser::default());
        encode::command(&mut request, words.iter().copied());
        parser.parse(&request, &Limits::default()).unwrap();
        risk(find(words[0]).unwrap_or(&UNKNOWN).proof, &parser.args(&request))
    }

    #[test]
    fn scripts_need_a_dedicated_connection_if_their_first_line_may_contain_line_breaks() {
        for script in [
            &b"return 1"[..],
            b"return '\r\n'",
            b"#!lua\nreturn 1",
            b"#!lua\r\nreturn 1",
            b"#!lua flags=no-writes,allow-oom\nreturn '\\r\\n'",
        ] {
            assert_eq!(risk_of(&[b"EVAL", script, b"0"]), Risk::Script, "{script:?}");
            assert_eq!(risk_of(&[b"SCRIPT", b"LOAD", script]), Risk::Script, "{script:?}");
        }
        for script in [
            &b"#!lua flags=\"a\\r\\n+b\"\nreturn 1"[..],
            b"#!lua flags=a\r+b\nreturn 1",
            b"#!lua 'a'\nreturn 1",
            b"#!luajit\nreturn 1",
            b"#!js\nreturn 1",
        ] {
            assert_eq!(risk_of(&[b"EVAL", script, b"0"]), Risk::Unsafe, "{script:?}");
            assert_eq!(risk_of(&[b"SCRIPT", b"LOAD", script]), Risk::Unsafe, "{script:?}");
        }
    }

    #[test]
    fn unknown_commands_are_fenced_or_isolated_and_values_are_unrestricted() {
        assert_eq!(risk_of(&[b"JSON.GET", b"a"]), Risk::Unknown);
        assert_eq!(risk_of(&[b"JSON.GET", b"a\r\n+b"]), Risk::Unsafe);
        assert_eq!(risk_of(&[b"NO\nSUCH"]), Risk::Unsafe);
        assert_eq!(risk_of(&[b"SET", b"a", b"b\r\n+c"]), Risk::None);
        assert_eq!(risk_of(&[b"FUNCTION", b"LIST"]), Risk::Unsafe);
    }

    #[test]
    fn scripts_are_safe_with_tested_versions_and_known_modules() {
        let hello = |version: &str, modules: &[&str]| {
            let modules: Vec<_> =
                modules.iter().map(|name| format!("%2\r\n+name\r\n+{name}\r\n+ver\r\n:1\r\n")).collect();
            let modules = format!("*{}\r\n{}", modules.len(), modules.concat());
            format!("%3\r\n+server\r\n+valkey\r\n+version\r\n+{version}\r\n+modules\r\n{modules}")
        };
        assert!(has_safe_scripts(hello("9.1.2", &["lua", "tier"]).as_bytes()));
        assert!(!has_safe_scripts(hello("9.1.2", &["lua", "js"]).as_bytes()));
        assert!(!has_safe_scripts(hello("8.0.1", &[]).as_bytes()));
        assert!(!has_safe_scripts(hello("9.2.0", &["lua"]).as_bytes()));
        assert!(!has_safe_scripts(b"-NOAUTH\r\n"));
    }

    /// The committed result of `reply_injection.py`, by engine version.
    fn sweep() -> Value {
        serde_json::from_str(include_str!("../../testkit/conformance/reply_injection.json")).unwrap()
    }

    #[test]
    fn commands_considered_safe_were_tested_and_quote_no_request() {
        let sweep = sweep();
        let leaks: Vec<&str> = sweep
            .as_object()
            .unwrap()
            .values()
            .flat_map(|engine| engine["leaks"].as_object().unwrap().keys())
            .map(|name| name.split('|').next().unwrap())
            .collect();
        assert!(leaks.contains(&"function") && leaks.contains(&"eval"), "{leaks:?}");
        let tried = sweep["9.1"]["tried"].as_array().unwrap();
        for command in TABLE.iter().filter(|command| command.proof == ReplySafety::Safe) {
            assert!(!leaks.contains(&command.name), "{} quotes requests", command.name);
            let is_tried =
                tried.iter().any(|name| name.as_str().unwrap().split('|').next() == Some(command.name));
            assert!(
                is_tried || matches!(command.handling, Handling::Refuse | Handling::Monitor),
                "{} was not tested",
                command.name
            );
        }
    }
}
