//! CLIENT, SCRIPT and their like: what of them may be said on a connection that many share, or is answered here. What is
//! not named here reaches no shard, whatever a newer engine may understand by it.

use crate::command::Handling;

struct Container {
    name: &'static str,
    allowed: &'static [&'static str],
    /// Known to the engine, and not for clients of an endpoint.
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

/// Why this one goes nowhere, if it does not.
pub(super) fn refusal(handling: Handling, word: &[u8]) -> Option<String> {
    let container = match handling {
        Handling::Client => CLIENT,
        Handling::Script => SCRIPT,
        Handling::Function => FUNCTION,
        Handling::Acl => ACL,
        Handling::Config => CONFIG,
        _ => return None,
    };
    let is_in = |list: &[&str]| list.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    let shown = String::from_utf8_lossy(&word[..word.len().min(128)]);
    if is_in(container.allowed) {
        None
    } else if is_in(container.refused) {
        Some(format!("ERR {} {} is not available through the endpoint", container.name, shown.to_uppercase()))
    } else {
        // As the engine words it.
        Some(format!("ERR unknown subcommand '{shown}'. Try {} HELP.", container.name))
    }
}
