//! Checks of options against each other: conflicts, and values outside their range.

use crate::keys::Pattern;
use crate::options::parse::ExplicitOptions;
use crate::options::values::number;
use crate::options::{Command, Options, Staircase};

/// A higher number of connections is probably a mistake.
const MAX_CONNECTIONS: usize = 100_000;
const MAX_VALUE: usize = 512 << 20;

/// Checks the options against each other, and applies `--uri` and the password of the environment.
pub fn check(options: &mut Options, seen: &ExplicitOptions) -> Result<(), String> {
    if let Some(uri) = &seen.uri {
        apply_uri(uri, options)?;
    }
    if options.password.is_none() {
        options.password =
            std::env::var("SHARDBOARD_LOAD_PASSWORD").ok().filter(|password| !password.is_empty());
    }
    let refuse = |wrong: bool, why: &str| if wrong { Err(why.to_owned()) } else { Ok(()) };
    refuse(
        options.unix_socket.is_some() && seen.tcp,
        "--unix-socket cannot be used with --server or --port",
    )?;
    refuse(
        options.unix_socket.is_some() && options.cluster,
        "--unix-socket cannot be used with --cluster-mode",
    )?;
    refuse(options.cluster && options.database != 0, "a cluster has only database 0: omit --select-db")?;
    refuse(options.test_time.is_some() && seen.requests, "--test-time cannot be used with --requests")?;
    refuse(
        options.endless && (options.test_time.is_some() || seen.requests),
        "--endless cannot be used with --test-time or --requests",
    )?;
    refuse(
        options.endless && (options.run_count > 1 || options.find_max.is_some()),
        "--endless cannot be used with --run-count or --find-max",
    )?;
    refuse(options.rate_wave.is_some() && options.rate.is_none(), "--rate-wave needs --rate")?;
    refuse(options.threads > 1_000, "--threads must be at most 1000")?;
    refuse(
        options.clients.saturating_mul(options.threads) > MAX_CONNECTIONS,
        "--clients times --threads must be at most 100000 connections",
    )?;
    refuse(options.rate.is_some_and(|rate| rate <= 0.0), "--rate must be greater than 0")?;
    refuse(
        options.rate.is_some() && options.rate_limiting.is_some(),
        "--rate cannot be used with --rate-limiting",
    )?;
    check_commands(options)?;
    check_verification(options)?;
    let stairs = options.staircase;
    refuse(
        stairs != Staircase::default()
            && (stairs.start == 0 || stairs.step == 0 || stairs.seconds == 0 || options.test_time.is_none()),
        "--clients-start, --clients-step, --step-duration and --test-time must be used together",
    )?;
    refuse(stairs.start >= options.clients.max(1), "--clients-start must be less than --clients")?;
    refuse(
        options.start_jitter.0 > options.start_jitter.1,
        "the minimum jitter must not exceed the maximum jitter",
    )?;
    refuse(
        options.cluster && options.reconnect_interval.is_some(),
        "--reconnect-interval cannot be used with --cluster-mode",
    )?;
    refuse(
        options.reconnect_backoff_factor != 0.0 && !(1.0..=100.0).contains(&options.reconnect_backoff_factor),
        "--reconnect-backoff-factor must be 0, or between 1 and 100",
    )?;
    refuse(
        options.find_max.is_some() && (options.rate.is_some() || options.rate_limiting.is_some()),
        "--find-max sets the rate: omit --rate and --rate-limiting",
    )?;
    refuse(
        options.find_max.is_some() && options.run_count > 1,
        "--find-max cannot be used with --run-count",
    )?;
    refuse(options.find_max.is_some() && seen.requests, "--find-max cannot be used with --requests")?;
    refuse(options.pipeline > 1_000_000, "--pipeline must be at most 1000000")?;
    refuse(options.key_minimum > options.key_maximum, "--key-minimum must not exceed --key-maximum")?;
    refuse(options.key_maximum > 1 << 53, "--key-maximum must be at most 2^53")?;
    refuse(
        seen.data.len() > 1 && seen.data.iter().any(|name| *name != seen.data[0]),
        "--data-size, --data-size-range and --data-size-list cannot be combined",
    )?;
    refuse(options.size.largest() > MAX_VALUE, "a value must be at most 512 MB")?;
    refuse(
        options.data_offset.is_some() && options.expiry.is_some(),
        "--data-offset cannot be used with --expiry-range",
    )?;
    let gaussian = options.key_pattern.0 == Pattern::Gaussian || options.key_pattern.1 == Pattern::Gaussian;
    refuse(
        !gaussian && (options.key_stddev.is_some() || options.key_median.is_some()),
        "--key-stddev and --key-median need the key pattern G",
    )?;
    refuse(
        options.key_stddev.is_some_and(|deviation| deviation <= 0.0),
        "--key-stddev must be greater than 0",
    )?;
    let inside = options.key_minimum as f64..=options.key_maximum as f64;
    refuse(
        options.key_median.is_some_and(|median| !inside.contains(&median)),
        "--key-median must be between --key-minimum and --key-maximum",
    )?;
    refuse(
        !(options.key_zipf_exp > 0.0 && options.key_zipf_exp < 5.0),
        "--key-zipf-exp must be greater than 0 and less than 5",
    )?;
    Ok(())
}

/// Checks the options that conflict with verification, and applies `--verify-only`.
fn check_verification(options: &mut Options) -> Result<(), String> {
    let name = if options.verify_only { "--verify-only" } else { "--data-verify" };
    options.data_verify |= options.verify_only;
    let conflicts = [
        (options.random_data, "--random-data: verified values are derived from the names of their keys"),
        (options.data_offset.is_some(), "--data-offset: only complete values are verified"),
        (!options.commands.is_empty(), "--command: only values of SET and GET are verified"),
    ];
    if let Some((_, conflict)) = conflicts.iter().find(|(is_set, _)| options.data_verify && *is_set) {
        return Err(format!("{name} cannot be used with {conflict}"));
    }
    if options.verify_only && options.ratio.0 > 0 {
        // Reads the keys that the SETs would write.
        options.ratio = (0, 1);
        options.key_pattern.1 = options.key_pattern.0;
    }
    Ok(())
}

fn check_commands(options: &Options) -> Result<(), String> {
    let refuse = |wrong: bool, why: &str| if wrong { Err(why.to_owned()) } else { Ok(()) };
    let has = |word: &'static str| {
        move |command: &Command| command.arguments.iter().any(|argument| argument.contains(word))
    };
    let commands = &options.commands;
    refuse(commands.len() > 200, "--command can be used at most 200 times")?;
    refuse(commands.iter().any(has("__monitor_line")), "--command: MONITOR captures cannot be replayed")?;
    refuse(
        commands.iter().any(|command| command.arguments[0].contains("__")),
        "--command: the command name cannot be a placeholder",
    )?;
    refuse(
        options.cluster && !commands.iter().all(has("__key__")),
        "--command: in a cluster every command needs a __key__, which determines its shard",
    )?;
    let parallel = commands.iter().filter(|command| command.pattern == Pattern::Parallel).count();
    refuse(
        parallel != 0 && parallel != commands.len(),
        "--command-key-pattern: P must be set for all commands or for none",
    )?;
    refuse(
        !commands.is_empty() && options.wait_ratio.is_some(),
        "--wait-ratio cannot be used with --command",
    )?;
    refuse(options.cluster && options.wait_ratio.is_some(), "--wait-ratio cannot be used with --cluster-mode")
}

/// Applies `redis[s]://[user[:password]@]host[:port][/db]`, which takes precedence over the
/// individual options.
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
