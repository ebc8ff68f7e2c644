//! CLIENT, SCRIPT and similar commands: the subcommands that are allowed on a shared connection or
//! answered by the proxy. Subcommands that are not listed reach no shard, even if a newer engine
//! supports them.

use crate::command::Handling;
use resp::Args;

struct Container {
    name: &'static str,
    allowed: &'static [&'static str],
    /// Known to the engine, but not available to clients of an endpoint.
    refused: &'static [&'static str],
}

const CLIENT: Container = Container {
    name: "CLIENT",
    allowed: &[
        "id",
        "setname",
        "getname",
        "setinfo",
        "info",
        "list",
        "no-evict",
        "no-touch",
        "reply",
        "getredir",
        "tracking",
        "caching",
        "trackinginfo",
        "help",
    ],
    refused: &["kill", "pause", "unpause", "unblock", "capa", "import-source"],
};

const SCRIPT: Container = Container {
    name: "SCRIPT",
    allowed: &["load", "flush", "exists", "show", "kill", "help"],
    refused: &["debug"],
};

const FUNCTION: Container = Container {
    name: "FUNCTION",
    allowed: &["load", "delete", "flush", "restore", "list", "dump", "stats", "kill", "help"],
    refused: &[],
};

const ACL: Container = Container {
    name: "ACL",
    allowed: &["whoami", "cat", "genpass", "getuser", "list", "users", "dryrun", "log", "help"],
    refused: &["setuser", "deluser", "load", "save"],
};

const CONFIG: Container =
    Container { name: "CONFIG", allowed: &["get", "resetstat", "help"], refused: &["set", "rewrite"] };

/// Returns the error for a subcommand that is refused.
pub fn refusal(handling: Handling, word: &[u8]) -> Option<String> {
    let container = match handling {
        Handling::Client => CLIENT,
        Handling::Script => SCRIPT,
        Handling::Function => FUNCTION,
        Handling::Acl => ACL,
        Handling::Config => CONFIG,
        _ => return None,
    };
    let is_in = |list: &[&str]| list.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    // The engine quotes at most as many bytes, up to a NUL.
    let quoted = word[..word.len().min(128)].split(|&byte| byte == 0).next().unwrap_or_default();
    let shown = String::from_utf8_lossy(quoted);
    if is_in(container.allowed) {
        None
    } else if is_in(container.refused) {
        Some(format!("ERR {} {} is not available through the endpoint", container.name, shown.to_uppercase()))
    } else {
        // The error text of the engine.
        Some(format!("ERR unknown subcommand '{shown}'. Try {} HELP.", container.name))
    }
}

pub fn is_word(args: &Args<'_>, at: usize, word: &str) -> bool {
    args.get(at).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
}
