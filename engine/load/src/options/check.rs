//! What options mean together: what excludes what, and what is out of any range.

use crate::keys::Pattern;
use crate::options::parse::Seen;
use crate::options::values::number;
use crate::options::{Command, Options, Size, Staircase};

/// More than this asks for a mistake to be found, not for load.
const MAX_CONNECTIONS: usize = 100_000;
const MAX_VALUE: usize = 512 << 20;

/// What options mean together.
pub fn check(options: &mut Options, seen: &Seen) -> Result<(), String> {
    if let Some(uri) = &seen.uri {
        apply_uri(uri, options)?;
    }
    if options.password.is_none() {
        options.password =
            std::env::var("SHARDBOARD_LOAD_PASSWORD").ok().filter(|password| !password.is_empty());
    }
    let refuse = |wrong: bool, why: &str| if wrong { Err(why.to_owned()) } else { Ok(()) };
    refuse(options.unix_socket.is_some() && seen.tcp, "--unix-socket excludes --server and --port")?;
    refuse(options.unix_socket.is_some() && options.cluster, "--unix-socket excludes --cluster-mode")?;
    refuse(options.cluster && options.database != 0, "a cluster has database 0 only: omit --select-db")?;
    refuse(options.test_time.is_some() && seen.requests, "--test-time excludes --requests")?;
    refuse(
        options.endless && (options.test_time.is_some() || seen.requests),
        "--endless excludes --test-time and --requests",
    )?;
    refuse(
        options.endless && (options.run_count > 1 || options.find_max.is_some()),
        "--endless excludes --run-count and --find-max",
    )?;
    refuse(options.rate_wave.is_some() && options.rate.is_none(), "--rate-wave needs --rate")?;
    refuse(options.threads > 1_000, "--threads: more than 1000")?;
    refuse(
        options.clients.saturating_mul(options.threads) > MAX_CONNECTIONS,
        "--clients times --threads: more than 100000 connections",
    )?;
    refuse(options.rate.is_some_and(|rate| rate <= 0.0), "--rate must be above 0")?;
    refuse(options.rate.is_some() && options.rate_limiting.is_some(), "--rate excludes --rate-limiting")?;
    check_commands(options)?;
    let stairs = options.staircase;
    refuse(
        stairs != Staircase::default()
            && (stairs.start == 0 || stairs.step == 0 || stairs.seconds == 0 || options.test_time.is_none()),
        "--clients-start, --clients-step, --step-duration and --test-time belong together",
    )?;
    refuse(stairs.start >= options.clients.max(1), "--clients-start must be below --clients")?;
    refuse(options.start_jitter.0 > options.start_jitter.1, "the jitter's minimum is above its maximum")?;
    refuse(
        options.cluster && options.reconnect_interval.is_some(),
        "--reconnect-interval excludes --cluster-mode",
    )?;
    refuse(
        options.reconnect_backoff_factor != 0.0 && !(1.0..=100.0).contains(&options.reconnect_backoff_factor),
        "--reconnect-backoff-factor must be 0, or between 1 and 100",
    )?;
    refuse(
        options.find_max.is_some() && (options.rate.is_some() || options.rate_limiting.is_some()),
        "--find-max chooses the rate itself: omit --rate and --rate-limiting",
    )?;
    refuse(options.find_max.is_some() && options.run_count > 1, "--find-max excludes --run-count")?;
    refuse(options.find_max.is_some() && seen.requests, "--find-max excludes --requests")?;
    refuse(options.pipeline > 1_000_000, "--pipeline: more than 1000000")?;
    refuse(options.key_minimum > options.key_maximum, "--key-minimum is above --key-maximum")?;
    refuse(options.key_maximum > 1 << 53, "--key-maximum: more than 2^53")?;
    refuse(
        seen.data.len() > 1 && seen.data.iter().any(|name| *name != seen.data[0]),
        "--data-size, --data-size-range and --data-size-list exclude one another",
    )?;
    let largest = match &options.size {
        Size::Fixed(size) | Size::Range(_, size) => *size,
        Size::List(list) => list.iter().map(|(size, _)| *size).max().unwrap_or(0),
    };
    refuse(largest > MAX_VALUE, "a value has 512 MB at most")?;
    refuse(
        options.data_offset.is_some() && options.expiry.is_some(),
        "--data-offset excludes --expiry-range",
    )?;
    let gaussian = options.key_pattern.0 == Pattern::Gaussian || options.key_pattern.1 == Pattern::Gaussian;
    refuse(
        !gaussian && (options.key_stddev.is_some() || options.key_median.is_some()),
        "--key-stddev and --key-median need the key pattern G",
    )?;
    refuse(options.key_stddev.is_some_and(|deviation| deviation <= 0.0), "--key-stddev must be above 0")?;
    let inside = options.key_minimum as f64..=options.key_maximum as f64;
    refuse(
        options.key_median.is_some_and(|median| !inside.contains(&median)),
        "--key-median must be between --key-minimum and --key-maximum",
    )?;
    refuse(
        !(options.key_zipf_exp > 0.0 && options.key_zipf_exp < 5.0),
        "--key-zipf-exp must be between 0 and 5, without these",
    )?;
    Ok(())
}

