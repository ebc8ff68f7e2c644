//! Arguments -> options. Rejects everything that can be detected as invalid before the load starts.

use crate::keys::Pattern;
use crate::options::check::check;
use crate::options::unsupported_options::UNSUPPORTED_OPTIONS;
use crate::options::values::{self, number, positive, real};
use crate::options::{Command, Live, Options, Protocol, Requests, Size};
use lexopt::Arg;
use std::ffi::OsString;

/// Result of parsing the arguments.
#[derive(Debug)]
pub enum ParsedArguments {
    Load(Box<Options>),
    Help,
    Version,
}

/// Dashes that word processors substitute for `-` and `--`.
const TYPOGRAPHIC: [char; 4] = ['\u{2010}', '\u{2012}', '\u{2013}', '\u{2014}'];

pub fn parse(arguments: Vec<OsString>) -> Result<ParsedArguments, String> {
    let mut options = Options::default();
    let mut seen = ExplicitOptions::default();
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Arg::Long("help") => return Ok(ParsedArguments::Help),
            Arg::Long("version") | Arg::Short('v') => return Ok(ParsedArguments::Version),
            Arg::Short(letter) => {
                let name = long(letter).ok_or_else(|| format!("-{letter} is not an option; see --help"))?;
                take(name, &mut options, &mut seen, &mut parser)?;
            }
            Arg::Long(name) => {
                let name = name.to_owned();
                take(&name, &mut options, &mut seen, &mut parser)?;
            }
            Arg::Value(value) => return Err(stray(&value.to_string_lossy())),
        }
    }
    check(&mut options, &seen)?;
    Ok(ParsedArguments::Load(Box::new(options)))
}

fn long(letter: char) -> Option<&'static str> {
    Some(match letter {
        'h' => "host",
        's' => "server",
        'p' => "port",
        'S' => "unix-socket",
        '4' => "ipv4",
        '6' => "ipv6",
        'P' => "protocol",
        'a' => "authenticate",
        'u' => "uri",
        'x' => "run-count",
        'D' => "debug",
        'o' => "out-file",
        'n' => "requests",
        'c' => "clients",
        't' => "threads",
        'd' => "data-size",
        'R' => "random-data",
        _ => return None,
    })
}

fn stray(value: &str) -> String {
    match value.strip_prefix(TYPOGRAPHIC) {
        Some(rest) => format!(
            "{value} starts with a typographic dash, as inserted by word processors: \
             type --{} with two plain hyphens",
            rest.trim_start_matches(TYPOGRAPHIC).trim_start_matches('-')
        ),
        None => format!("{value} is not an option; see --help"),
    }
}

/// Options that were given explicitly, where the parsed value does not show it.
#[derive(Debug, Default)]
pub struct ExplicitOptions {
    pub requests: bool,
    pub tcp: bool,
    pub data: Vec<&'static str>,
    pub uri: Option<String>,
}

fn take(
    name: &str,
    options: &mut Options,
    seen: &mut ExplicitOptions,
    parser: &mut lexopt::Parser,
) -> Result<(), String> {
    if let Some((_, why)) = UNSUPPORTED_OPTIONS.iter().find(|(refused, _)| *refused == name) {
        return Err(format!("--{name} is not supported: {why}"));
    }
    if flag(name, options) {
        return Ok(());
    }
    let value = parser.value().map_err(|_| format!("--{name} needs a value, or is not an option"))?;
    let value = value.into_string().map_err(|_| format!("--{name}: the value is not UTF-8"))?;
    let taken = connection(name, &value, options, seen)
        .or_else(|| load(name, &value, options, seen))
        .or_else(|| object(name, &value, options, seen))
        .or_else(|| output(name, &value, options));
    match taken {
        Some(Ok(())) => Ok(()),
        // The password must not appear in the error message.
        Some(Err(why)) if matches!(name, "authenticate" | "uri") => Err(format!("--{name}: {why}")),
        Some(Err(why)) => Err(format!("--{name}: {value} {why}")),
        None => Err(format!("--{name} is not an option; see --help")),
    }
}

