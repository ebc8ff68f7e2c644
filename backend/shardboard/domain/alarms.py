"""What is wrong though nothing says so: conditions of databases, shards and nodes that the engine does not tell of.

Each condition is named by `Alarm.key`. `Board` turns conditions that come and go into alarms that are raised once and ended
once: one has to last a while before it is raised.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardboard.domain import advisories

Key = tuple[str, int | None, int | None, int | None]

WAIT = {
    "alarm_slots_uncovered": 0.0,
    "alarm_shards_refuse": 3.0,
    "alarm_two_primaries": 3.0,
    "alarm_replication_lag": 3.0,
    "alarm_no_replica": 3.0,
    "alarm_clock": 3.0,
    "alarm_bdb_high_throughput": 5.0,
    "alarm_bdb_low_throughput": 5.0,
    "alarm_bdb_high_latency": 5.0,
    "alarm_node_cpu_utilization": 5.0,
    "alarm_node_net_throughput": 5.0,
}
"""Seconds that a condition has to last; 0 for the others."""
LINGER = {
    **dict.fromkeys(("alarm_bdb_high_throughput", "alarm_bdb_low_throughput", "alarm_bdb_high_latency"), 10.0),
    **dict.fromkeys(("alarm_bdb_size", "alarm_node_memory", "alarm_node_cpu_utilization"), 10.0),
    "alarm_samples_late": 10.0,
    **dict.fromkeys(("alarm_node_net_throughput", "alarm_node_persistent_storage", "alarm_node_free_flash"), 10.0),
}
"""Seconds that it has to be over: values play about a limit, and a second without news is no end; 0 for the others."""
STORAGE_LEFT = 0.05
"""Of a node's storage."""
COLLAPSED = 0.1
"""A primary that has less than this share of its keys after a restart has lost them."""
RECOVERED = 0.5
RECENT = 15.0
"""Seconds without another error until its alarm ends."""
FEW_KEYS = 100
"""Fewer than this are no data set whose loss is told by counting."""
LATE_PERCENT = (10, 25, 50, 75)
"""Steps in which the share of late or incomplete samples is reported; a smaller share raises no alarm."""
BUSY_PERCENT = 85
CLOCK_SECONDS = 2.0
"""By which a node's clock may be ahead; behind it may look because its samples are late."""


@dataclass(frozen=True)
class Alarm:
    """One condition that holds now."""

    type: str
    description: str
    """A past-tense sentence."""
    severity: str = "WARNING"
    bdb_uid: int | None = None
    node_uid: int | None = None
    shard_uid: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return (self.type, self.bdb_uid, self.node_uid, self.shard_uid)

    @property
    def source(self) -> str:
        if self.shard_uid is not None:
            return "shard"
        if self.bdb_uid is not None:
            return "bdb"
        return "node" if self.node_uid is not None else "cluster"


@dataclass(frozen=True)
class Part:
    """One shard as it is now."""

    uid: int
    node_uid: int
    pair: int
    role: str
    status: str
    in_sync: bool
    slots: int
    refuses: bool = False
    """A primary that lives and does not believe its cluster to be whole."""


def of_database(uid: int, name: str, *, replicated: bool, sharded: bool, parts: Iterable[Part]) -> list[Alarm]:
    """Pairs that nobody leads, whose primary refuses, that two lead, that have no copy, or both copies on one node."""
    pairs: dict[int, list[Part]] = defaultdict(list)
    for part in parts:
        pairs[part.pair].append(part)
    found = []
    lost = [pair for pair, held in pairs.items() if not any(_leads(part) for part in held)]
    if lost:
        slots = sum(max(part.slots for part in pairs[pair]) for pair in lost)
        what = f"{slots:,} of 16,384 hash slots of {name} were" if sharded else f"{name} was"
        details = {"pairs": sorted(lost), "slots": slots}
        found.append(
            Alarm("alarm_slots_uncovered", f"{what} not served: no primary lives.", "ERROR", uid, details=details)
        )
    refusing = sorted(part.uid for held in pairs.values() for part in held if _leads(part) and part.refuses)
    if refusing:
        who = ", ".join(f"redis:{part}" for part in refusing)
        told = (
            f"Primaries of {name} lived and refused requests, as they did not believe their cluster to be whole: {who}."
        )
        found.append(Alarm("alarm_shards_refuse", told, "ERROR", uid, details={"shards": refusing}))
    for held in pairs.values():
        found += _of_pair(uid, name, held)
    bare = sorted(pair for pair, held in pairs.items() if not any(_follows(part) for part in held))
    if replicated and bare:
        told = f"{len(bare)} of {len(pairs)} primaries of {name} had no replica that runs."
        found.append(Alarm("alarm_no_replica", told, bdb_uid=uid, details={"pairs": bare}))
    return found


