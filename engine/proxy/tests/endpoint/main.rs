//! The proxy binary in front of real valkey-server processes, spoken to in bytes.

mod auth;
mod failover;
mod fake;
mod hidden;
mod hostile;
mod isolation;
mod lab;
mod learned;
mod limits;
mod oss_cluster;
mod passing;
mod process;
mod pubsub;
mod shard_tls;
mod tls;
mod transactions;
