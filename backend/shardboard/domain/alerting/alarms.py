"""Conditions of databases, shards and nodes that raise alarms and that the engine does not report itself.

`Alarm.key` identifies a condition. `AlarmTracker` turns conditions into alarms that are raised once and ended once. Some conditions
must last for a while before their alarm is raised.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardboard.domain.alerting import advisories
from shardboard.domain.databases.shard_status import RESPONDING, ShardStatus
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.placement.zones import NO_ZONES, Zones, is_violation
from shardboard.domain.text import plural

AlarmKey = tuple[str, int | None, int | None, int | None]

RAISE_DELAY = {
    "alarm_slots_uncovered": 0.0,
    "alarm_shards_refuse": 3.0,
    "alarm_two_primaries": 3.0,
    "alarm_replication_lag": 3.0,
    "alarm_shard_connections": 2.0,
    "alarm_no_replica": 3.0,
    "alarm_clock": 3.0,
    "alarm_bdb_high_throughput": 5.0,
    "alarm_bdb_low_throughput": 5.0,
    "alarm_bdb_high_latency": 5.0,
    "alarm_node_cpu_utilization": 5.0,
    "alarm_node_net_throughput": 5.0,
}
"""Seconds that a condition must last before its alarm is raised; 0 for types that are not listed."""
CLEAR_DELAY = {
    **dict.fromkeys(("alarm_bdb_high_throughput", "alarm_bdb_low_throughput", "alarm_bdb_high_latency"), 10.0),
    **dict.fromkeys(("alarm_bdb_size", "alarm_node_memory", "alarm_node_cpu_utilization"), 10.0),
    **dict.fromkeys(("alarm_samples_late", "alarm_shard_connections"), 10.0),
    "alarm_agent_cut_off": 60.0,
    **dict.fromkeys(("alarm_node_net_throughput", "alarm_node_persistent_storage", "alarm_node_free_flash"), 10.0),
}
"""Seconds that a condition must be over before its alarm ends; 0 for types that are not listed. Values fluctuate around a
threshold, and a second without data does not end a condition."""
STORAGE_LEFT = 0.05
"""Share of a node's storage."""
KEY_LOSS_RATIO = 0.1
"""A primary that has less than this share of its keys after a restart has lost its data."""
RECOVERED = 0.5
CONNECTIONS_SHARE = 0.8
"""Share of the connections of a shard above which an alarm is raised."""
RECENT = 15.0
"""Seconds without another error after which the alarm ends."""
FEW_KEYS = 100
"""A data set with fewer keys than this is too small to detect a loss by counting."""
LATE_PERCENT = (10, 25, 50, 75)
"""Thresholds at which the share of late or incomplete samples is reported; a smaller share raises no alarm."""
BUSY_PERCENT = 85
CLOCK_SECONDS = 2.0
"""Seconds by which a node's clock may be ahead. A clock that seems to be behind can be caused by late samples."""


@dataclass(frozen=True)
class Alarm:
    """A condition that currently holds."""

    type: str
    description: str
    """A past-tense sentence."""
    severity: str = "WARNING"
    bdb_uid: int | None = None
    node_uid: int | None = None
    shard_uid: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> AlarmKey:
        return (self.type, self.bdb_uid, self.node_uid, self.shard_uid)

    @property
    def source(self) -> str:
        if self.shard_uid is not None:
            return "shard"
        if self.bdb_uid is not None:
            return "bdb"
        return "node" if self.node_uid is not None else "cluster"


@dataclass(frozen=True)
class MonitoredShard:
    """The current state of one shard."""

    uid: int
    node_uid: int
    pair: int
    role: str
    status: str
    in_sync: bool
    slots: int
    rejects_requests: bool = False
    """True for a primary that is up and rejects requests because its cluster state is not ok."""
    is_new: bool = False
    """True for a shard that a running action adds. The action waits for it, and fails if it does not serve."""


