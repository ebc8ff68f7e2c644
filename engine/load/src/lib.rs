//! The load generator: options and output of memtier_benchmark, with an account of every request.
//!
//! arguments -> `options` -> `workload`; `run` checks the target, starts the threads of `worker`
//! and collects their `tally`; `report` prints the result. `topology` and `discovery` follow the
//! topology of a cluster, and `outage` determines when a shard was unavailable.

#![recursion_limit = "256"]

mod client;
mod client_statistics;
mod connection;
mod discovery;
mod keys;
mod options;
mod outage;
mod probe;
mod report;
mod request;
mod run;
mod search;
mod shared;
mod tally;
mod tls;
mod topology;
mod verification;
mod worker;
mod workload;

pub use run::run;
