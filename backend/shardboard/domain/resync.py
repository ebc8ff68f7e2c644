"""How far a replica's resync is, joined from what both sides say.

Neither side alone will do: the replica of a diskless sync knows no total (its percent is 0 and its bytes left negative),
and the primary calls it online before it has loaded anything. So: while the primary saves and sends, its count of keys
is the measure; while the replica loads, its own; after that the link says when it is done.
"""

from collections.abc import Mapping
from dataclasses import dataclass

PHASES = ("waiting", "transfer", "load", "catching_up", "in_sync")
START = {"waiting": 0.0, "transfer": 2.0, "load": 50.0, "catching_up": 98.0, "in_sync": 100.0}
"""Percent at which each phase begins. Transfer and load take about as long as each other: 1:2 with compressible values,
2:1 with others."""


@dataclass(frozen=True)
class Progress:
    """One look at a resync."""

    phase: str
    percent: float
    transferred: int
    """Bytes that the replica has read so far."""
    eta_seconds: float | None = None
    """The engine's own estimate while it loads; None when it gives none."""


def look(replica: Mapping[str, str], primary: Mapping[str, str]) -> Progress:
    """From INFO (replication, persistence) of both sides."""
    transferred = max(0, int(replica.get("master_sync_read_bytes", 0) or 0))
    if replica.get("master_link_status") == "up":
        return Progress("in_sync", 100.0, transferred)
    if replica.get("loading") == "1" or replica.get("async_loading") == "1":
        loaded = float(replica.get("loading_loaded_perc", 0) or 0)
        eta = float(replica.get("loading_eta_seconds", 0) or 0)
        return Progress("load", _within("load", loaded), transferred, eta)
    if replica.get("master_sync_in_progress") == "1":
        total = int(primary.get("current_save_keys_total", 0) or 0)
        done = int(primary.get("current_save_keys_processed", 0) or 0)
        left, size = int(replica.get("master_sync_left_bytes", -1)), int(replica.get("master_sync_total_bytes", 0) or 0)
        if size > 0 and left >= 0:  # a sync from disk knows its size
            return Progress("transfer", _within("transfer", 100.0 * (size - left) / size), size - left)
        share = 100.0 * done / total if primary.get("rdb_bgsave_in_progress") == "1" and total else 0.0
        if transferred and not share:
            share = 1.0  # bytes flow: it has begun, though the primary's count lags behind
        return Progress("transfer", _within("transfer", share), transferred)
    return Progress("waiting", START["waiting"], transferred)


def follow(before: Progress | None, now: Progress) -> Progress:
    """`now`, but in nothing behind `before`: counters are updated once a second and sometimes start again."""
    if before is None:
        return now
    phase = max((before.phase, now.phase), key=PHASES.index)
    transferred = max(before.transferred, now.transferred)
    return Progress(phase, max(before.percent, now.percent), transferred, now.eta_seconds)


def remaining(percent: float, seconds: float) -> float | None:
    """Seconds left if it goes on as so far; None before anything can be said."""
    return seconds * (100.0 - percent) / percent if percent >= 5.0 and seconds > 0 else None


def _within(phase: str, share: float) -> float:
    following = PHASES[PHASES.index(phase) + 1]
    return START[phase] + (START[following] - START[phase]) * min(max(share, 0.0), 100.0) / 100.0
