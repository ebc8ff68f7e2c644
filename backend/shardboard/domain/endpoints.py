"""Endpoints: what the proxy of one node serves of one database; their names, and what they saw in one second."""

import re
from collections.abc import Iterable, Mapping

from shardboard.domain.rates import Value

ENDPOINT_METRICS = (
    "total_req",
    "read_req",
    "write_req",
    "other_req",
    "conns",
    "ingress_bytes",
    "egress_bytes",
    "errors",
    "responses",
    "latency_time",
    "read_res",
    "write_res",
    "other_res",
    "total_connections_received",
    "blocking_req",
    "blocking_res",
)
"""*_req, *_res, responses (of read, write and other commands), errors, total_connections_received and *_bytes per second, conns
open at the end of the second; total_req holds blocking commands, too; latency_time: the microseconds that those responses of a
second took together, per second, so that latency_time / responses is their average however long the interval."""

AS_CLIENTS_SEE = (
    *("total_req", "read_req", "write_req", "other_req", "conns", "ingress_bytes", "egress_bytes"),
    *("total_connections_received", "read_res", "write_res", "other_res"),
)
"""Metrics of a database that its endpoints know better than its shards, or alone: one request may reach several shards, or none."""

_NAME = re.compile(r"([0-9]{1,9}):1:([0-9]{1,9})", re.ASCII)

_NODES, _PAIRS = 1 << 12, 1 << 43
"""The lower 12 bits of a node's uid, the database's 31 bits, then what is left of the node's: small uids make small numbers."""


def number(bdb_uid: int, node_uid: int) -> int:
    """One number for both, as frames need it; of 63 bits."""
    return node_uid // _NODES * _PAIRS + bdb_uid * _NODES + node_uid % _NODES


def name(of: int) -> str:
    """The uid that the REST reference gives: `<database>:<endpoint>:<proxy>`."""
    return f"{database(of)}:1:{node(of)}"


def database(of: int) -> int:
    return of % _PAIRS // _NODES


def node(of: int) -> int:
    return of // _PAIRS * _NODES + of % _NODES


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def parsed(text: str) -> int:
    """The number of what `name` made. Raises ValueError."""
    found = _NAME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return number(int(found[1]), int(found[2]))


def second(counts: Mapping[str, float], errors: int, latency_time: float, seconds: float) -> dict[str, Value]:
    """The metrics of one interval of `seconds` from what was counted in it, by the agent's names (ENDPOINT_FIELDS)."""
    served = ("read", "write", "other")
    requests = {kind: counts[f"{kind}_req"] / seconds for kind in served}
    blocking = counts["blocking_req"] / seconds
    return {
        "total_req": sum(requests.values()) + blocking,
        **{f"{kind}_req": rate for kind, rate in requests.items()},
        "conns": counts["conns"],
        "ingress_bytes": counts["net_in"] / seconds,
        "egress_bytes": counts["net_out"] / seconds,
        "errors": errors / seconds,
        "responses": sum(counts[f"{kind}_res"] for kind in served) / seconds,
        "latency_time": latency_time / seconds,
        **{f"{kind}_res": counts[f"{kind}_res"] / seconds for kind in served},
        "total_connections_received": counts["opened"] / seconds,
        "blocking_req": blocking,
        "blocking_res": counts["blocking_res"] / seconds,
    }


def together(parts: Iterable[Mapping[str, Value]]) -> dict[str, Value]:
    """What the clients of one database saw, at all its endpoints."""
    rows = list(parts)
    seen: dict[str, Value] = {metric: sum(row[metric] or 0.0 for row in rows) for metric in AS_CLIENTS_SEE}
    return seen | {"total_res": sum((row["responses"] or 0.0) + (row.get("blocking_res") or 0.0) for row in rows)}
