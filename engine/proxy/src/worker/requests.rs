//! Requests of clients, by command: from the parsed request to the connection to a shard.
//! The client is passed as an argument, so these files need only the part about shards.

mod blocking;
mod client_command;
mod cluster;
mod dedicated;
mod dispatch;
mod fanout;
mod numbered;
mod pubsub;
mod scan;
mod session;
mod split;
pub mod subcommands;
mod tracking;
mod transaction;
