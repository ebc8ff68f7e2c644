"""Endpoints, each served by the proxy of one node for one database: their names, and their metrics of one second."""

import re
from collections.abc import Iterable, Mapping

from shardboard.domain.metrics.rates import Value

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
"""*_req, *_res, responses (to read, write and other commands), errors, total_connections_received and *_bytes are rates per second;
conns is the number of open connections at the end of the second. total_req includes blocking commands. latency_time is the total
time in microseconds of these responses, per second, so that latency_time / responses is their average over any interval."""

AS_CLIENTS_SEE = (
    *("total_req", "read_req", "write_req", "other_req", "conns", "ingress_bytes", "egress_bytes"),
    *("total_connections_received", "read_res", "write_res", "other_res"),
)
"""Metrics of a database that are summed over its endpoints: a request can reach several shards or none."""
FROM_ENDPOINTS = (*AS_CLIENTS_SEE, "total_res")
"""Metrics of a database that are unknown while one of its endpoints has not reported."""

_NAME = re.compile(r"([0-9]{1,9}):1:([0-9]{1,9})", re.ASCII)

_NODES, _PAIRS = 1 << 12, 1 << 43
"""Bit layout, from the lowest: 12 bits of the node uid, 31 bits of the database uid, the other bits of the node uid. Small uids
result in small numbers."""


def number(bdb_uid: int, node_uid: int) -> int:
    """Return one number of 63 bits for both uids, as needed for frames."""
    return node_uid // _NODES * _PAIRS + bdb_uid * _NODES + node_uid % _NODES


def name(of: int) -> str:
    """Return the uid in the format of the REST reference: `<database>:<endpoint>:<proxy>`."""
    return f"{database(of)}:1:{node(of)}"


def database(of: int) -> int:
    return of % _PAIRS // _NODES


def node(of: int) -> int:
    return of // _PAIRS * _NODES + of % _NODES


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def parsed(text: str) -> int:
    """Return the number for a result of `name`. Raises ValueError."""
    match = _NAME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return number(int(match[1]), int(match[2]))


def second(counts: Mapping[str, float], errors: int, latency_time: float, seconds: float) -> dict[str, Value]:
    """Return the metrics of an interval of `seconds` from its counts, which have the agent's names (ENDPOINT_FIELDS)."""
    kinds = ("read", "write", "other")
    requests = {kind: counts[f"{kind}_req"] / seconds for kind in kinds}
    blocking = counts["blocking_req"] / seconds
    return {
        "total_req": sum(requests.values()) + blocking,
        **{f"{kind}_req": rate for kind, rate in requests.items()},
        "conns": counts["conns"],
        "ingress_bytes": counts["net_in"] / seconds,
        "egress_bytes": counts["net_out"] / seconds,
        "errors": errors / seconds,
        "responses": sum(counts[f"{kind}_res"] for kind in kinds) / seconds,
        "latency_time": latency_time / seconds,
        **{f"{kind}_res": counts[f"{kind}_res"] / seconds for kind in kinds},
        "total_connections_received": counts["opened"] / seconds,
        "blocking_req": blocking,
        "blocking_res": counts["blocking_res"] / seconds,
    }


def together(parts: Iterable[Mapping[str, Value]]) -> dict[str, Value]:
    """Return the metrics of the clients of one database over all its endpoints."""
    rows = list(parts)
    combined: dict[str, Value] = {metric: sum(row[metric] or 0.0 for row in rows) for metric in AS_CLIENTS_SEE}
    return combined | {"total_res": sum((row["responses"] or 0.0) + (row.get("blocking_res") or 0.0) for row in rows)}
