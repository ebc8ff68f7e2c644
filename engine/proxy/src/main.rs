//! `shardboard-proxy --control PATH`: serves the databases that the agent applies over the socket
//! at PATH, until it receives `drain`.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    net::panic::abort_on_panic();
    let mut args = std::env::args().skip(1);
    let path = match (args.next().as_deref(), args.next(), args.next()) {
        (Some("--control"), Some(path), None) => path,
        (Some("--version"), None, None) => {
            println!("shardboard-proxy {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("usage: shardboard-proxy --control PATH");
            return ExitCode::from(2);
        }
    };
    match proxy::process::run(path.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shardboard-proxy: {error}");
            ExitCode::FAILURE
        }
    }
}
