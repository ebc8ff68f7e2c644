//! Values that the parts of a worker exchange. They contain no behavior of a worker.

pub mod connection_count;
pub mod cursor;
pub mod dirty;
pub mod errors;
pub mod list_filter;
pub mod message;
pub mod request;
pub mod session;
pub mod slot_owners;
