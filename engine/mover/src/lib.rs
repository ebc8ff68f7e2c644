//! Copies data between shards and RDB files.
//!
//! * `snapshot`: shard -> `rdb` -> `compression` -> standard output
//! * `restore`: standard input -> `compression` -> `rdb` -> shards
//! * `inspect`: standard input -> `compression` -> `rdb`
//! * `record`: replication stream of a shard -> `changes` -> standard output
//! * `replay`: standard input -> `changes` -> shards
//! * `check-changes`: standard input -> `changes`
//!
//! `statistics`, `digest` and `analysis` describe the keys that pass. `lines` reports progress and
//! the result.

mod analysis;
pub mod changes;
mod clock;
mod compression;
mod connection;
pub mod digest;
pub mod error;
mod glob;
mod inspect;
mod lines;
mod options;
mod pace;
pub mod rdb;
mod record;
mod replay;
mod restore;
pub mod slots;
mod snapshot;
pub mod statistics;

use error::{Error, Result};
use lines::{Lines, Progress};
use options::{HELP, ParsedArguments, Task};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;

const EXIT_INVALID: u8 = 2;
const PASSWORD: &str = "SHARDBOARD_MOVER_PASSWORD";

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let invalid = |message: &str| {
        eprintln!("shardboard-mover: {message}");
        ExitCode::from(EXIT_INVALID)
    };
    let (task, live_lines) = match options::parse(arguments) {
        Ok(ParsedArguments::Help) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Ok(ParsedArguments::Version) => {
            println!("shardboard-mover {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Ok(ParsedArguments::Run { task, live_lines }) => (task, live_lines),
        Err(message) => return invalid(&message),
    };
    let password = std::env::var(PASSWORD).unwrap_or_default();
    let progress = Arc::new(Progress::default());
    let lines = match Lines::start(live_lines, Arc::clone(&progress)) {
        Ok(lines) => lines,
        Err(error) => return invalid(&error.message),
    };
    let outcome = match task {
        Task::Snapshot(options) => {
            file(std::io::stdout()).and_then(|output| snapshot::run(&options, &password, output, &progress))
        }
        Task::Restore(options) => {
            file(std::io::stdin()).and_then(|input| restore::run(&options, &password, input, &progress))
        }
        Task::Record(options) => file(std::io::stdin()).and_then(|requests| {
            record::run(&options, &password, requests, file(std::io::stdout())?, &progress)
        }),
        Task::Replay(options) => {
            file(std::io::stdin()).and_then(|input| replay::run(&options, &password, input, &progress))
        }
        Task::CheckChanges => file(std::io::stdin()).and_then(|input| changes::check(input, &progress)),
        Task::EndImport(options) => restore::import_mode::end(&options, &password),
        Task::Inspect => file(std::io::stdin()).and_then(|input| inspect::run(input, &progress)),
    };
    lines.end(&outcome);
    if let Err(error) = &outcome {
        eprintln!("shardboard-mover: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Standard input or output without the buffer of the library.
fn file(stream: impl AsFd) -> Result<File> {
    let descriptor = stream.as_fd().try_clone_to_owned();
    descriptor
        .map(File::from)
        .map_err(|error| Error::general(format!("a descriptor cannot be used: {error}")))
}
