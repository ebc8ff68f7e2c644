//! RESP2 and RESP3 on byte slices: where a request or a reply ends and where its parts are, without copying it.
//!
//! bytes -> request ([`RequestParser`]), bytes -> reply ([`ReplyScanner`]), values -> bytes ([`encode`]), and the
//! hash slot of a key ([`slot`]). Nothing here does input or output; parsers continue where the last bytes ended.

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