def _of_pair(bdb_uid: int, name: str, held: Sequence[Part]) -> list[Alarm]:
    found = []
    leading = [part for part in held if part.role == "master" and part.status in ("ok", "loading")]
    if len(leading) > 1:
        who = " and ".join(f"redis:{part.uid} on node {part.node_uid}" for part in leading)
        told = f"Two shards of {name} acted as primary of the same slots: {who}."
        details = {"pair": held[0].pair, "shards": [part.uid for part in leading]}
        found.append(Alarm("alarm_two_primaries", told, "ERROR", bdb_uid, shard_uid=leading[0].uid, details=details))
    for index, part in enumerate(held):
        for other in held[:index]:
            if other.node_uid == part.node_uid:
                told = (
                    f"redis:{other.uid} and redis:{part.uid} of {name}, copies of the same data, were both on node "
                    f"{part.node_uid}."
                )
                details = {"pair": part.pair, "shards": [other.uid, part.uid]}
                found.append(
                    Alarm("alarm_pair_on_one_node", told, "WARNING", bdb_uid, part.node_uid, part.uid, details)
                )
    return found


def _leads(part: Part) -> bool:
    return part.role == "master" and part.status != "down"


def _follows(part: Part) -> bool:
    return part.role == "slave" and part.status != "down"


def lagging(bdb_uid: int, name: str, part: Part, lag: float | None, most: int) -> list[Alarm]:
    """A replica that is more than `most` bytes behind its primary."""
    if part.role != "slave" or lag is None or lag <= most:
        return []
    told = (
        f"Replica redis:{part.uid} of {name} on node {part.node_uid} was more than {most:,} bytes behind its primary."
    )
    return [Alarm("alarm_replication_lag", told, "WARNING", bdb_uid, part.node_uid, part.uid, {"threshold": most})]


@dataclass(frozen=True)
class Keys:
    """What a primary held, and since when its process runs."""

    started_at: float
    count: float


def collapsed(before: Keys | None, now: Keys) -> bool:
    """Whether a new process has a small part of what the one before had."""
    return (
        before is not None
        and now.started_at != before.started_at
        and before.count >= FEW_KEYS
        and now.count < COLLAPSED * before.count
    )


def collapse(bdb_uid: int, name: str, part: Part, before: float, now: Keys) -> list[Alarm]:
    """The alarm about it, for as long as the primary has not got its keys back."""
    if part.role != "master" or now.count >= RECOVERED * before:
        return []
    told = (
        f"Primary redis:{part.uid} of {name} had {before:,.0f} keys, and few of them after its process started again."
    )
    details = {"keys_before": before, "started_at": now.started_at}
    return [Alarm("alarm_keys_collapsed", told, "ERROR", bdb_uid, part.node_uid, part.uid, details)]


def of_node(uid: int, *, ahead: float, stalls: int, most_stalls: int, storage_left: float | None) -> list[Alarm]:
    """A clock that is wrong, a node that stalls again and again, a disk that is nearly full (`storage_left`: a share)."""
    found = []
    if ahead > CLOCK_SECONDS:
        told = f"The clock of node {uid} was ahead of the console's; its samples are left out of the charts meanwhile."
        found.append(Alarm("alarm_clock", told, "WARNING", node_uid=uid, details={"seconds": round(ahead)}))
    if stalls >= most_stalls:
        told = f"Node {uid} was down {stalls} times within ten minutes and went on each time as if nothing had been."
        found.append(Alarm("alarm_node_flapping", told, "WARNING", node_uid=uid, details={"outages": stalls}))
    if storage_left is not None and storage_left < STORAGE_LEFT:
        told = (
            f"Less than {STORAGE_LEFT:.0%} of the storage of node {uid} was free: shards can neither start nor persist."
        )
        found.append(Alarm("alarm_storage_full", told, "ERROR", node_uid=uid))
    return found


