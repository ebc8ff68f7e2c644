//! Clients, their expected replies and their output.

pub mod client;
pub mod dedicated;
pub mod info;
pub mod join;
pub mod output;
pub mod reply;
