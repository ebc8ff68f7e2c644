//! `shardboard-load`: generates load on a Redis or Valkey database or cluster and reports the
//! results.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    net::panic::abort_on_panic();
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    load::run(arguments)
}