def database_alarms(
    uid: int,
    name: str,
    *,
    replicated: bool,
    sharded: bool,
    shard_statuses: Iterable[MonitoredShard],
    zones: Mapping[int, Zones] | None = None,
) -> list[Alarm]:
    """Return the alarms of a database: pairs without a primary, with a primary that rejects requests, with two primaries, without
    a replica, or with both copies on one node. `zones` are the zones of the nodes if the database is rack-aware.

    Pairs without slots serve no requests: an operation has just started their shards, or is about to remove them. A new primary can
    get slots before its state and its replica are observed again, so new shards raise an alarm only if they are down.
    """
    pairs: dict[int, list[MonitoredShard]] = defaultdict(list)
    for part in shard_statuses:
        pairs[part.pair].append(part)
    alarms = []
    serving = {pair: members for pair, members in pairs.items() if any(part.slots for part in members)}
    lost_pairs = [pair for pair, members in serving.items() if not any(_is_primary(part) for part in members)]
    if lost_pairs:
        slots = sum(max(part.slots for part in pairs[pair]) for pair in lost_pairs)
        subject = f"{slots:,} of 16,384 hash slots of {name} were" if sharded else f"{name} was"
        details = {"pairs": sorted(lost_pairs), "slots": slots}
        alarms.append(
            Alarm("alarm_slots_uncovered", f"{subject} not served: no primary was up.", "ERROR", uid, details=details)
        )
    rejecting = sorted(
        part.uid
        for members in serving.values()
        for part in members
        if _is_primary(part) and part.rejects_requests and not part.is_new
    )
    if rejecting:
        shards = ", ".join(f"redis:{part}" for part in rejecting)
        description = (
            f"Primaries of {name} were up but rejected requests because their cluster state was not ok: {shards}."
        )
        alarms.append(Alarm("alarm_shards_refuse", description, "ERROR", uid, details={"shards": rejecting}))
    for members in pairs.values():
        alarms += _pair_alarms(uid, name, members)
    if zones is not None:
        alarms += _zone_alarms(uid, name, pairs, zones)
    without_replica = sorted(
        pair for pair, members in serving.items() if not any(_is_replica(part) or part.is_new for part in members)
    )
    if replicated and without_replica:
        description = f"{len(without_replica)} of {len(serving)} primaries of {name} had no running replica."
        alarms.append(Alarm("alarm_no_replica", description, bdb_uid=uid, details={"pairs": without_replica}))
    return alarms


def receiver_alarms(names: Sequence[str]) -> list[Alarm]:
    """Return the alarm about receivers of notifications that fail repeatedly. Names are sorted, and addresses are secret."""
    if not names:
        return []
    description = f"Notifications could not be delivered to {', '.join(names)}."
    return [Alarm("alarm_receiver_failed", description, details={"receivers": list(names)})]


def _zone_alarms(
    bdb_uid: int, name: str, pairs: Mapping[int, Sequence[MonitoredShard]], zones: Mapping[int, Zones]
) -> list[Alarm]:
    """Return the alarm about pairs of a rack-aware database that the loss of one zone, or of nodes without a zone, can take."""
    violating = {
        pair: members
        for pair, members in sorted(pairs.items())
        if is_violation([zones.get(part.node_uid, NO_ZONES) for part in members])
    }
    if not violating:
        return []
    node_uids = {part.node_uid for members in violating.values() for part in members}
    without_zone = sorted(uid for uid in node_uids if not zones.get(uid))
    reason = f" These nodes had no zone: {', '.join(map(str, without_zone))}." if without_zone else ""
    description = (
        f"{name} is rack-aware, but {len(violating)} of {plural(len(pairs), 'replication pair')} had no copies in different "
        f"zones.{reason}"
    )
    details = {"pairs": list(violating), "nodes": sorted(node_uids)}
    return [Alarm("alarm_rack_aware_violation", description, bdb_uid=bdb_uid, details=details)]


def _pair_alarms(bdb_uid: int, name: str, members: Sequence[MonitoredShard]) -> list[Alarm]:
    alarms = []
    primary_rows = [part for part in members if part.role == ShardRole.PRIMARY and part.status in RESPONDING]
    if len(primary_rows) > 1:
        shards = " and ".join(f"redis:{part.uid} on node {part.node_uid}" for part in primary_rows)
        description = f"Two shards of {name} acted as primary of the same slots: {shards}."
        details = {"pair": members[0].pair, "shards": [part.uid for part in primary_rows]}
        alarms.append(
            Alarm("alarm_two_primaries", description, "ERROR", bdb_uid, shard_uid=primary_rows[0].uid, details=details)
        )
    for index, part in enumerate(members):
        for other in members[:index]:
            if other.node_uid == part.node_uid:
                description = (
                    f"redis:{other.uid} and redis:{part.uid} of {name}, copies of the same data, were both on node "
                    f"{part.node_uid}."
                )
                details = {"pair": part.pair, "shards": [other.uid, part.uid]}
                alarms.append(
                    Alarm("alarm_pair_on_one_node", description, "WARNING", bdb_uid, part.node_uid, part.uid, details)
                )
    return alarms


def _is_primary(shard_status: MonitoredShard) -> bool:
    return shard_status.role == ShardRole.PRIMARY and shard_status.status != ShardStatus.DOWN


