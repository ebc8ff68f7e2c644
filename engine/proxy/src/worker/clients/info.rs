//! Merges INFO replies of several shards: text of the first shard, and sums where they are
//! meaningful.

use resp::{encode, text};

/// Counters and sizes that are summed. All other fields are those of the first shard.
const SUMS: &[&str] = &[
    "connected_slaves",
    "used_memory",
    "used_memory_rss",
    "used_memory_peak",
    "used_memory_dataset",
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

pub fn merge(parts: &[Vec<u8>]) -> Vec<u8> {
    let texts: Vec<_> =
        parts.iter().map(|part| String::from_utf8_lossy(text(part).unwrap_or_default())).collect();
    let mut merged = String::new();
    let mut keyspace = false;
    for line in texts[0].lines() {
        keyspace |= line == "# Keyspace";
        if !keyspace || line == "# Keyspace" {
            merged.push_str(&one_line(line, &texts));
            merged.push_str("\r\n");
        }
    }
    if let Some(line) = keys(&texts).filter(|_| keyspace) {
        merged.push_str(&line);
        merged.push_str("\r\n");
    }
    let mut out = Vec::with_capacity(merged.len() + 16);
    encode::bulk(&mut out, merged.as_bytes());
    // RESP3 marks it as a verbatim string, whose type is part of the bytes.
    if parts[0].first() == Some(&b'=') {
        out[0] = b'=';
    }
    out
}

fn one_line(line: &str, texts: &[std::borrow::Cow<'_, str>]) -> String {
    match line.split_once(':') {
        Some(("cluster_enabled", _)) => "cluster_enabled:0".into(),
        Some((name @ ("redis_mode" | "server_mode"), _)) => format!("{name}:standalone"),
        Some((name, _)) if SUMS.contains(&name) => {
            let sum: u64 = texts.iter().filter_map(|text| field(text, name)?.parse::<u64>().ok()).sum();
            format!("{name}:{sum}")
        }
        _ => line.into(),
    }
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

/// Returns `db0:keys=1,expires=0,avg_ttl=0` with the sums of all shards, or `None` if there are no
/// keys.
fn keys(texts: &[std::borrow::Cow<'_, str>]) -> Option<String> {
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

    #[test]
    fn counters_are_summed_and_other_fields_are_those_of_the_first_shard() {
        let part = |text: &str| format!("${}\r\n{text}\r\n", text.len()).into_bytes();
        let one = part(
            "# Server\r\nredis_mode:cluster\r\nused_memory:5\r\n\r\n# Keyspace\r\ndb0:keys=1,expires=0,avg_ttl=3\r\n",
        );
        let two = part(
            "# Server\r\nredis_mode:cluster\r\nused_memory:7\r\n\r\n# Keyspace\r\ndb0:keys=2,expires=1,avg_ttl=3\r\n",
        );
        let expected = "# Server\r\nredis_mode:standalone\r\nused_memory:12\r\n\r\n# Keyspace\r\ndb0:keys=3,expires=1,avg_ttl=0\r\n";
        assert_eq!(merge(&[one, two]), part(expected));
    }
}
