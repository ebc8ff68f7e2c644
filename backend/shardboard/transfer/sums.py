"""Sums of the results of several files."""

import hashlib
from collections.abc import Sequence
from typing import Any

MAX_LARGEST = 100
"""Largest keys that are kept."""


def sum_results(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the sum of SnapshotResults or RestoreResults. The checksum of several files is that of their checksums."""
    if len(results) == 1:
        return results[0]
    total: dict[str, Any] = {}
    for result in results:
        total = _add(total, {name: value for name, value in result.items() if name not in _SPECIAL})
    total["slots"] = _add_slots([slot for result in results for slot in result.get("slots", [])])
    total["functions"] = sorted({name for result in results for name in result.get("functions", [])})
    if any("rdb_version" in result for result in results):
        total["rdb_version"] = max(result.get("rdb_version", 0) for result in results)
    total["sha256"] = hashlib.sha256("".join(result["sha256"] for result in results).encode()).hexdigest()
    return total


_SPECIAL = {"slots", "functions", "rdb_version", "sha256", "replication_id", "replication_offset"}


def _add(left: Any, right: Any) -> Any:
    """Add numbers, the values of maps, and lists of largest keys."""
    if isinstance(left, dict) and isinstance(right, dict):
        return {
            name: _add(left[name], right[name]) if name in left and name in right else {**left, **right}[name]
            for name in {**left, **right}
        }
    if isinstance(left, list) and isinstance(right, list):
        return sorted([*left, *right], key=_size, reverse=True)[:MAX_LARGEST]
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left + right
    return left


def _size(key: Any) -> int:
    return int(key.get("bytes", 0)) if isinstance(key, dict) else 0


def _add_slots(slots: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the contents of slots. A digest is a sum modulo 2^64."""
    totals: dict[int, tuple[int, int]] = {}
    for slot in slots:
        keys, digest = totals.get(slot["slot"], (0, 0))
        totals[slot["slot"]] = (keys + slot["keys"], (digest + int(slot["digest"], 16)) % 2**64)
    return [{"slot": slot, "keys": keys, "digest": f"{digest:016x}"} for slot, (keys, digest) in sorted(totals.items())]