def samples_late(uid: int, share: float, latest: Mapping[str, float | None]) -> list[Alarm]:
    """Return the alarm for a node whose samples were late or incomplete in a `share` of the last minute. `latest` is the newest
    row of NODE_METRICS."""
    percent = max((step for step in LATE_PERCENT if 100 * share > step), default=None)
    if percent is None:
        return []
    idle, iowait = latest.get("cpu_idle"), latest.get("cpu_iowait") or 0.0
    is_busy = None if idle is None else 100 * (1 - idle - iowait) >= BUSY_PERCENT
    told = f"More than {percent} % of the samples of node {uid} were late or incomplete in a minute; charts have gaps."
    if is_busy:
        told += " The CPU of the node was busy."
    return [Alarm("alarm_samples_late", told, node_uid=uid, details={"percent": percent, "cpu_busy": is_busy})]


def of_engine(uid: int, version: str) -> list[Alarm]:
    """A node whose engine has published weaknesses, by its version number."""
    known = advisories.of_version(version)
    if not known:
        return []
    weaknesses = "; ".join(f"{advisory.what} ({', '.join(advisory.names)})" for advisory in known)
    told = (
        f"Valkey {version} of node {uid} has published weaknesses, unless its distribution mended them under the same "
        f"number: {weaknesses}."
    )
    details = {"engine_version": version, "advisories": [name for advisory in known for name in advisory.names]}
    return [Alarm("alarm_engine_advisories", told, "WARNING", node_uid=uid, details=details)]


def memory_full(bdb_uid: int, name: str, parts: Iterable[Part], refusals: "Rises", now: float) -> list[Alarm]:
    """One alarm for a database whose primaries refused writes lately."""
    full = sorted(part.uid for part in parts if part.role == "master" and refusals.are_recent(part.uid, now))
    if not full:
        return []
    who = ", ".join(f"redis:{uid}" for uid in full)
    told = f"{name} refused writes: the memory of {who} was full."
    return [Alarm("alarm_memory_full", told, "ERROR", bdb_uid, details={"shards": full})]


@dataclass
class Rises:
    """Of which shards a count of errors rose lately."""

    _counts: dict[int, tuple[float, float]] = field(default_factory=dict)
    _rose: dict[int, float] = field(default_factory=dict)

    def note(self, uid: int, started_at: float, count: float, now: float) -> None:
        """The count of a process, which begins anew when another is started."""
        before = self._counts.get(uid)
        self._counts[uid] = (started_at, count)
        if before is not None and before[0] == started_at and count > before[1]:
            self._rose[uid] = now

    def are_recent(self, uid: int, now: float) -> bool:
        """Whether it rose in the last seconds, `RECENT`."""
        return now - self._rose.get(uid, -1e9) < RECENT


@dataclass
class Board:
    """Alarms that are raised, and conditions on their way to become one."""

    raised: dict[Key, Alarm] = field(default_factory=dict)
    _since: dict[Key, float] = field(default_factory=dict)
    _until: dict[Key, float] = field(default_factory=dict)
    """Since when the condition of an alarm that is raised holds no more."""

    def update(self, now: float, found: Iterable[Alarm]) -> tuple[list[Alarm], list[Alarm], list[Key]]:
        """What is to be raised, what reads differently than it did, and what is over."""
        holds = {alarm.key: alarm for alarm in found}
        self._until = {key: self._until.get(key, now) for key in self.raised if key not in holds}
        over = [key for key, since in self._until.items() if now - since >= LINGER.get(key[0], 0.0)]
        for key in over:
            del self.raised[key]
        self._since = {key: self._since.get(key, now) for key in holds}
        fresh, changed = [], []
        for key, alarm in holds.items():
            if key in self.raised:
                if (alarm.description, alarm.details) != (self.raised[key].description, self.raised[key].details):
                    changed.append(alarm)
            elif now - self._since[key] >= WAIT.get(alarm.type, 0.0):
                fresh.append(alarm)
        self.raised |= {alarm.key: alarm for alarm in (*fresh, *changed)}
        return fresh, changed, over
