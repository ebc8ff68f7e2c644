//! The load generator: memtier_benchmark's options and output, with every request accounted for.
//!
//! arguments -> `options` -> `workload`; `run` checks the target, starts the threads of `worker` and gathers what they
//! tally; `report` prints it. `topology` and `scout` follow a cluster, `outage` says when a shard was not there.

#![recursion_limit = "256"]

mod client;
mod connection;
mod keys;
mod options;
mod outage;
mod probe;
mod report;
mod request;
mod run;
mod scout;
mod search;
mod shared;
mod tally;
mod tls;
mod topology;
mod worker;
mod workload;

pub use run::run;
