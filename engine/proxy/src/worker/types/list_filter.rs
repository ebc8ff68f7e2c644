//! Which clients CLIENT LIST describes.

use resp::Args;

const SYNTAX: &str = "ERR syntax error";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// `None`: of all users.
    pub user: Option<Vec<u8>>,
    ids: Option<Vec<u64>>,
    kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Pubsub,
    /// Connections of replication, which an endpoint does not have.
    Replication,
}

impl ListFilter {
    /// Parses the options TYPE, ID and USER. Returns the error of the engine if they are invalid.
    pub fn parse(args: &Args<'_>) -> Result<Self, String> {
        let mut filter = Self::default();
        let mut at = 2;
        while let Some(option) = args.get(at) {
            let Some(value) = args.get(at + 1) else { return Err(SYNTAX.into()) };
            match option.to_ascii_lowercase().as_slice() {
                b"type" => filter.kind = Some(Kind::parse(value)?),
                b"user" => filter.user = Some(value.to_vec()),
                b"id" => {
                    let ids: Vec<_> = args.iter().skip(at + 1).map_while(id).collect();
                    if ids.is_empty() {
                        return Err(SYNTAX.into());
                    }
                    at += ids.len() - 1;
                    filter.ids = Some(ids);
                }
                _ => return Err(SYNTAX.into()),
            }
            at += 2;
        }
        Ok(filter)
    }

    /// Excludes the clients of other users.
    pub fn restrict_to(&mut self, user: &[u8]) {
        if self.user.replace(user.to_vec()).is_some_and(|requested| requested != user) {
            self.ids = Some(Vec::new());
        }
    }

    pub fn includes(&self, user: &[u8], id: u64, is_subscriber: bool) -> bool {
        self.user.as_ref().is_none_or(|only| only == user)
            && self.ids.as_ref().is_none_or(|ids| ids.contains(&id))
            && self.kind.is_none_or(|kind| match kind {
                Kind::Normal => !is_subscriber,
                Kind::Pubsub => is_subscriber,
                Kind::Replication => false,
            })
    }
}

impl Kind {
    fn parse(text: &[u8]) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_slice() {
            b"normal" => Ok(Self::Normal),
            b"pubsub" => Ok(Self::Pubsub),
            b"master" | b"primary" | b"replica" | b"slave" => Ok(Self::Replication),
            _ => Err(format!("ERR Unknown client type '{}'", String::from_utf8_lossy(text))),
        }
    }
}

fn id(text: &[u8]) -> Option<u64> {
    u64::try_from(resp::decimal(text)?).ok().filter(|&id| id > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use resp::{Limits, RequestParser};

    fn parsed(line: &str) -> Result<ListFilter, String> {
        let (mut parser, line) = (RequestParser::default(), format!("{line}\r\n"));
        parser.parse(line.as_bytes(), &Limits::default()).unwrap();
        ListFilter::parse(&parser.args(line.as_bytes()))
    }

    #[test]
    fn filters_can_be_combined() {
        let filter = parsed("client list type normal id 1 2 user ann").unwrap();
        assert!(filter.includes(b"ann", 2, false));
        assert!(!filter.includes(b"bob", 2, false));
        assert!(!filter.includes(b"ann", 3, false));
        assert!(!filter.includes(b"ann", 2, true));
        assert!(!parsed("client list type replica").unwrap().includes(b"ann", 1, false));
        assert!(parsed("client list").unwrap().includes(b"ann", 1, true));
        for (line, error) in [
            ("client list type", "syntax error"),
            ("client list id", "syntax error"),
            ("client list x y", "syntax error"),
            ("client list id 1 x", "syntax error"),
            ("client list id x", "syntax error"),
            ("client list id 0", "syntax error"),
            ("client list type x", "Unknown client type 'x'"),
        ] {
            assert_eq!(parsed(line), Err(format!("ERR {error}")), "{line}");
        }
    }

    #[test]
    fn a_restricted_filter_includes_no_other_users() {
        for (line, has_own) in
            [("client list", true), ("client list user ann", true), ("client list user bob", false)]
        {
            let mut filter = parsed(line).unwrap();
            filter.restrict_to(b"ann");
            assert_eq!(filter.includes(b"ann", 1, false), has_own, "{line}");
            assert!(!filter.includes(b"bob", 1, false), "{line}");
        }
    }
}
