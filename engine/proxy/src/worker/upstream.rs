//! Everything about shards: databases with their topology, connections, waiting requests and outages.
//! Files with a type contain its state. The other files contain the behaviour, and are imported by no
//! file.

pub mod backend;
pub mod backends;
mod canaries;
pub mod canary;
mod connect;
pub mod db;
pub mod identity;
pub mod outage;
mod outages;
pub mod parked_requests;
mod parking;
mod pool;
mod redirection;