def _is_replica(shard_status: MonitoredShard) -> bool:
    return shard_status.role == ShardRole.REPLICA and shard_status.status != ShardStatus.DOWN


def replication_lag_alarms(
    bdb_uid: int, name: str, shard_status: MonitoredShard, lag: float | None, max_lag: int
) -> list[Alarm]:
    """Return the alarm of a replica that is more than `most` bytes behind its primary."""
    if shard_status.role != ShardRole.REPLICA or lag is None or lag <= max_lag:
        return []
    replica = f"redis:{shard_status.uid} of {name} on node {shard_status.node_uid}"
    description = f"Replica {replica} was more than {max_lag:,} bytes behind its primary."
    details = {"threshold": max_lag}
    return [
        Alarm(
            "alarm_replication_lag", description, "WARNING", bdb_uid, shard_status.node_uid, shard_status.uid, details
        )
    ]


@dataclass(frozen=True)
class KeyCount:
    """Number of keys of a primary, and the start time of its process."""

    started_at: float
    count: float


def lost_most_keys(before: KeyCount | None, now: KeyCount) -> bool:
    """Return whether a new process has only a small share of the keys that the previous process had."""
    return (
        before is not None
        and now.started_at != before.started_at
        and before.count >= FEW_KEYS
        and now.count < KEY_LOSS_RATIO * before.count
    )


def key_loss_alarms(bdb_uid: int, name: str, shard_status: MonitoredShard, before: float, now: KeyCount) -> list[Alarm]:
    """Return the alarm about lost keys until the primary has its keys again."""
    if shard_status.role != ShardRole.PRIMARY or now.count >= RECOVERED * before:
        return []
    primary = f"Primary redis:{shard_status.uid} of {name}"
    description = f"{primary} had {before:,.0f} keys and lost most of them when its process restarted."
    details = {"keys_before": before, "started_at": now.started_at}
    return [
        Alarm("alarm_keys_collapsed", description, "ERROR", bdb_uid, shard_status.node_uid, shard_status.uid, details)
    ]


def node_alarms(uid: int, *, ahead: float, stalls: int, max_stalls: int, storage_left: float | None) -> list[Alarm]:
    """Return the alarms of a node: wrong clock, repeated stalls, nearly full disk (`storage_left` is the free share)."""
    alarms = []
    if ahead > CLOCK_SECONDS:
        description = (
            f"The clock of node {uid} was ahead of the console's clock. Charts omit its samples until this is fixed."
        )
        alarms.append(Alarm("alarm_clock", description, "WARNING", node_uid=uid, details={"seconds": round(ahead)}))
    if stalls >= max_stalls:
        description = f"Node {uid} was down {stalls} times within 10 minutes and resumed each time without a restart."
        alarms.append(Alarm("alarm_node_flapping", description, "WARNING", node_uid=uid, details={"outages": stalls}))
    if storage_left is not None and storage_left < STORAGE_LEFT:
        description = f"Less than {STORAGE_LEFT:.0%} of the storage of node {uid} was free: shards could neither start nor persist."
        alarms.append(Alarm("alarm_storage_full", description, "ERROR", node_uid=uid))
    return alarms


def samples_late(uid: int, share: float, latest: Mapping[str, float | None]) -> list[Alarm]:
    """Return the alarm for a node whose samples were late or incomplete in a `share` of the last minute. `latest` is the newest
    row of NODE_METRICS."""
    percent = max((step for step in LATE_PERCENT if 100 * share > step), default=None)
    if percent is None:
        return []
    idle, iowait = latest.get("cpu_idle"), latest.get("cpu_iowait") or 0.0
    is_busy = None if idle is None else 100 * (1 - idle - iowait) >= BUSY_PERCENT
    description = (
        f"More than {percent}% of the samples of node {uid} were late or incomplete within 1 minute; charts have gaps."
    )
    if is_busy:
        description += " The CPU of the node was busy."
    return [Alarm("alarm_samples_late", description, node_uid=uid, details={"percent": percent, "cpu_busy": is_busy})]


def cut_off_agent(uid: int, reason: str) -> list[Alarm]:
    """Return the alarm for a node whose agent is cut off; `reason` is a clause, empty if it is not."""
    if not reason:
        return []
    description = f"The console cut off the agent of node {uid}, because {reason}. Its shards were not monitored."
    return [Alarm("alarm_agent_cut_off", description, "ERROR", node_uid=uid, details={"reason": reason})]


