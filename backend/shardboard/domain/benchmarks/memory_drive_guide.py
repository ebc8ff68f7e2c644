"""Results in the form of the published guide to memory drives (Intel, May 2018): its CSV (`Summary2csv.sh`).

The guide runs several client machines side by side. Each sets or gets every key of its servers once, and reports the time of its
slowest connection. `scenario_results.py` computes its Table 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardboard.domain.benchmarks import workload

COLUMNS = ("filename", "clients", "len", "servers", "keys", "max_time", "operation")


@dataclass(frozen=True)
class GuideRow:
    """One operation of one round, measured by the load nodes of one run."""

    filename: str
    clients: int
    """Load nodes, which the guide calls client machines."""
    value_bytes: int
    servers: int
    keys: int
    """Keys of each server."""
    seconds: float
    """Time until the last connection had finished."""
    operation: str
    """`set`, `get`, or `mixed`, which the guide does not have."""

    @property
    def cells(self) -> tuple[str | int, ...]:
        """Values of COLUMNS. The guide cuts off fractions of a second."""
        return (
            self.filename,
            self.clients,
            self.value_bytes,
            self.servers,
            self.keys,
            int(self.seconds),
            self.operation,
        )


def rows(run: Mapping[str, Any]) -> list[GuideRow]:
    """Return the rows of a run. `run` is a benchmark in the format of the API."""
    found = []
    bdb = run["facts"].get("bdb", {})
    servers = int(bdb.get("shards_count") or 1) if bdb.get("sharding") else 1
    for result in (run.get("summary") or {}).get("results", []):
        if not result["ops"]:
            continue
        spec = run["phases"][result["phase"]]["workload"]
        operation = "mixed" if result["reads"] and result["writes"] else "get" if result["reads"] else "set"
        value_bytes = round(workload.value_bytes(spec))
        found.append(
            GuideRow(
                filename=f"benchmark-{run['uid']}.{result['phase'] + 1}.{result['repetition'] + 1}",
                clients=len(run["load_nodes"]),
                value_bytes=value_bytes,
                servers=servers,
                keys=workload.keys(spec) // servers,
                seconds=result["seconds"],
                operation=operation,
            )
        )
    return found


def table(guide_rows: Iterable[GuideRow]) -> str:
    """Return rows as the guide's CSV, with its quotation marks and spaces."""
    lines: list[Sequence[str | int]] = [COLUMNS, *(row.cells for row in guide_rows)]
    return "".join(", ".join(f'"{cell}"' for cell in line) + "\n" for line in lines)