fn flag(name: &str, options: &mut Options) -> bool {
    match name {
        "ipv4" => options.family = Some(4),
        "ipv6" => options.family = Some(6),
        "cluster-mode" => options.cluster = true,
        "tls" => drop(options.tls.get_or_insert_default()),
        "tls-skip-verify" => options.tls.get_or_insert_default().skip_verify = true,
        "random-data" => options.random_data = true,
        "data-verify" => options.data_verify = true,
        "verify-only" => options.verify_only = true,
        "distinct-client-seed" => options.distinct_client_seed = true,
        "randomize" => options.randomize = true,
        "hide-histogram" => options.hide_histogram = true,
        "show-config" => options.show_config = true,
        "print-all-runs" => options.print_all_runs = true,
        "client-no-touch" => options.client_no_touch = true,
        "pin-threads" => options.pin_threads = true,
        "retry-on-error" => options.retry_on_error = true,
        "endless" => options.endless = true,
        // Connections are always reopened.
        "reconnect-on-error" | "debug" => {}
        _ => return false,
    }
    true
}

type Taken = Option<Result<(), String>>;

fn set<T>(place: &mut T, value: Result<T, String>) -> Taken {
    Some(value.map(|value| *place = value))
}

fn set_some<T>(place: &mut Option<T>, value: Result<T, String>) -> Taken {
    Some(value.map(|value| *place = Some(value)))
}

fn connection(name: &str, value: &str, options: &mut Options, seen: &mut ExplicitOptions) -> Taken {
    let text = || Ok(value.to_owned());
    match name {
        "host" | "server" => {
            seen.tcp = true;
            set(&mut options.host, text())
        }
        "port" => {
            seen.tcp = true;
            set(&mut options.port, number(value))
        }
        "unix-socket" => set_some(&mut options.unix_socket, text()),
        "protocol" => set(&mut options.protocol, protocol(value)),
        "authenticate" => {
            login(value, options);
            Some(Ok(()))
        }
        "password-file" => {
            let password = std::fs::read_to_string(value).map_err(|error| format!("cannot be read: {error}"));
            let password = password.map(|password| password.trim_end_matches(['\r', '\n']).to_owned());
            set_some(&mut options.password, password)
        }
        "user" => set_some(&mut options.user, text()),
        "uri" => set_some(&mut seen.uri, text()),
        "cert" => set_some(&mut options.tls.get_or_insert_default().certificate, text()),
        "key" => set_some(&mut options.tls.get_or_insert_default().key, text()),
        "cacert" => set_some(&mut options.tls.get_or_insert_default().authorities, text()),
        "tls-protocols" => set_some(&mut options.tls.get_or_insert_default().protocols, text()),
        "sni" => set_some(&mut options.tls.get_or_insert_default().server_name, text()),
        "select-db" => set(&mut options.database, number(value)),
        "seeds" => set(&mut options.seeds, values::addresses(value)),
        "reconnect-interval" => set_some(&mut options.reconnect_interval, positive(value)),
        "max-reconnect-attempts" => set(&mut options.max_reconnect_attempts, number(value)),
        "reconnect-backoff-factor" => set(&mut options.reconnect_backoff_factor, real(value)),
        "connection-timeout" => set(&mut options.connection_timeout, number(value)),
        "connection-stage-timeout" => set(&mut options.connection_stage_timeout, positive(value)),
        "request-timeout" => set(&mut options.request_timeout, positive(value)),
        _ => None,
    }
}

fn protocol(value: &str) -> Result<Protocol, String> {
    match value {
        "redis" => Ok(Protocol::Redis),
        "resp2" => Ok(Protocol::Resp2),
        "resp3" => Ok(Protocol::Resp3),
        _ => Err("is not supported; the protocols are redis, resp2 and resp3".into()),
    }
}

/// `PASSWORD` or `USER:PASSWORD`.
fn login(value: &str, options: &mut Options) {
    let (user, password) = match value.split_once(':') {
        Some((user, password)) => (Some(user.to_owned()).filter(|user| !user.is_empty()), password),
        None => (None, value),
    };
    options.user = user.or(options.user.take());
    options.password = Some(password.into());
}

