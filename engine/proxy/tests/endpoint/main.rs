//! The proxy binary in front of real valkey-server processes, spoken to in bytes.

mod auth;
mod failover;
mod hidden;
mod lab;
mod limits;
mod oss_cluster;
mod process;
mod pubsub;
mod tls;
mod transactions;
