//! The binary before real valkey-server processes, and before a server that delays as it is told.

mod cluster;
mod double;
mod lab;
mod single;
mod tls;
