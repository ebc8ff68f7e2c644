//! Merges INFO replies of shards into the INFO reply of the endpoint: text of the first shard, sums
//! where they are meaningful, and nothing about the machines of the shards.

use resp::{encode, text};
use std::borrow::Cow;

/// What the endpoint states about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointInfo {
    pub is_cluster: bool,
    pub port: u16,
    /// Number of its clients.
    pub clients: u32,
    pub max_clients: u32,
}

/// Counters and sizes that are summed. All other fields are those of the first shard.
const SUMS: &[&str] = &[
    "used_memory",
    "used_memory_rss",
    "used_memory_peak",
    "used_memory_overhead",
    "used_memory_startup",
    "used_memory_dataset",
    "used_memory_lua",
    "used_memory_vm_eval",
    "used_memory_vm_functions",
    "used_memory_vm_total",
    "used_memory_functions",
    "used_memory_scripts",
    "used_memory_scripts_eval",
    "allocator_allocated",
    "allocator_active",
    "allocator_resident",
    "maxmemory",
    "blocked_clients",
    "tracking_clients",
    "total_connections_received",
    "total_commands_processed",
    "instantaneous_ops_per_sec",
    "total_net_input_bytes",
    "total_net_output_bytes",
    "rejected_connections",
    "expired_keys",
    "evicted_keys",
    "keyspace_hits",
    "keyspace_misses",
    "total_error_replies",
    "total_reads_processed",
    "total_writes_processed",
];

/// Paths, addresses and ports of the machine of a shard. A number may follow the name.
const HIDDEN: &[&str] =
    &["executable", "config_file", "listener", "slave", "replica", "master_host", "master_port"];
/// Start of the names of fields about the cluster and the certificates of the shards.
const INTERNAL: &[&str] = &["cluster_", "tls_"];

pub fn merge(parts: &[Vec<u8>], endpoint: &EndpointInfo) -> Vec<u8> {
    // RESP3 marks it as a verbatim string, which starts with its type.
    let kind = if parts[0].first() == Some(&b'=') { "txt:" } else { "" };
    let texts: Vec<_> = parts
        .iter()
        .map(|part| {
            String::from_utf8_lossy(text(part).and_then(|text| text.get(kind.len()..)).unwrap_or_default())
        })
        .collect();
    let mut merged = kind.to_string();
    for line in texts[0].lines() {
        let keyspace = (line == "# Keyspace").then(|| keys(&texts)).flatten();
        for line in one_line(line, &texts, endpoint).into_iter().chain(keyspace.map(Cow::Owned)) {
            merged.push_str(&line);
            merged.push_str("\r\n");
        }
    }
    let mut out = Vec::with_capacity(merged.len() + 16);
    encode::bulk(&mut out, merged.as_bytes());
    out[0] = parts[0].first().copied().unwrap_or(b'$');
    out
}

