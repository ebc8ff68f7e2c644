//! `shardboard-load`: puts load on a Redis or Valkey database, or on a cluster, and reports what came of it.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    net::panic::ends_the_process();
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    load::run(arguments)
}
