"""Shards that an incident has lost: which of them were replaced by a promotion, and when each was in sync again."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from shardboard.domain.databases.shard_status import RESPONDING, ShardLink
from shardboard.domain.failures.incident_start import IncidentStart, LogEvent, ms
from shardboard.domain.placement.shard_role import ShardRole

PairKey = tuple[int, int]
"""Uid of the database, and number of the pair."""
IN_SYNC = frozenset({"replica_revived", "replica_in_sync"})


class ShardCondition(Protocol):
    """The last known state of a shard."""

    @property
    def bdb_uid(self) -> int: ...
    @property
    def pair(self) -> int: ...
    @property
    def current_role(self) -> str: ...
    @property
    def observed_status(self) -> str: ...
    @property
    def observed_link(self) -> str: ...


@dataclass(frozen=True)
class LostShard:
    uid: int
    pair: PairKey | None
    is_primary: bool


def pairs_out_of_sync(rows: Iterable[ShardCondition]) -> frozenset[PairKey]:
    """Return the pairs without a running primary, or with a replica that is not in sync."""
    shards_by_pair: dict[PairKey, list[ShardCondition]] = defaultdict(list)
    for row in rows:
        shards_by_pair[row.bdb_uid, row.pair].append(row)
    return frozenset(key for key, shards in shards_by_pair.items() if not _is_in_sync(shards))


def _is_in_sync(shards: Sequence[ShardCondition]) -> bool:
    primaries = [row for row in shards if row.current_role == ShardRole.PRIMARY]
    replicas = [row for row in shards if row.current_role != ShardRole.PRIMARY]
    is_served = any(row.observed_status in RESPONDING for row in primaries)
    return is_served and all(
        row.observed_status in RESPONDING and row.observed_link == ShardLink.IDLE for row in replicas
    )


def lost_shards(start: IncidentStart) -> list[LostShard]:
    """Return the lost shards; those of a node only if its event lists them, as in the current release."""
    details = start.event.details
    if start.shard_uid is not None:
        pair = details.get("pair")
        key = (start.event.bdb_uid, int(pair)) if start.event.bdb_uid is not None and pair is not None else None
        return [LostShard(start.shard_uid, key, is_primary=True)]
    return [
        LostShard(int(each["uid"]), (int(each["bdb_uid"]), int(each["pair"])), each["role"] == ShardRole.PRIMARY)
        for each in details.get("lost_shards", [])
    ]


def promotions(lost: Sequence[LostShard], failovers: Iterable[LogEvent]) -> list[LogEvent]:
    """Return the failover that replaced each lost primary, from failovers in the order of their time. Later failovers of the same
    pair have another cause."""
    primaries = {shard.uid for shard in lost if shard.is_primary}
    found: dict[tuple[int | None, object], LogEvent] = {}
    for event in failovers:
        if not primaries or event.details.get("lost") in primaries:
            found.setdefault((event.bdb_uid, event.details.get("pair")), event)
    return list(found.values())


def in_sync_times(
    lost: Sequence[LostShard], promoted: Sequence[LogEvent], events: Iterable[LogEvent]
) -> dict[int, int]:
    """Return when each lost shard was in sync again, by its uid. Shards for which this is unknown are missing."""
    since = {event.details.get("lost"): ms(event.time) for event in promoted}
    uids = {shard.uid for shard in lost}
    found: dict[int, int] = {}
    for event in events:
        uid, at = event.shard_uid, in_sync_at(event)
        if uid in uids and at is not None and at >= since.get(uid, 0):
            found[uid] = min(found.get(uid, at), at)
    return found


def in_sync_at(event: LogEvent) -> int | None:
    """Return when a shard was in sync according to this event; None if the event does not report this."""
    if event.type in IN_SYNC:
        return ms(event.time)
    is_complete = event.type == "resync" and event.ended_at is not None and event.details.get("outcome") != "lost"
    return ms(event.ended_at) if is_complete and event.ended_at is not None else None


def are_waiting(
    lost: Sequence[LostShard],
    promoted: Sequence[LogEvent],
    in_sync: Iterable[int],
    out_of_sync: Iterable[PairKey],
) -> bool:
    """Return whether a pair of the lost shards is still out of sync, and has not been in sync since the loss."""
    recovered = set(in_sync)
    pairs = {event.details.get("lost"): (event.bdb_uid, event.details.get("pair")) for event in promoted}
    waiting = {shard.pair or pairs.get(shard.uid) for shard in lost if shard.uid not in recovered}
    if not lost:  # an event of an earlier release
        waiting = set(pairs.values())
    return not waiting.isdisjoint(out_of_sync)
