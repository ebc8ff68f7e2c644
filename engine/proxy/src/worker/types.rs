//! Values that the parts of a worker exchange. They contain no behaviour of a worker.

pub mod connection_count;
pub mod dirty;
pub mod errors;
pub mod message;
pub mod request;
pub mod session;
