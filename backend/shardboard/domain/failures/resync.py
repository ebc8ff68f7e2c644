"""Progress and remaining time of a replica's resync, derived from INFO of both sides.

One side is not sufficient: the replica of a diskless sync does not know the total size (its percent is 0, its bytes left are
negative), and the primary reports it as online before it has loaded the data. There are two kinds of full copies:

* An empty replica loads the data while it arrives. Progress is its number of keys relative to the number that the primary saves.
* Any other replica writes the data to disk and loads it afterwards. Progress is the number of keys that the primary has saved and
  sent, then the bytes that the replica has loaded.

Afterwards the offsets of both show what the replica still has to catch up with. Percent is the elapsed share of the total time, so
that it is consistent with the remaining time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

PHASES = ("waiting", "transfer", "load", "catching_up", "in_sync")
SYNCED_LAG = 1 << 20
"""Maximum lag in bytes of a replica that counts as in sync: data in transit under load."""
MAX_UNSYNCED_PERCENT = 99.0
"""Maximum percent before the replica is in sync."""
MIN_GUESS_SHARE, MIN_GUESS_SECONDS = 0.02, 0.2
"""Minimum share and minimum seconds of a phase before its speed is estimated."""
SENT_PER_SECOND, UNPACKED_PER_SECOND, KEYS_PER_SECOND = 340e6, 110e6, 1e6
"""Measured load speeds of a replica from disk: bytes as sent, bytes of memory that were compressed, keys. Used for databases
without an observed load."""
OVERHEAD = 1.5
"""Maximum bytes of memory for one uncompressed byte as sent."""


@dataclass(frozen=True)
class ResyncPoll:
    """One poll of a resync."""

    phase: str
    transferred: int
    """Bytes that the replica has read."""
    total: int | None = None
    """Size of the data set as sent, in bytes; None while unknown. A diskless sync reports it during the load only."""
    share: float | None = None
    """Completed share of the phase, 0 to 1."""
    reported_share: float | None = None
    """The share last reported by the primary, which updates it every one or two seconds."""
    phase_bytes: float | None = None
    """Bytes of the complete phase. For a transfer: estimated from the bytes received when the primary reported a new share. For
    catching up: the largest observed lag."""
    keys: int | None = None
    """Number of keys that the primary saves."""
    loaded: int | None = None
    """Number of keys that the replica has, if it loads the data while it arrives."""
    memory: int | None = None
    """Size of the primary's data in memory, if the replica loads it from disk."""
    lag: int | None = None
    """Bytes behind the primary while catching up."""


@dataclass(frozen=True)
class PhaseSpeed:
    """Speed of a phase, estimated from the last half to the last three quarters of its time."""

    begun: float
    old: tuple[float, float]
    """Time, and the share at that time."""
    new: tuple[float, float]
    """The next value of `old`, used when the phase has lasted twice as long."""

    def updated(self, when: float, share: float) -> "PhaseSpeed":
        """Return the speed with another poll. A decreasing share starts the measurement again."""
        if share < self.new[1] or when < self.new[0]:
            return start(when, share)
        if when - self.new[0] >= max(MIN_GUESS_SECONDS, self.new[0] - self.begun):
            return replace(self, old=self.new, new=(when, share))
        return self

    def left(self, when: float, share: float) -> float | None:
        """Return the seconds until the phase is complete; None before there is an estimate."""
        seconds, progress = when - self.old[0], share - self.old[1]
        if share >= 1:
            return 0.0
        return (
            seconds / progress * (1 - share) if seconds >= MIN_GUESS_SECONDS and progress >= MIN_GUESS_SHARE else None
        )


def start(when: float, share: float) -> PhaseSpeed:
    """Return the speed of a phase that starts."""
    return PhaseSpeed(when, (when, share), (when, share))


@dataclass(frozen=True)
class ResyncProgress:
    """A resync up to the last poll."""

    poll: ResyncPoll = ResyncPoll("waiting", 0)
    percent: float = 0.0
    seconds_left: float | None = None
    copying_since: float | None = None
    """When copying was first observed."""
    pace: PhaseSpeed | None = None
    """Speed of the current phase."""


def parse_poll(replica: Mapping[str, str], primary: Mapping[str, str]) -> ResyncPoll:
    """Return the progress from INFO of both sides: replication, persistence, and memory of the primary."""
    transferred = max(0, _number(replica, "master_sync_read_bytes"))
    if replica.get("master_link_status") == "up":
        lag = _number(primary, "master_repl_offset") - _number(replica, "slave_repl_offset")
        if lag > SYNCED_LAG and "slave_repl_offset" in replica:
            return ResyncPoll("catching_up", transferred, lag=lag)
        return ResyncPoll("in_sync", transferred)
    memory = max(0, _number(primary, "used_memory_dataset"))
    is_saving = primary.get("rdb_bgsave_in_progress") == "1"
    keys = max(0, _number(primary, "current_save_keys_total")) if is_saving else 0
    if replica.get("loading") == "1" or replica.get("async_loading") == "1":
        size = max(0, _number(replica, "loading_total_bytes"))
        if size:
            share = _part(float(replica.get("loading_loaded_perc") or 0), 100)
            return ResyncPoll("load", transferred, total=size, share=share, memory=memory)
        received = max(transferred, _number(replica, "loading_loaded_bytes"))
        keys_loaded = max(0, _number(replica, "rdb_last_load_keys_loaded"))
        return ResyncPoll("transfer", received, keys=keys or None, loaded=keys_loaded)
    if replica.get("master_sync_in_progress") != "1":
        return ResyncPoll("waiting", transferred)
    bytes_left, size = _number(replica, "master_sync_left_bytes", -1), _number(replica, "master_sync_total_bytes")
    if size > 0 and bytes_left >= 0:  # a sync from disk knows its size
        bytes_sent = max(0, size - bytes_left)
        return ResyncPoll("transfer", bytes_sent, total=size, share=_part(bytes_sent, size), memory=memory)
    phase_share = _part(_number(primary, "current_save_keys_processed"), keys) or None
    return ResyncPoll(
        "transfer", transferred, share=phase_share, reported_share=phase_share, keys=keys or None, memory=memory
    )


