//! Non-blocking connections, plain or TLS, and the epoll loop that watches them. Shared by the
//! proxy and the load generator, and independent of their protocols.

pub mod arena;
pub mod panic;
pub mod poll;
pub mod socket;
pub mod stream;
