"""How far a replica's resync is, and how long it still takes, joined from what both sides say.

Neither side alone will do: the replica of a diskless sync knows no total (its percent is 0 and its bytes left negative),
and the primary calls it online before it has loaded anything. Two ways lead to a copy:

* An empty replica loads what arrives, as it arrives. Its keys of those that the primary saves are the measure.
* Any other writes what arrives to disk and loads it afterwards. While the primary saves and sends, its count of keys is
  the measure; while the replica loads, its own.

After that the offsets of both tell what it still has to catch up with. Percent is the share of time: what the copy took so
far of what it takes in all, so that it says the same as the time left.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

PHASES = ("waiting", "transfer", "load", "catching_up", "in_sync")
SYNCED_LAG = 1 << 20
"""Bytes that a replica may be behind and still be called in sync: what is on its way under load."""
ALMOST = 99.0
"""Percent that nothing gets beyond before it is in sync."""
FIRST_GUESS, FIRST_SECONDS = 0.02, 0.2
"""How much of a phase must have been seen before its pace says anything: its share, and seconds."""
SENT_A_SECOND, UNPACKED_A_SECOND, KEYS_A_SECOND = 340e6, 110e6, 1e6
"""What a replica loads from disk, as measured: bytes as sent, bytes of memory that were compressed, keys. For a database of which
no load was seen."""
OVERHEAD = 1.5
"""Bytes of memory for one byte as sent that is not compressed, at most."""


@dataclass(frozen=True)
class Progress:
    """One look at a resync."""

    phase: str
    transferred: int
    """Bytes that the replica has read so far."""
    total: int | None = None
    """Bytes of the whole data set as sent; None while the engine does not tell: a diskless sync does only when it loads."""
    share: float | None = None
    """How much of the phase is done, 0 to 1."""
    told: float | None = None
    """The same as the primary last told it, which it does only every second or two."""
    whole: float | None = None
    """Bytes of the whole phase: in a transfer judged by what had arrived when the primary told a new share, in catching up the
    most that was behind."""
    keys: int | None = None
    """What the primary saves."""
    loaded: int | None = None
    """Keys that the replica has, when it loads what arrives as it arrives."""
    memory: int | None = None
    """Of the primary's data, when the replica loads them from disk."""
    lag: int | None = None
    """Bytes behind the primary, while catching up."""


@dataclass(frozen=True)
class PhaseSpeed:
    """How fast a phase goes, judged by the later part of it: by the last half to the last three quarters of its time."""

    begun: float
    old: tuple[float, float]
    """When, and the share that was done then."""
    new: tuple[float, float]
    """What will be `old` when the phase took twice as long."""

    def on(self, when: float, share: float) -> "PhaseSpeed":
        """With one more look. One that went back begins again."""
        if share < self.new[1] or when < self.new[0]:
            return start(when, share)
        if when - self.new[0] >= max(FIRST_SECONDS, self.new[0] - self.begun):
            return replace(self, old=self.new, new=(when, share))
        return self

    def left(self, when: float, share: float) -> float | None:
        """Seconds until the whole is done; None before anything can be said."""
        seconds, done = when - self.old[0], share - self.old[1]
        if share >= 1:
            return 0.0
        return seconds / done * (1 - share) if seconds >= FIRST_SECONDS and done >= FIRST_GUESS else None


def start(when: float, share: float) -> PhaseSpeed:
    """The pace of a phase that begins."""
    return PhaseSpeed(when, (when, share), (when, share))


@dataclass(frozen=True)
class Course:
    """A resync up to the last look."""

    progress: Progress = Progress("waiting", 0)
    percent: float = 0.0
    seconds_left: float | None = None
    copying_since: float | None = None
    """When something was first seen to be copied."""
    pace: PhaseSpeed | None = None
    """Of the phase that runs."""


