//! Protocol errors, with the messages of the engine.

use std::fmt;

/// The peer violates the protocol or exceeds a limit. The connection must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolError {
    TooBigInline,
    UnbalancedQuotes,
    InvalidMultibulkLength,
    TooBigMultibulkCount,
    ExpectedBulk(u8),
    TooBigBulkCount,
    InvalidBulkLength,
    /// A length or an argument is not followed by CR LF.
    InvalidTerminator,
    TooBigRequest,
    InvalidReply(u8),
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooBigInline => f.write_str("too big inline request"),
            Self::UnbalancedQuotes => f.write_str("unbalanced quotes in request"),
            Self::InvalidMultibulkLength => f.write_str("invalid multibulk length"),
            Self::TooBigMultibulkCount => f.write_str("too big mbulk count string"),
            Self::ExpectedBulk(got) => write!(f, "expected '$', got '{}'", char::from(*got)),
            Self::TooBigBulkCount => f.write_str("too big bulk count string"),
            Self::InvalidBulkLength => f.write_str("invalid bulk length"),
            Self::InvalidTerminator => f.write_str("invalid CRLF in request"),
            Self::TooBigRequest => f.write_str("request is larger than the endpoint allows"),
            Self::InvalidReply(got) => write!(f, "invalid reply type {got:#04x}"),
        }
    }
}

impl std::error::Error for ProtocolError {}
