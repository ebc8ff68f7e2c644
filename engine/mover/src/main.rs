//! `shardboard-mover`: copies data between shards and RDB files.
//!
//! It uses the allocator of the C library, which grows large buffers without copying them and
//! returns them immediately. With mimalloc, values of 64 MB needed twice as much memory.

use std::process::ExitCode;

fn main() -> ExitCode {
    net::panic::abort_on_panic();
    mover::run(std::env::args_os().skip(1).collect())
}