def look(replica: Mapping[str, str], primary: Mapping[str, str]) -> Progress:
    """From INFO of both sides: replication, persistence, and the primary's memory."""
    transferred = max(0, _number(replica, "master_sync_read_bytes"))
    if replica.get("master_link_status") == "up":
        lag = _number(primary, "master_repl_offset") - _number(replica, "slave_repl_offset")
        if lag > SYNCED_LAG and "slave_repl_offset" in replica:
            return Progress("catching_up", transferred, lag=lag)
        return Progress("in_sync", transferred)
    memory = max(0, _number(primary, "used_memory_dataset"))
    saving = primary.get("rdb_bgsave_in_progress") == "1"
    keys = max(0, _number(primary, "current_save_keys_total")) if saving else 0
    if replica.get("loading") == "1" or replica.get("async_loading") == "1":
        size = max(0, _number(replica, "loading_total_bytes"))
        if size:
            share = _part(float(replica.get("loading_loaded_perc") or 0), 100)
            return Progress("load", transferred, total=size, share=share, memory=memory)
        arrived = max(transferred, _number(replica, "loading_loaded_bytes"))
        loaded = max(0, _number(replica, "rdb_last_load_keys_loaded"))
        return Progress("transfer", arrived, keys=keys or None, loaded=loaded)
    if replica.get("master_sync_in_progress") != "1":
        return Progress("waiting", transferred)
    left, size = _number(replica, "master_sync_left_bytes", -1), _number(replica, "master_sync_total_bytes")
    if size > 0 and left >= 0:  # a sync from disk knows its size
        sent = max(0, size - left)
        return Progress("transfer", sent, total=size, share=_part(sent, size), memory=memory)
    told = _part(_number(primary, "current_save_keys_processed"), keys) or None
    return Progress("transfer", transferred, share=told, told=told, keys=keys or None, memory=memory)


def follow(before: Progress | None, now: Progress) -> Progress:
    """`now`, but in nothing behind `before`: counters are updated once a second and sometimes start again."""
    if before is None:
        return _measured(None, now)
    phase = max((before.phase, now.phase), key=PHASES.index)
    transferred = max(before.transferred, now.transferred)
    total = now.total if now.total is not None else before.total
    if total is not None:
        total = max(total, transferred)  # what is read includes the marks around the data
    if phase != now.phase:  # a new attempt: nothing of it is told before it is where the last one was
        return Progress(phase, transferred, total=total)
    same = before if before.phase == now.phase else None
    return replace(_measured(same, now), transferred=transferred, total=total)


def _measured(before: Progress | None, now: Progress) -> Progress:
    """With the share that only a second look gives, or better than the first."""
    keys = now.keys or (before.keys if before is not None else None)  # not told any more when all is sent
    if now.loaded is not None:
        return replace(now, keys=keys, share=_part(now.loaded, keys) if keys else None)
    if now.lag is not None:
        whole = max(now.lag, (before.whole if before is not None else None) or 0.0)
        return replace(now, whole=whole, share=1 - now.lag / whole if whole else None)
    if now.told is None:
        return replace(now, keys=keys)
    # While the primary's count stands still, bytes go on arriving: as many as there were for the share that it told.
    known = before.whole if before is not None and before.told == now.told else None
    whole = known or now.transferred / now.told
    share = max(now.told, min(0.99, now.transferred / whole)) if whole else now.told
    return replace(now, keys=keys, whole=whole, share=share)


def advance(course: Course, seen: Progress, when: float, load_rate: float | None = None) -> Course:
    """One more look, at the moment `when`. `load_rate` is what the database's last load took, in bytes as sent a second."""
    before, now = course.progress, follow(course.progress, seen)
    pace = course.pace if now.phase == before.phase else None
    if now.share is not None:
        pace = pace.on(when, now.share) if pace is not None else start(when, now.share)
    since = when if course.copying_since is None and now.phase != "waiting" else course.copying_since
    left = _left(now, pace, when, load_rate)
    percent = _percent(now, max(0.0, when - since) if since is not None else 0.0, left)
    return Course(now, max(course.percent, percent), left, since, pace)


def _left(now: Progress, pace: PhaseSpeed | None, when: float, load_rate: float | None) -> float | None:
    """Seconds until in sync: what is left of the phase, and of the load that follows it."""
    if pace is None or now.share is None:
        return None
    left, size = pace.left(when, now.share), now.total or now.whole
    if now.memory is None:
        return left
    load = load_seconds(size, now.memory, now.keys or 0, load_rate) if size else None
    if now.phase == "load":
        return load * (1 - now.share) if left is None and load is not None else left
    return left + load if left is not None and load is not None else None


def _percent(now: Progress, elapsed: float, left: float | None) -> float:
    """The share of time: percent and time left say the same."""
    if now.phase == "in_sync":
        return 100.0
    return min(ALMOST, 100 * elapsed / (elapsed + left)) if left is not None and elapsed + left > 0 else 0.0


def load_seconds(size: float, memory: int, keys: int, rate: float | None = None) -> float:
    """How long a replica will load `size` bytes from disk: at the rate of the last time, or as was measured elsewhere."""
    if rate:
        return size / rate
    return size / SENT_A_SECOND + max(0.0, memory - OVERHEAD * size) / UNPACKED_A_SECOND + keys / KEYS_A_SECOND


def _part(done: float, whole: float) -> float:
    return min(max(done / whole, 0.0), 1.0) if whole > 0 else 0.0


def _number(fields: Mapping[str, str], name: str, default: int = 0) -> int:
    return int(fields.get(name) or default)