fn check_commands(options: &Options) -> Result<(), String> {
    let refuse = |wrong: bool, why: &str| if wrong { Err(why.to_owned()) } else { Ok(()) };
    let has = |word: &'static str| {
        move |command: &Command| command.arguments.iter().any(|argument| argument.contains(word))
    };
    let commands = &options.commands;
    refuse(commands.len() > 200, "--command: more than 200")?;
    refuse(commands.iter().any(has("__monitor_line")), "--command: MONITOR captures are not replayed")?;
    refuse(
        commands.iter().any(|command| command.arguments[0].contains("__")),
        "--command: the command itself cannot be a placeholder",
    )?;
    refuse(
        options.cluster && !commands.iter().all(has("__key__")),
        "--command: in a cluster every command needs a __key__, which says where it goes",
    )?;
    let parallel = commands.iter().filter(|command| command.pattern == Pattern::Parallel).count();
    refuse(parallel != 0 && parallel != commands.len(), "--command-key-pattern: P must be on all commands")?;
    refuse(
        !commands.is_empty() && options.wait_ratio.is_some(),
        "--wait-ratio goes with SETs and GETs, not with --command",
    )?;
    refuse(options.cluster && options.wait_ratio.is_some(), "--wait-ratio excludes --cluster-mode")
}

/// `redis[s]://[user[:password]@]host[:port][/db]`; it wins over the single options.
fn apply_uri(uri: &str, options: &mut Options) -> Result<(), String> {
    let wrong = || "--uri: expected redis[s]://[user[:password]@]host[:port][/db]".to_owned();
    let (scheme, rest) = uri.split_once("://").ok_or_else(wrong)?;
    match scheme {
        "redis" => {}
        "rediss" => drop(options.tls.get_or_insert_default()),
        _ => return Err(wrong()),
    }
    let (login, rest) = rest.rsplit_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
    if let Some(login) = login {
        match login.split_once(':') {
            Some((user, password)) => {
                options.user = Some(user.to_owned()).filter(|user| !user.is_empty());
                options.password = Some(password.into());
            }
            None => options.password = Some(login.into()),
        }
    }
    let (address, database) = rest.split_once('/').unwrap_or((rest, ""));
    if !database.is_empty() {
        options.database = number(database).map_err(|_| wrong())?;
    }
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, number(port).map_err(|_| wrong())?),
        _ => (address, 6379),
    };
    if host.is_empty() {
        return Err(wrong());
    }
    options.host = host.trim_start_matches('[').trim_end_matches(']').into();
    options.port = port;
    Ok(())
}
