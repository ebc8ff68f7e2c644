//! Non-blocking connections, plain or TLS, and the epoll loop's view of them. Shared by the endpoint and the load
//! generator; neither's protocol is known here.

pub mod arena;
pub mod panic;
pub mod poll;
pub mod socket;
pub mod stream;
