"""Detection of unexpected configuration epochs, with an alarm (`domain.epochs`)."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.failures.epochs import EpochIncrease, EpochMonitor, EpochSnapshot
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.interfaces import Agents, CommandResult
from shardboard.driver.valkey_cluster import ShardRef, command
from shardboard.reconcilers.load_database import node_ref, shard_ref
from shardboard.reconcilers.persistent_alarms import PersistentAlarms
from shardboard.state.alerting import events
from shardboard.state.alerting.events import UNEXPECTED_EPOCH, UNKNOWN_NODE, Event, record
from shardboard.state.cluster import actions, nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import ReadShard
from shardboard.store.db import Store
from shardboard.valkey.replies import info_fields, info_number

log = logging.getLogger(__name__)

POLL_SECONDS = 10.0
TIMEOUT_SECONDS = 5.0
"""Seconds within which a node must reply."""
SETTLE_TIME = timedelta(seconds=30)
"""After the end of an action, engines may need this long to agree on epochs."""
OPEN_SECONDS = 90.0
"""Seconds after the last rise until the alarm closes."""
OVERLAP = timedelta(minutes=1)
"""An event can become visible later than its timestamp, when its transaction commits."""
MAX_INCREASES = 20
"""Maximum number of increases in an alarm; the newest are kept."""


@dataclass(frozen=True)
class EpochDatabase:
    """A database in cluster mode, from the store."""

    uid: int
    name: str
    encrypted: bool
    is_quiet: bool
    """No recent action or loss, and no recovery in progress."""
    primaries: dict[ShardRef, str]
    """Identity of each primary's process."""
    takeovers: Mapping[int, tuple[int, int]]
    """Takeovers of the last minute that were neither requested nor explained, by uid of the event: (uid of the replica, uid of the
    primary).
    """


class EpochLoop:
    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self._watches: dict[int, EpochMonitor] = defaultdict(EpochMonitor)
        self._has_polled = False
        self._reported: set[int] = set()
        """Uids of takeover events that were reported, or that existed before this console's first poll."""
        self._alarms = PersistentAlarms(store, UNEXPECTED_EPOCH, lambda span: span.bdb_uid or 0, OPEN_SECONDS)

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self.sweep()
            await asyncio.sleep(POLL_SECONDS)

    async def sweep(self) -> None:
        """Poll all databases once."""
        now = datetime.now(UTC)
        async with self._store.read() as session:
            databases = await _databases(session, now)
        known_uids = {uid for each in databases for uid in each.takeovers}
        self._reported = self._reported & known_uids if self._has_polled else known_uids
        self._has_polled = True
        for uid in self._watches.keys() - {each.uid for each in databases}:
            del self._watches[uid]
        # One request for each node, with the primaries of all databases.
        primaries = [each for database in databases if database.is_quiet for each in database.primaries]
        replies = await command(self._agents, primaries, "CLUSTER", "INFO", timeout=TIMEOUT_SECONDS)
        await asyncio.gather(*(self._poll(each, replies) for each in databases))
        await self._alarms.close_expired()

    async def _poll(self, database: EpochDatabase, replies: Mapping[int, CommandResult]) -> None:
        monitor = self._watches[database.uid]
        increases: list[EpochIncrease] = []
        if not database.is_quiet:
            monitor.reset()
        elif (snapshot := _snapshot(database, replies)) is None:
            monitor.reset()  # a primary without a reply may be lost
        else:
            increases = monitor.observe(snapshot)
        takeovers = {uid: each for uid, each in database.takeovers.items() if uid not in self._reported}
        if increases or takeovers:
            await self._raise_alarm(database, increases, list(takeovers.values()))
            self._reported |= takeovers.keys()

    async def _raise_alarm(
        self, database: EpochDatabase, increases: Sequence[EpochIncrease], new: Sequence[tuple[int, int]]
    ) -> None:
        self._alarms.record_occurrence(database.uid)
        async with self._store.begin() as session:
            span = (await self._alarms.open(session)).get(database.uid)
            previous = span.details if span is not None else {"increases": [], "takeovers": []}
            all_increases = [*(EpochIncrease(**each) for each in previous["increases"]), *increases][-MAX_INCREASES:]
            takeovers = [*(tuple(each) for each in previous["takeovers"]), *new][-MAX_INCREASES:]
            message = _message(database, all_increases, takeovers)
            details: dict[str, Any] = {
                "increases": [asdict(each) for each in all_increases],
                "takeovers": [list(each) for each in takeovers],
                "open": True,
            }
            log.warning("%s", message)
            if span is not None:
                span.description, span.details = message, details
                return
            record(
                session,
                UNEXPECTED_EPOCH,
                message,
                source="bdb",
                severity="ERROR",
                bdb_uid=database.uid,
                details=details,
            )


