"""Statistics of each client (connection) of a load, as the load generator reports them at its end.

The buckets of the histograms are those of the published guide to memory drives: one per microsecond up to 1 s, and one for
everything above. The generator merges buckets above 2 ms, where it records three significant digits.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ClientStatistics:
    """One client. Latencies are in milliseconds; None without a successful operation."""

    node_uid: int
    client: int
    """From 0 on each load node, by thread."""
    ops: int
    average_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    max_average_ms: float | None
    """Highest value of the average, which is computed after each operation."""
    max_ms: float | None
    histogram: dict[int, int] = field(default_factory=dict)
    """Operations by latency in microseconds."""


@dataclass(frozen=True)
class ClientReport:
    """Clients of one load; of many, those with the slowest operations."""

    clients: list[ClientStatistics]
    omitted: int = 0


def of_report(node_uid: int, text: str) -> ClientReport:
    """Return the clients in the JSON report of a load generator; none if the report has none, as that of memtier_benchmark."""
    try:
        section = json.loads(text)["ALL STATS"]["Clients"]
        return ClientReport([_client(node_uid, each) for each in section["Listed"]], int(section["Omitted"]))
    except (ValueError, KeyError, TypeError):
        return ClientReport([])


def _client(node_uid: int, row: Mapping[str, Any]) -> ClientStatistics:
    ops = int(row["Count"])

    def latency(name: str) -> float | None:
        return float(row[name]) if ops and name in row else None

    return ClientStatistics(
        node_uid=node_uid,
        client=int(row["Client"]),
        ops=ops,
        average_ms=latency("Average Latency"),
        p50_ms=latency("p50.00"),
        p99_ms=latency("p99.00"),
        max_average_ms=latency("Max Average Latency"),
        max_ms=latency("Max Latency"),
        # With more than 256 clients, the generator keeps no histograms.
        histogram={int(micros): int(count) for micros, count in row.get("Histogram (us)", {}).items()},
    )


def slowest(clients: Iterable[ClientStatistics], limit: int) -> list[ClientStatistics]:
    """Return the clients with the slowest operations, slowest first."""
    return sorted(clients, key=lambda each: -(each.max_ms or 0))[:limit]


def histogram_table(clients: Sequence[ClientStatistics]) -> str:
    """Return the histograms of clients with operations in the format of the guide.

    One line per bucket has the microseconds, the count of each client, the total, and the share of all operations up to this bucket
    in percent.
    """
    buckets = sorted({micros for each in clients for micros in each.histogram})
    everything = sum(sum(each.histogram.values()) for each in clients)
    lines = [" ".join(["us", *(str(number) for number in range(len(clients))), "total"])]
    done = 0
    for micros in buckets:
        counts = [each.histogram.get(micros, 0) for each in clients]
        done += sum(counts)
        lines.append(" ".join([*map(str, [micros, *counts, sum(counts)]), f"{100 * done / everything:.3f}"]))
    return "\n".join(lines) + "\n"
