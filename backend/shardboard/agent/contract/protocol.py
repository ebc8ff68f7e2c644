"""How console and agent agree on what they say: each tells its protocol's number, and neighbours understand each other.

A release that changes a message raises PROTOCOL by one. What it may do, so that its neighbours work with it in both directions:
add fields that have a default, make rows longer at their end, add calls. Who reads replies ignores what it does not know, and
fills up what is missing; who asks leaves out what is as by default, so that what is left and not known is refused, never
forgotten. Nothing is taken away before the neighbour does without it.
"""

import json
from collections.abc import Mapping

PROTOCOL = 2
HEADER = "Shardboard-Protocol"
CONSOLE_NAME = "console.shardboard.internal"
"""The console's name in TLS for agents that join: its certificate is of the authority whose fingerprint is in their token.
No public authority signs names below .internal."""
FIRST = 1
"""Spoken by those who do not say. They refuse fields and rows that they do not know."""

ADDED: Mapping[str, frozenset[str]] = {
    "NodeFacts": frozenset({"flash_path", "flash_size", "host", "memtier_version", "probes_per_second"}),
    "Sample": frozenset({"tiers", "outages"}),
    "SlotsMoved": frozenset({"rest"}),
    "ShardReport": frozenset({"port", "bus_port", "memory", "flash"}),
    "ProxyReport": frozenset({"serving"}),
}
"""Fields of replies that FIRST does not know."""
NODE_VALUES, SHARD_VALUES, ENDPOINT_VALUES = 20, 51, 11
"""Lengths of the rows of nodes, shards and endpoints that FIRST knows."""


def told_by(header: str | None) -> int:
    """The protocol that the other side speaks; 0 when that cannot be read."""
    if header is None:
        return FIRST
    return int(header) if header.isascii() and header.isdigit() and len(header) < 6 else 0


def apart(theirs: int, whose: str) -> str:
    """Why two releases do not work together; empty when they do."""
    if abs(theirs - PROTOCOL) <= 1:
        return ""
    which = "older" if theirs < PROTOCOL else "newer"
    return f"{whose} is of a release that is too much {which} (protocol {theirs}, here {PROTOCOL}): they may be one release apart"


def line_for(line: bytes, protocol: int) -> bytes:
    """A line of samples as this protocol knows it."""
    if protocol > FIRST or not line.strip():
        return line
    sample = json.loads(line)
    known = {name: value for name, value in sample.items() if name not in ADDED["Sample"]}
    known["node"] = known["node"][:NODE_VALUES]
    for told in (known["proxy"] or {}).get("databases", {}).values():
        told["values"] = told["values"][:ENDPOINT_VALUES]
        told["latency"].pop("blocking", None)
    known["shards"] = {uid: row[:SHARD_VALUES] for uid, row in known["shards"].items()}
    return json.dumps(known, separators=(",", ":")).encode() + b"\n"
