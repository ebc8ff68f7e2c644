//! Numbered databases: an endpoint has only the database 0. Data in others would use memory, but
//! could not be read.

use crate::command::Command;
use resp::Args;

pub const NO_SUCH_DATABASE: &str = "ERR DB index is out of range";

/// Whether MOVE, COPY or SWAPDB names a database other than 0. The engine refuses what is not a
/// number.
pub fn names_other_database(command: &Command, args: &Args<'_>) -> bool {
    let is_other = |at: usize| args.get(at).and_then(resp::decimal).is_some_and(|number| number != 0);
    match command.name {
        "move" => is_other(2),
        "swapdb" => is_other(1) || is_other(2),
        "copy" => {
            let mut at = 3;
            while let Some(option) = args.get(at) {
                if option.eq_ignore_ascii_case(b"db") {
                    at += 1;
                    if is_other(at) {
                        return true;
                    }
                }
                at += 1;
            }
            false
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_index::find;
    use resp::{Limits, RequestParser};

    #[test]
    fn numbers_of_other_databases_are_found_by_position() {
        let names = |line: &str| {
            let (mut parser, line) = (RequestParser::default(), format!("{line}\r\n"));
            parser.parse(line.as_bytes(), &Limits::default()).unwrap();
            let args = parser.args(line.as_bytes());
            names_other_database(find(args.get(0).unwrap()).unwrap(), &args)
        };
        for line in
            ["move a 1", "move a -1", "copy a b DB 1", "copy a b replace db 2", "swapdb 0 1", "swapdb 1 0"]
        {
            assert!(names(line), "{line}");
        }
        for line in
            ["move a 0", "move a x", "copy db 1", "copy a db 1", "copy a b db", "copy a b db 0", "swapdb 0 0"]
        {
            assert!(!names(line), "{line}");
        }
    }
}
