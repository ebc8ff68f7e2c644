//! Tests of the proxy binary with real valkey-server processes, with raw protocol bytes.

mod auth;
mod failover;
mod fake;
mod hidden;
mod hostile;
mod isolation;
mod keys;
mod lab;
mod learned;
mod limits;
mod oss_cluster;
mod passing;
mod process;
mod pubsub;
mod scan;
mod session;
mod shard_tls;
mod tls;
mod transactions;
