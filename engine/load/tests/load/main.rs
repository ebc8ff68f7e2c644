//! Tests of the binary with real valkey-server processes and with a server that delays a reply.

mod cluster;
mod double;
mod lab;
mod single;
mod tls;
mod verification;