def _snapshot(database: EpochDatabase, replies: Mapping[int, CommandResult]) -> EpochSnapshot | None:
    """Return a snapshot; None unless all primaries reply and report a complete cluster."""
    infos = {each: info_fields(replies[each.uid].reply) for each in database.primaries if replies[each.uid].ok}
    if len(infos) < len(database.primaries) or any(each.get("cluster_state") != "ok" for each in infos.values()):
        return None
    return EpochSnapshot(
        {(each.uid, database.primaries[each]): info_number(info, "cluster_my_epoch") for each, info in infos.items()},
        max(info_number(info, "cluster_current_epoch") for info in infos.values()),
    )


async def _databases(session: AsyncSession, now: datetime) -> list[EpochDatabase]:
    node_refs = {node.uid: node_ref(node) for node in await nodes.list_stored(session)}
    recent_actions = await actions.list_active_since(session, now - SETTLE_TIME)
    busy = {each.object_uid for each in recent_actions if each.object_type == "bdb"}
    is_moving = any(each.object_type == "node" for each in recent_actions)
    # The slots of unexpected members are reclaimed with newer epochs.
    expelled = [each for each in await events.list_open_spans(session, UNKNOWN_NODE) if not each.details["kept_reason"]]
    bdbs_with_unknown_nodes = {span.bdb_uid for span in expelled}
    failovers = await events.list_overlapping(session, ("shard_failover",), now - OVERLAP, now, limit=1000)
    database_refs = []
    for bdb in await bdbs.list_all(session):
        if not bdb.sharding or bdb.status not in IN_SERVICE:
            continue
        rows = await shards.list_conditions(session, bdb_uid=bdb.uid)
        primary_rows = [row for row in rows if row.current_role == ShardRole.PRIMARY]
        is_whole = len(primary_rows) == bdb.shards_count and all(
            row.observed_status == ShardStatus.OK for row in primary_rows
        )
        is_stable = is_whole and not is_moving and bdb.uid not in busy | bdbs_with_unknown_nodes
        own_failovers = [each for each in failovers if each.bdb_uid == bdb.uid and _is_unexplained(each)]
        database_refs.append(
            EpochDatabase(
                bdb.uid,
                bdb.name,
                bdb.shard_certificates is not None,
                is_stable,
                {shard_ref(row, node_refs[row.node_uid]): _process(row) for row in primary_rows},
                {each.uid: (each.details["promoted"], each.details["lost"]) for each in own_failovers},
            )
        )
    return database_refs


def _process(row: ReadShard) -> str:
    return f"{row.observed_pid} {row.observed_started_at}"


def _is_unexplained(failover: Event) -> bool:
    """Return whether the engine held an election although nothing was wrong; see `reconcilers.elections`."""
    return failover.details.get("has_cause") is False


def _message(database: EpochDatabase, increases: Sequence[EpochIncrease], takeovers: Sequence[tuple[int, ...]]) -> str:
    changes = [
        *(
            f"redis:{promoted_uid} took over from redis:{lost_uid}, which was healthy"
            for promoted_uid, lost_uid in takeovers
        ),
        *(
            f"the epoch of redis:{each.shard_uid} increased from {each.before} to {each.after}"
            if each.shard_uid is not None
            else f"the newest epoch of the cluster is {each.after} (before: {each.before or 'unknown'})"
            for each in increases
        ),
    ]
    causes = (
        "a client with the database's admin password or private keys"
        if database.encrypted
        else "a client with the database's admin password, or with access to a shard's bus port, which is not encrypted"
    )
    if takeovers:  # the status is based on samples, and an election on the node timeout of the other primaries
        causes += ", or an overloaded machine on which the primary did not respond for several seconds"
    return f"Unexpected changes to {database.name}: {'; '.join(changes)}. The cause can be {causes}."