fn load(name: &str, value: &str, options: &mut Options, seen: &mut ExplicitOptions) -> Taken {
    let size = |value| positive(value).map(|value| value as usize);
    match name {
        "requests" => {
            seen.requests = true;
            let requests = match value {
                "allkeys" => Ok(Requests::AllKeys),
                _ => positive(value).map(Requests::PerClient),
            };
            set(&mut options.requests, requests)
        }
        "test-time" => set_some(&mut options.test_time, positive(value)),
        "clients" => set(&mut options.clients, size(value)),
        "threads" => set(&mut options.threads, size(value)),
        "pipeline" => set(&mut options.pipeline, size(value)),
        "ratio" => set(&mut options.ratio, values::ratio(value)),
        "max-retries" => set(&mut options.max_retries, number(value)),
        "clients-start" => set(&mut options.staircase.start, size(value)),
        "clients-step" => set(&mut options.staircase.step, size(value)),
        "step-duration" => set(&mut options.staircase.seconds, positive(value)),
        "thread-conn-start-min-jitter-micros" => set(&mut options.start_jitter.0, number(value)),
        "thread-conn-start-max-jitter-micros" => set(&mut options.start_jitter.1, number(value)),
        "find-max" => set_some(&mut options.find_max, values::target(value)),
        "find-max-step" => set(&mut options.find_max_step, positive(value)),
        "wait-ratio" => set_some(&mut options.wait_ratio, values::ratio(value)),
        "num-slaves" => set(&mut options.replicas, values::range(value)),
        "wait-timeout" => set(&mut options.wait_timeout, values::range(value)),
        "command" => Some(values::words(value).map(|arguments| {
            options.commands.push(Command {
                line: value.into(),
                arguments,
                ratio: 1,
                pattern: Pattern::Random,
            });
        })),
        "command-ratio" => of_command(options, |command| set(&mut command.ratio, positive(value))),
        "command-key-pattern" => {
            of_command(options, |command| set(&mut command.pattern, values::pattern(value)))
        }
        "rate-limiting" => set_some(&mut options.rate_limiting, positive(value)),
        "rate" => set_some(&mut options.rate, real(value)),
        "rate-wave" => set_some(&mut options.rate_wave, values::wave(value)),
        "run-count" => set(&mut options.run_count, positive(value).map(|runs| runs as u32)),
        _ => None,
    }
}

/// Applies `change` to the preceding `--command`.
fn of_command(options: &mut Options, change: impl FnOnce(&mut Command) -> Taken) -> Taken {
    match options.commands.last_mut() {
        Some(command) => change(command),
        None => Some(Err("must follow a --command".into())),
    }
}

fn object(name: &str, value: &str, options: &mut Options, seen: &mut ExplicitOptions) -> Taken {
    match name {
        "data-size" => {
            seen.data.push("--data-size");
            set(&mut options.size, positive(value).map(|size| Size::Fixed(size as usize)))
        }
        "data-size-range" => {
            seen.data.push("--data-size-range");
            let range = values::range(value).map(|(low, high)| Size::Range(low as usize, high as usize));
            set(&mut options.size, range)
        }
        "data-size-list" => {
            seen.data.push("--data-size-list");
            set(&mut options.size, values::sizes(value))
        }
        "data-size-pattern" => {
            let grows = match value {
                "R" => Ok(false),
                "S" => Ok(true),
                _ => Err("is neither R nor S".into()),
            };
            set(&mut options.size_grows, grows)
        }
        "data-offset" => set_some(&mut options.data_offset, number(value)),
        "expiry-range" => set_some(&mut options.expiry, values::range(value)),
        "key-prefix" => set(&mut options.key_prefix, Ok(value.into())),
        "key-minimum" => set(&mut options.key_minimum, positive(value)),
        "key-maximum" => set(&mut options.key_maximum, positive(value)),
        "key-pattern" => set(&mut options.key_pattern, values::patterns(value)),
        "key-stddev" => set_some(&mut options.key_stddev, real(value)),
        "key-median" => set_some(&mut options.key_median, real(value)),
        "key-zipf-exp" => set(&mut options.key_zipf_exp, real(value)),
        _ => None,
    }
}