/// Returns the line of the endpoint for a line of the first shard. `None`: it is omitted.
fn one_line<'a>(line: &'a str, texts: &[Cow<'_, str>], endpoint: &EndpointInfo) -> Option<Cow<'a, str>> {
    let Some((name, _)) = line.split_once(':') else { return Some(line.into()) };
    let values = || texts.iter().filter_map(|text| field(text, name)?.parse::<u64>().ok());
    let sum =
        |name: &str| -> u64 { texts.iter().filter_map(|text| field(text, name)?.parse::<u64>().ok()).sum() };
    let ratio = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
    let value = match name {
        "cluster_enabled" => u8::from(endpoint.is_cluster).to_string(),
        "redis_mode" | "server_mode" => (if endpoint.is_cluster { "cluster" } else { "standalone" }).into(),
        "tcp_port" => endpoint.port.to_string(),
        "connected_clients" => endpoint.clients.to_string(),
        "maxclients" => endpoint.max_clients.to_string(),
        // WAIT succeeds with as many.
        "connected_slaves" => values().min().unwrap_or(0).to_string(),
        "used_memory_peak_perc" => {
            format!("{:.2}%", ratio(sum("used_memory"), sum("used_memory_peak")) * 100.0)
        }
        "used_memory_dataset_perc" => {
            let used = sum("used_memory").saturating_sub(sum("used_memory_startup"));
            format!("{:.2}%", ratio(sum("used_memory_dataset"), used) * 100.0)
        }
        "mem_fragmentation_ratio" => format!("{:.2}", ratio(sum("used_memory_rss"), sum("used_memory"))),
        name if SUMS.contains(&name) => sum(name).to_string(),
        name if name.strip_suffix("_human").is_some_and(|base| SUMS.contains(&base)) => {
            human(sum(name.strip_suffix("_human").unwrap_or_default()))
        }
        name if is_hidden(name) => return None,
        _ => return Some(line.into()),
    };
    Some(format!("{name}:{value}").into())
}

/// Whether the field describes the inside of the database (`slave0`, `config_file` …) or a numbered
/// database.
fn is_hidden(name: &str) -> bool {
    let is_numbered = |start: &&str| {
        name.strip_prefix(*start).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    HIDDEN.iter().chain(&["db"]).any(is_numbered) || INTERNAL.iter().any(|start| name.starts_with(start))
}

/// Formats a number of bytes as the engine does.
fn human(bytes: u64) -> String {
    let units = ["K", "M", "G", "T", "P"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2}{}", units[unit])
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

/// Returns `db0:keys=1,expires=0,avg_ttl=0` with the sums of all shards, or `None` if there are no
/// keys.
fn keys(texts: &[Cow<'_, str>]) -> Option<String> {
    let mut sums = (0, 0);
    for line in texts.iter().filter_map(|text| field(text, "db0")) {
        let of = |name| {
            line.split(',')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok())
                .unwrap_or(0)
        };
        sums.0 += of("keys");
        sums.1 += of("expires");
    }
    (sums.0 > 0).then(|| format!("db0:keys={},expires={},avg_ttl=0", sums.0, sums.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDPOINT: EndpointInfo =
        EndpointInfo { is_cluster: false, port: 12000, clients: 7, max_clients: 10 };

    fn part(text: &str) -> Vec<u8> {
        format!("${}\r\n{text}\r\n", text.len()).into_bytes()
    }

    #[test]
    fn counters_are_summed_and_other_fields_are_those_of_the_first_shard() {
        let one = part(
            "# Server\r\nredis_mode:cluster\r\nused_memory:1500\r\nused_memory_human:1.46K\r\n\r\n# Keyspace\r\ndb0:keys=1,expires=0,avg_ttl=3\r\n",
        );
        let two = part(
            "# Server\r\nredis_mode:cluster\r\nused_memory:1572\r\nused_memory_human:1.54K\r\n\r\n# Keyspace\r\ndb0:keys=2,expires=1,avg_ttl=3\r\n",
        );
        let expected = "# Server\r\nredis_mode:standalone\r\nused_memory:3072\r\nused_memory_human:3.00K\r\n\r\n# Keyspace\r\ndb0:keys=3,expires=1,avg_ttl=0\r\n";
        assert_eq!(merge(&[one, two], &ENDPOINT), part(expected));
        let verbatim = |text: &str| [b"=", &part(&format!("txt:{text}"))[1..]].concat();
        let keys = verbatim("# Keyspace\r\ndb0:keys=1,expires=1,avg_ttl=3\r\n");
        let expected = verbatim("# Keyspace\r\ndb0:keys=2,expires=2,avg_ttl=0\r\n");
        assert_eq!(merge(&[keys.clone(), keys], &ENDPOINT), expected);
    }

    #[test]
    fn machines_of_shards_are_not_described() {
        let one = part(
            "tcp_port:20000\r\nexecutable:/usr/bin/valkey-server\r\nconfig_file:/a/valkey.conf\r\n\
             listener0:name=tcp,bind=10.0.0.1,port=20000\r\nlistener1:name=unix,bind=/a/b\r\nconnected_slaves:2\r\n\
             slave0:ip=10.0.0.2,port=20001,state=online\r\nslave_priority:100\r\nmaster_host:10.0.0.3\r\nmaxclients:3\r\n\
             cluster_known_nodes:6\r\ntls_server_cert_serial:1\r\n# Keyspace\r\ndb0:keys=1,expires=0\r\ndb1:keys=1,expires=0\r\n\r\n# x\r\nx:1\r\n",
        );
        let two = part("connected_slaves:1\r\n");
        let expected = "tcp_port:12000\r\nconnected_slaves:1\r\nslave_priority:100\r\nmaxclients:10\r\n# Keyspace\r\n\
             db0:keys=1,expires=0,avg_ttl=0\r\n\r\n# x\r\nx:1\r\n";
        assert_eq!(merge(&[one, two], &ENDPOINT), part(expected));
    }

    #[test]
    fn sizes_are_formatted_as_in_the_engine() {
        for (bytes, text) in
            [(0, "0B"), (1023, "1023B"), (1024, "1.00K"), (5 << 20, "5.00M"), (1 << 40, "1.00T")]
        {
            assert_eq!(human(bytes), text);
        }
    }
}