def never_behind(before: ResyncPoll | None, now: ResyncPoll) -> ResyncPoll:
    """Return `now`, but never behind `before`: counters are updated once per second and are sometimes reset."""
    if before is None:
        return _measured(None, now)
    phase = max((before.phase, now.phase), key=PHASES.index)
    transferred = max(before.transferred, now.transferred)
    total = now.total if now.total is not None else before.total
    if total is not None:
        total = max(total, transferred)  # the bytes read include the delimiters around the data
    if phase != now.phase:  # a new attempt is not reported before it has reached the progress of the previous one
        return ResyncPoll(phase, transferred, total=total)
    same_phase = before if before.phase == now.phase else None
    return replace(_measured(same_phase, now), transferred=transferred, total=total)


def _measured(before: ResyncPoll | None, now: ResyncPoll) -> ResyncPoll:
    """Return `now` with a share that needs a previous poll, or is more accurate with it."""
    keys = now.keys or (before.keys if before is not None else None)  # no longer reported when everything is sent
    if now.loaded is not None:
        return replace(now, keys=keys, share=_part(now.loaded, keys) if keys else None)
    if now.lag is not None:
        phase_bytes = max(now.lag, (before.phase_bytes if before is not None else None) or 0.0)
        return replace(now, phase_bytes=phase_bytes, share=1 - now.lag / phase_bytes if phase_bytes else None)
    if now.reported_share is None:
        return replace(now, keys=keys)
    # While the primary's count is unchanged, more bytes arrive: estimate the share from the bytes at its last change.
    known_bytes = before.phase_bytes if before is not None and before.reported_share == now.reported_share else None
    phase_bytes = known_bytes or now.transferred / now.reported_share
    share = max(now.reported_share, min(0.99, now.transferred / phase_bytes)) if phase_bytes else now.reported_share
    return replace(now, keys=keys, phase_bytes=phase_bytes, share=share)


def advance(progress: ResyncProgress, seen: ResyncPoll, when: float, load_rate: float | None = None) -> ResyncProgress:
    """Return the state after a poll at time `when`. `load_rate` is the speed of the database's last load in bytes as sent per
    second."""
    previous, now = progress.poll, never_behind(progress.poll, seen)
    pace = progress.pace if now.phase == previous.phase else None
    if now.share is not None:
        pace = pace.updated(when, now.share) if pace is not None else start(when, now.share)
    copying_since = when if progress.copying_since is None and now.phase != "waiting" else progress.copying_since
    seconds_left = _seconds_left(now, pace, when, load_rate)
    percent = _percent(now, max(0.0, when - copying_since) if copying_since is not None else 0.0, seconds_left)
    return ResyncProgress(now, max(progress.percent, percent), seconds_left, copying_since, pace)


def _seconds_left(now: ResyncPoll, pace: PhaseSpeed | None, when: float, load_rate: float | None) -> float | None:
    """Return the seconds until the replica is in sync: the rest of the phase, and the load that follows it."""
    if pace is None or now.share is None:
        return None
    seconds_left, size = pace.left(when, now.share), now.total or now.phase_bytes
    if now.memory is None:
        return seconds_left
    load = load_seconds(size, now.memory, now.keys or 0, load_rate) if size else None
    if now.phase == "load":
        return load * (1 - now.share) if seconds_left is None and load is not None else seconds_left
    return seconds_left + load if seconds_left is not None and load is not None else None


def _percent(now: ResyncPoll, elapsed: float, left: float | None) -> float:
    """Return the percent of the total time, consistent with the remaining time."""
    if now.phase == "in_sync":
        return 100.0
    return (
        min(MAX_UNSYNCED_PERCENT, 100 * elapsed / (elapsed + left)) if left is not None and elapsed + left > 0 else 0.0
    )


def load_seconds(size: float, memory: int, keys: int, rate: float | None = None) -> float:
    """Return how long a replica loads `size` bytes from disk, from the last observed speed or from measured defaults."""
    if rate:
        return size / rate
    return size / SENT_PER_SECOND + max(0.0, memory - OVERHEAD * size) / UNPACKED_PER_SECOND + keys / KEYS_PER_SECOND


def _part(done: float, total: float) -> float:
    return min(max(done / total, 0.0), 1.0) if total > 0 else 0.0


def _number(fields: Mapping[str, str], name: str, default: int = 0) -> int:
    return int(fields.get(name) or default)
