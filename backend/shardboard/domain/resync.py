"""How far a replica's resync is, joined from what both sides say.

Neither side alone will do: the replica of a diskless sync knows no total (its percent is 0 and its bytes left negative),
and the primary calls it online before it has loaded anything. So: while the primary saves and sends, its count of keys
is the measure; while the replica loads, its own; after that the offsets of both tell what it still has to catch up with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

PHASES = ("waiting", "transfer", "load", "catching_up", "in_sync")
START = {"waiting": 0.0, "transfer": 2.0, "load": 50.0, "catching_up": 98.0, "in_sync": 100.0}
"""Percent at which each phase begins. Transfer and load take about as long as each other, as far as nothing else is known: 1:2
with compressible values, up to 5:1 with others."""
SYNCED_LAG = 1 << 20
"""Bytes that a replica may be behind and still be called in sync: what is on its way under load."""
FIRST_GUESS = 0.05
"""Share of a transfer from which on its pace says something."""


@dataclass(frozen=True)
class Progress:
    """One look at a resync."""

    phase: str
    percent: float
    transferred: int
    """Bytes that the replica has read so far."""
    eta_seconds: float | None = None
    """The engine's own estimate while it loads; None when it gives none."""
    total: int | None = None
    """Bytes of the whole data set as sent; None while the engine does not tell: a diskless sync does only when it loads."""
    share: float | None = None
    """How much of a transfer is done, 0 to 1."""
    told: float | None = None
    """The same as the primary last told it, which it does only every second or two."""
    estimate: float | None = None
    """Bytes of the whole transfer, judged by what had arrived when the primary told a new share."""
    lag: int | None = None
    """Bytes behind the primary, while catching up."""


def load_start(transfer: float, load: float) -> float:
    """The percent at which the load begins, when the last time transfer and load took so many seconds."""
    room = START["catching_up"] - START["transfer"]
    return START["transfer"] + room * min(max(transfer / (transfer + load), 0.1), 0.9) if transfer + load > 0 else 50.0


def look(replica: Mapping[str, str], primary: Mapping[str, str], load_at: float = START["load"]) -> Progress:
    """From INFO (replication, persistence) of both sides. `load_at` is the percent at which the load begins."""
    transferred = max(0, _number(replica, "master_sync_read_bytes"))
    if replica.get("master_link_status") == "up":
        lag = _number(primary, "master_repl_offset") - _number(replica, "slave_repl_offset")
        if lag > SYNCED_LAG and "slave_repl_offset" in replica:
            return Progress("catching_up", START["catching_up"], transferred, lag=lag)
        return Progress("in_sync", 100.0, transferred)
    if replica.get("loading") == "1" or replica.get("async_loading") == "1":
        loaded = float(replica.get("loading_loaded_perc", 0) or 0)
        eta = max(0.0, float(replica.get("loading_eta_seconds", 0) or 0))
        size = max(0, _number(replica, "loading_total_bytes")) or None
        return Progress("load", _within(load_at, START["catching_up"], loaded / 100), transferred, eta, total=size)
    if replica.get("master_sync_in_progress") == "1":
        return _transfer(replica, primary, transferred, load_at)
    return Progress("waiting", START["waiting"], transferred)


def _transfer(replica: Mapping[str, str], primary: Mapping[str, str], transferred: int, load_at: float) -> Progress:
    left, size = _number(replica, "master_sync_left_bytes", -1), _number(replica, "master_sync_total_bytes")
    if size > 0 and left >= 0:  # a sync from disk knows its size
        share = min(1.0, max(0, size - left) / size)
        percent = _within(START["transfer"], load_at, share)
        return Progress("transfer", percent, max(0, size - left), total=size, share=share)
    total, done = _number(primary, "current_save_keys_total"), _number(primary, "current_save_keys_processed")
    saving = primary.get("rdb_bgsave_in_progress") == "1" and total > 0
    share = min(1.0, max(0.0, done / total)) if saving else 0.0
    # Bytes flow: it has begun, though the primary's count lags behind.
    shown = share or (0.01 if transferred else 0.0)
    percent = _within(START["transfer"], load_at, shown)
    return Progress("transfer", percent, transferred, share=share or None, told=share or None)


def follow(before: Progress | None, now: Progress, load_at: float = START["load"]) -> Progress:
    """`now`, but in nothing behind `before`: counters are updated once a second and sometimes start again."""
    now = _between_tellings(before, now, load_at)
    if before is None:
        return now
    phase = max((before.phase, now.phase), key=PHASES.index)
    transferred = max(before.transferred, now.transferred)
    total = now.total if now.total is not None else before.total
    if total is not None:
        total = max(total, transferred)  # what is read includes the marks around the data
    if phase != now.phase:  # a new attempt: nothing of it is told before it is where the last one was
        return Progress(phase, max(before.percent, now.percent), transferred, total=total)
    return replace(now, percent=max(before.percent, now.percent), transferred=transferred, total=total)


def _between_tellings(before: Progress | None, now: Progress, load_at: float) -> Progress:
    """While the primary's count stands still, bytes go on arriving: as many as there were for the share that it told."""
    if now.told is None:
        return now
    known = before.estimate if before is not None and before.told == now.told else None
    estimate = known or now.transferred / now.told
    share = max(now.told, min(0.99, now.transferred / estimate) if estimate else 0.0)
    return replace(now, share=share, estimate=estimate, percent=_within(START["transfer"], load_at, share))


def remaining(
    now: Progress, seconds: float, first_lag: int | None = None, load_at: float = START["load"]
) -> float | None:
    """Seconds left, from the engine's own figures; None before anything can be said.

    `seconds` since the phase began, `first_lag` the bytes that were behind then. A load is taken to last as long as it did the
    last time, beside its transfer, until the engine tells better.
    """
    if now.phase == "load":
        return now.eta_seconds
    if now.phase == "transfer" and now.share is not None and now.share >= FIRST_GUESS and seconds > 0:
        whole = seconds / now.share
        return whole * (1 - now.share) + whole * (START["catching_up"] - load_at) / (load_at - START["transfer"])
    if now.phase == "catching_up" and now.lag is not None and first_lag is not None and first_lag > now.lag:
        return seconds * now.lag / (first_lag - now.lag)
    return None


def _number(fields: Mapping[str, str], name: str, default: int = 0) -> int:
    return int(fields.get(name) or default)


def _within(start: float, end: float, share: float) -> float:
    return start + (end - start) * min(max(share, 0.0), 1.0)