def engine_alarms(uid: int, version: str) -> list[Alarm]:
    """Return the alarm of a node whose engine version has published vulnerabilities."""
    affecting = advisories.affecting_version(version)
    if not affecting:
        return []
    vulnerabilities = "; ".join(f"{advisory.impact} ({', '.join(advisory.names)})" for advisory in affecting)
    description = (
        f"Valkey {version} of node {uid} has published vulnerabilities, unless its distribution fixed them without changing "
        f"the version number: {vulnerabilities}."
    )
    details = {"engine_version": version, "advisories": [name for advisory in affecting for name in advisory.names]}
    return [Alarm("alarm_engine_advisories", description, "WARNING", node_uid=uid, details=details)]


def memory_full(
    bdb_uid: int, name: str, shard_statuses: Iterable[MonitoredShard], refusals: "RecentErrors", now: float
) -> list[Alarm]:
    """Return one alarm for a database whose primaries recently refused writes."""
    full = sorted(
        part.uid for part in shard_statuses if part.role == ShardRole.PRIMARY and refusals.are_recent(part.uid, now)
    )
    if not full:
        return []
    description = f"{name} rejected writes: the memory of {_listed(full)} was full."
    return [Alarm("alarm_memory_full", description, "ERROR", bdb_uid, details={"shards": full})]


def are_connections_scarce(raw: Mapping[str, float | None]) -> bool:
    """Return whether most connections of a shard are in use. `raw` contains the values of its sample by name."""
    clients, limit = raw["clients"], raw["connection_limit"]
    return clients is not None and limit is not None and clients > CONNECTIONS_SHARE * limit


def shard_connections(bdb_uid: int, name: str, scarce: Collection[int], refusing: Collection[int]) -> list[Alarm]:
    """Return one alarm for a database with shards whose connections are scarce, or that recently refused connections."""
    texts = []
    if scarce:
        texts.append(
            f"More than {CONNECTIONS_SHARE:.0%} of the connections of shards of {name} were in use: {_listed(scarce)}."
        )
    if refusing:
        texts.append(f"Shards of {name} refused connections because too many were open: {_listed(refusing)}.")
    if not texts:
        return []
    severity = "ERROR" if refusing else "WARNING"
    details = {"shards": sorted({*scarce, *refusing}), "refused": sorted(refusing)}
    return [Alarm("alarm_shard_connections", " ".join(texts), severity, bdb_uid, details=details)]


def _listed(uids: Iterable[int]) -> str:
    return ", ".join(f"redis:{uid}" for uid in sorted(uids))


@dataclass
class RecentErrors:
    """Shards whose error count rose recently."""

    _counts: dict[int, tuple[float, float]] = field(default_factory=dict)
    _rose: dict[int, float] = field(default_factory=dict)

    def record(self, uid: int, started_at: float, count: float, now: float) -> None:
        """Record the error count of a process. The count starts at zero again when the process is restarted."""
        previous = self._counts.get(uid)
        self._counts[uid] = (started_at, count)
        if previous is not None and previous[0] == started_at and count > previous[1]:
            self._rose[uid] = now

    def are_recent(self, uid: int, now: float) -> bool:
        """Return whether the count rose within the last `RECENT` seconds."""
        return now - self._rose.get(uid, -1e9) < RECENT


@dataclass
class AlarmTracker:
    """Alarms that are raised, and conditions that have not lasted long enough to raise one."""

    raised: dict[AlarmKey, Alarm] = field(default_factory=dict)
    _since: dict[AlarmKey, float] = field(default_factory=dict)
    _until: dict[AlarmKey, float] = field(default_factory=dict)
    """When the condition of a raised alarm ceased to hold, by key."""

    def update(self, now: float, found: Iterable[Alarm]) -> tuple[list[Alarm], list[Alarm], list[AlarmKey]]:
        """Return the alarms to raise, the raised alarms whose description or details changed, and the keys of ended alarms."""
        alarms_by_key = {alarm.key: alarm for alarm in found}
        self._until = {key: self._until.get(key, now) for key in self.raised if key not in alarms_by_key}
        cleared = [key for key, since in self._until.items() if now - since >= CLEAR_DELAY.get(key[0], 0.0)]
        for key in cleared:
            del self.raised[key]
        self._since = {key: self._since.get(key, now) for key in alarms_by_key}
        new_alarms, changed = [], []
        for key, alarm in alarms_by_key.items():
            if key in self.raised:
                if (alarm.description, alarm.details) != (self.raised[key].description, self.raised[key].details):
                    changed.append(alarm)
            elif now - self._since[key] >= RAISE_DELAY.get(alarm.type, 0.0):
                new_alarms.append(alarm)
        self.raised |= {alarm.key: alarm for alarm in (*new_alarms, *changed)}
        return new_alarms, changed, cleared
