//! The endpoint: one process per node in front of every database that has an endpoint there.
//!
//! `process.rs` starts and stops everything; `acceptor.rs` assigns new clients to the threads of
//! `worker.rs`; `control.rs` defines all messages between agent and proxy.

pub mod acceptor;
pub mod budget;
pub mod command;
pub mod command_counts;
pub mod command_index;
mod command_table;
pub mod control;
mod event;
mod learned;
pub mod listeners;
pub mod metrics;
mod outage;
pub mod process;
mod reply_safety;
pub mod resources;
pub mod stats;
pub mod tls;
pub mod topology;
pub mod worker;

pub(crate) use net::{arena, poll, socket, stream};