fn output(name: &str, value: &str, options: &mut Options) -> Taken {
    let text = || Ok(value.to_owned());
    match name {
        "out-file" => set_some(&mut options.out_file, text()),
        "json-out-file" => set_some(&mut options.json_out_file, text()),
        "hdr-file-prefix" => set_some(&mut options.hdr_file_prefix, text()),
        "command-stats-breakdown" => {
            let by_line = match value {
                "command" => Ok(false),
                "line" => Ok(true),
                _ => Err("is neither command nor line".into()),
            };
            set(&mut options.breakdown_by_line, by_line)
        }
        "command-miss-tracking" => match value {
            "auto" | "off" => Some(Ok(())),
            _ => Some(Err("is neither auto nor off".into())),
        },
        "miss-rate-threshold" => set(&mut options.miss_rate_threshold, real(value)),
        "print-percentiles" => set(&mut options.print_percentiles, values::percentiles(value)),
        "live-lines" => {
            let live = match value {
                "-" => Ok(Live::Stdout),
                _ => number(value).map(Live::Descriptor).map_err(|_| "is neither - nor a descriptor".into()),
            };
            set_some(&mut options.live_lines, live)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        match parse(line.split_whitespace().map(OsString::from).collect()) {
            Ok(ParsedArguments::Load(options)) => *options,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refusal(line: &str) -> String {
        parse(line.split_whitespace().map(OsString::from).collect()).expect_err(line)
    }

    #[test]
    fn published_command_lines_are_parsed() {
        let populate = options(
            "-s h -p 12000 --hide-histogram --key-maximum=75000000 -n allkeys -d 500 --key-pattern=P:P --ratio=1:0",
        );
        assert_eq!(populate.total_requests(), Some(75_000_001));
        assert_eq!(populate.size, Size::Fixed(500));
        let centralise = options(
            "-s h -p 12000 --hide-histogram --key-minimum=27250000 --key-maximum=47750000 -n allkeys \
             --key-pattern=P:P --ratio=0:1",
        );
        assert_eq!(centralise.total_requests(), Some(20_500_001));
        let measure = options(
            "-s h -p 12000 --pipeline=11 -c 20 -t 1 -d 500 --key-maximum=75000000 --key-pattern=G:G \
             --key-stddev=5125000 --ratio=1:1 --distinct-client-seed --randomize --test-time=600 --run-count=1 \
             --out-file=test.out",
        );
        assert_eq!((measure.pipeline, measure.clients, measure.threads), (11, 20, 1));
        assert_eq!((measure.test_time, measure.key_stddev), (Some(600), Some(5_125_000.0)));
    }

    #[test]
    fn invalid_options_are_rejected_with_the_reason() {
        for (line, expected) in [
            ("\u{2013}pipeline=20", "type --pipeline=20 with two plain hyphens"),
            ("--statsd-host=x", "--statsd-host is not supported"),
            ("-P memcache_text", "the protocols are redis, resp2 and resp3"),
            ("--key-pattern=P:R", "P must be on both"),
            ("--key-pattern=X:R", "the patterns are"),
            ("--key-stddev=3", "need the key pattern G"),
            ("--key-minimum=5 --key-maximum=4", "must not exceed --key-maximum"),
            ("--test-time=3 -n 5", "cannot be used with --requests"),
            ("--ratio=0:0", "generates no requests"),
            ("--nonsense=3", "is not an option"),
            ("-c", "needs a value"),
            ("-c 0", "greater than 0"),
            ("-c many", "is not a number"),
            ("--key-zipf-exp=5 --key-pattern=Z:Z", "greater than 0 and less than 5"),
            ("populate", "is not an option"),
            ("--rate=0", "greater than 0"),
            ("--command-ratio=3", "must follow a --command"),
            ("--clients-start=2", "must be used together"),
            ("--multi-key-get=3", "--multi-key-get is not supported"),
            ("--data-verify -R", "derived from the names"),
            ("--data-verify --data-offset=3", "only complete values"),
            ("--verify-only --command=ping", "only values of SET and GET"),
            ("--data-import=x --data-verify", "--data-import is not supported"),
            ("--cluster-mode --command=ping", "needs a __key__"),
            ("--find-max=fast", "is not a limit"),
            ("--rate=10 --rate-limiting=10", "cannot be used with"),
            ("--endless --test-time=3", "cannot be used with"),
            ("--endless -n 3", "cannot be used with"),
            ("--endless --run-count=2", "cannot be used with"),
            ("--rate-wave=20:60", "needs --rate"),
            ("--rate=10 --rate-wave=100:60", "is not a wave"),
            ("--rate=10 --rate-wave=20:0", "is not a wave"),
        ] {
            let message = refusal(line);
            assert!(message.contains(expected), "{line}: {message}");
        }
    }

    #[test]
    fn verification_alone_reads_the_keys_that_sets_would_write() {
        let read = options("--verify-only --key-pattern=S:R --ratio=3:1 -n allkeys");
        assert_eq!((read.ratio, read.key_pattern.1, read.data_verify), ((0, 1), Pattern::Sequential, true));
        let unchanged = options("--verify-only --key-pattern=S:G --ratio=0:2");
        assert_eq!((unchanged.ratio, unchanged.key_pattern.1), ((0, 2), Pattern::Gaussian));
    }

    #[test]
    fn error_messages_do_not_contain_the_password() {
        assert!(!refusal("--uri=http://u:secret@h").contains("secret"));
        let options = options("--uri=rediss://me:secret@[::1]:7000/3");
        assert_eq!((options.host.as_str(), options.port, options.database), ("::1", 7000, 3));
        assert_eq!((options.user.as_deref(), options.password.as_deref()), (Some("me"), Some("secret")));
        assert!(options.tls.is_some());
    }
}
