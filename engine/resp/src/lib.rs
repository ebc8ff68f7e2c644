//! RESP2 and RESP3 on byte slices: finds the end of a request or a reply and the positions of its
//! parts, without copying it.
//!
//! bytes -> request ([`RequestParser`]), bytes -> reply ([`ReplyScanner`]), values -> bytes
//! ([`encode`]), and the hash slot of a key ([`slot`]). The crate does no I/O. When more bytes
//! arrive, the parsers continue from their previous position.

pub mod encode;
mod error;
mod inline;
mod number;
mod reply;
mod request;
pub mod slot;

pub use error::ProtocolError;
pub use number::decimal;
pub use reply::{Header, ReplyScanner, header, integer, items, text};
pub use request::{Args, Limits, RequestParser};
