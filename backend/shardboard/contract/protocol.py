"""Compatibility of releases: each has a number, the protocol, and those with adjacent numbers work together.

A release that changes a message between console and agent, or the schema of the store, raises PROTOCOL by one. Both sides of a
call send their number. The store contains the number of the release that has migrated it (`store/schema.py`). To remain
compatible with its neighbours in both directions a release may add fields with a default, append values to rows, and add calls.
Receivers of replies ignore unknown fields and fill in missing ones. Senders of requests omit default values, so that an unknown
field is always significant and is rejected instead of ignored. Nothing is removed before the adjacent release works without it. A
field is renamed in the same way: both names are accepted, and a receiver that does not know the new name gets the previous one
(`base.RenamedFields`).
"""

import json
from collections.abc import Mapping

PROTOCOL = 4
OLDEST_PROTOCOL = 1
"""Oldest protocol of a peer that works with this one."""
RENAMED_IN = 3
"""The protocol since which the fields in `previous_names` of messages have their current names."""
HEADER = "Shardboard-Protocol"
CONSOLE_NAME = "console.shardboard.internal"
"""The console's TLS name for joining agents: its certificate is from the CA whose fingerprint is in the join token. No public CA
issues certificates for names below .internal.
"""
FIRST_PROTOCOL = 1
"""Protocol of a peer that sends no number. Such peers reject unknown fields and longer rows."""

ADDED_FIELDS: Mapping[str, frozenset[str]] = {
    "NodeFacts": frozenset(
        {
            *(
                "addresses",
                "cpus",
                "firewall",
                "flash_path",
                "flash_size",
                "hides_internals",
                "host",
                "memtier_version",
            ),
            "probes_per_second",
        }
    ),
    "Sample": frozenset({"tiers", "outages", "proxy_missing", "late_proxy"}),
    "SlotsMoved": frozenset({"pause"}),
    "ShardReport": frozenset({"port", "bus_port", "memory", "flash"}),
    "ProxyReading": frozenset({"started_ms"}),
    "ProxyReport": frozenset({"serving"}),
}
"""Fields of replies that FIRST does not know."""
NODE_VALUES, SHARD_VALUES, ENDPOINT_VALUES = 20, 51, 11
"""Lengths of the rows of nodes, shards and endpoints that FIRST knows."""


def protocol_from_header(header: str | None) -> int:
    """Return the protocol of the peer; 0 if the header is invalid."""
    if header is None:
        return FIRST_PROTOCOL
    return int(header) if header.isascii() and header.isdigit() and len(header) < 6 else 0


def incompatibility(theirs: int, peer: str) -> str:
    """Return why two releases are incompatible; empty if they are compatible."""
    if OLDEST_PROTOCOL <= theirs <= PROTOCOL + 1:
        return ""
    release_age = "old" if theirs < PROTOCOL else "new"
    return f"{peer} is too {release_age} (protocol {theirs}, here {PROTOCOL}): console and agents can be at most one release apart"


def downgrade_line(line: bytes, protocol: int) -> bytes:
    """Return a line of samples as this protocol defines it."""
    is_current = protocol >= RENAMED_IN or (protocol > FIRST_PROTOCOL and b'"is_exact"' not in line)
    if is_current or not line.strip():
        return line
    sample = json.loads(line)
    if protocol > FIRST_PROTOCOL:
        for outage in sample["outages"]:
            outage["watched"] = outage.pop("is_exact")
        return json.dumps(sample, separators=(",", ":")).encode() + b"\n"
    known = {name: value for name, value in sample.items() if name not in ADDED_FIELDS["Sample"]}
    known["node"] = known["node"][:NODE_VALUES]
    proxy = known["proxy"] or {}
    for name in ADDED_FIELDS["ProxyReading"]:
        proxy.pop(name, None)
    for endpoint in proxy.get("databases", {}).values():
        endpoint["values"] = endpoint["values"][:ENDPOINT_VALUES]
        endpoint["latency"].pop("blocking", None)
    known["shards"] = {uid: row[:SHARD_VALUES] for uid, row in known["shards"].items()}
    return json.dumps(known, separators=(",", ":")).encode() + b"\n"
