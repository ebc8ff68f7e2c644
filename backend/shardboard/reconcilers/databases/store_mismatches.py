"""Detection of databases whose stored shards differ from those that agents and engines report.

The store is older than the database after it was restored from a backup, and a node can have lost its files. A shard that a
reachable agent does not have is recorded as down, an alarm is open until the database is repaired (`repair.py`), and no shard is
started, stopped or changed.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import RESPONDING, ShardLink, ShardStatus
from shardboard.domain.databases.store_mismatch import (
    ALL_SLOTS,
    Member,
    StoreMismatch,
    describe,
    differing_slots,
    plan_repair,
)
from shardboard.domain.placement import slots
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.placement.slots import Ranges
from shardboard.driver import database_members, slot_map
from shardboard.driver.interfaces import Agents, NodeRef, ShardReport
from shardboard.driver.slot_map import SlotMap
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.errors import AgentError
from shardboard.reconcilers.load_database import node_ref, shard_ref
from shardboard.state.alerting import events
from shardboard.state.alerting.events import STORE_MISMATCH, Event, record
from shardboard.state.cluster import actions, nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import ReadShard, Shard
from shardboard.store.db import Store

log = logging.getLogger(__name__)

Reports = Mapping[int, Sequence[ShardReport]]
"""Shards that the agents of reachable nodes have, by node."""


@dataclass(frozen=True)
class StoredDatabase:
    """A database and its shards, from the store."""

    uid: int
    name: str
    cluster: bool
    password: str
    rows: Sequence[ReadShard]
    references: Mapping[int, ShardRef]
    """By uid of the shard."""
    responding: frozenset[int]
    """Uids of the shards that respond according to the store."""
    machines: Mapping[int, NodeRef]
    unknown: Collection[str]
    """Engine ids that the store never contained."""
    taken: Collection[int]
    """Reported uids that shards of the store have."""
    involved: Collection[int]
    """Nodes of the differences that are already stored."""


class StoreMismatches:
    """Compares idle databases with the reports of agents: running actions change shards before or after their rows."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self._round = 0

    async def compare(self, reports: Reports, since: datetime) -> None:
        """Compare all idle databases with reports that were requested after `since`."""
        self._round += 1
        async with self._store.read() as session:
            busy = {each.object_uid for each in await actions.list_unfinished(session) if each.object_type == "bdb"}
            idle = [
                bdb for bdb in await bdbs.list_all(session) if bdb.status == BdbStatus.ACTIVE and bdb.uid not in busy
            ]
            everyone = await nodes.list_stored(session)
            machines = {node.uid: node_ref(node) for node in everyone}
            silent = {node.uid for node in everyone if node.uid not in reports and node.health != NodeHealth.DOWN}
            databases = [await load(session, bdb, machines, reports) for bdb in idle]
            deleted = await _alarms_of_deleted(session)
        if deleted:
            async with self._store.begin() as session:
                for span in await _alarms_of_deleted(session):
                    span.end()
        for database in databases:
            try:
                found = await examine(self._agents, database, reports, self._round)
            except AgentError as error:
                log.info("mismatches: comparing database %s failed: %s", database.uid, error.reason)
                continue
            if not silent.isdisjoint(database.involved):
                continue  # what was found there is still the newest information
            await self._save(database, _without_replaceable(database, found) if silent else found, since)

    async def _save(self, database: StoredDatabase, found: StoreMismatch, since: datetime) -> None:
        async with self._store.read() as session:
            bdb = await bdbs.by_uid(session, database.uid)
            if bdb is None or (bdb.mismatch == found and not await _unrecorded(session, database, found)):
                return
        async with self._store.begin() as session:
            bdb = await session.get(Bdb, database.uid, with_for_update=True)
            rows = await shards.list_for_bdb(session, database.uid)
            # An action that has run in the meantime has created, started or removed shards.
            changed = {row.uid for row in rows} != set(database.references) or any(
                row.uid in found.missing and row.observed_at is not None and row.observed_at > since for row in rows
            )
            if bdb is None or changed or bdb.status != BdbStatus.ACTIVE:
                return
            if await actions.list_open_for_bdb(session, bdb.uid):
                return
            _record_missing(session, bdb, [row for row in rows if row.uid in found.missing])
            await record_mismatch(session, bdb, found)


def _without_replaceable(database: StoredDatabase, found: StoreMismatch) -> StoreMismatch:
    """Leave out missing shards of pairs with another copy: a node whose agent does not respond may run their successors, and a
    replica must not be promoted beside them.
    """
    present = {row.pair for row in database.rows if row.uid not in found.missing}
    lost = {row.uid for row in database.rows if row.pair not in present}
    return replace(found, missing=tuple(uid for uid in found.missing if uid in lost))


async def load(session: AsyncSession, bdb: Bdb, machines: Mapping[int, NodeRef], reports: Reports) -> StoredDatabase:
    rows = await shards.list_conditions(session, bdb_uid=bdb.uid)
    reported = [each for held in reports.values() for each in held if each.bdb_uid == bdb.uid]
    return StoredDatabase(
        uid=bdb.uid,
        name=bdb.name,
        cluster=bdb.sharding,
        password=bdb.admin_password,
        rows=rows,
        references={row.uid: shard_ref(row, machines[row.node_uid]) for row in rows},
        responding=frozenset(row.uid for row in rows if row.observed_status in RESPONDING),
        machines=machines,
        unknown=await shards.unknown_engine_ids(session, {each.engine_id for each in reported}),
        taken=await shards.existing_uids(session, {each.uid for each in reported}),
        involved={row.node_uid for row in rows if row.uid in bdb.mismatch.missing}
        | {each.node_uid for each in bdb.mismatch.members},
    )


async def examine(
    agents: Agents, database: StoredDatabase, reports: Reports, polled: int | None = None
) -> StoreMismatch:
    """Return the differences. With `polled`, an unsuspicious database is checked at only one shard, in rotation."""
    held = {node: {each.engine_id for each in there} for node, there in reports.items()}
    missing = tuple(
        row.uid for row in database.rows if row.node_uid in held and row.engine_id not in held[row.node_uid]
    )
    strangers = [
        (node, each)
        for node, there in sorted(reports.items())
        for each in there
        if each.bdb_uid == database.uid and each.engine_id in database.unknown
    ]
    living = [
        each
        for uid, each in database.references.items()
        if uid in database.responding and uid not in missing and each.node.uid in reports
    ]
    members, unresolved, followed = await _members(agents, database, strangers, living)
    found = StoreMismatch(missing, members, unresolved, followed=followed)
    if not database.cluster or not living:
        return found
    chosen = living if found or polled is None else [living[polled % len(living)]]
    held_slots, unowned = await _slots(agents, database, chosen, living, members)
    return StoreMismatch(missing, members, unresolved, held_slots, unowned, followed)


async def _members(
    agents: Agents, database: StoredDatabase, strangers: Sequence[tuple[int, ShardReport]], living: Sequence[ShardRef]
) -> tuple[tuple[Member, ...], tuple[tuple[int, int], ...], dict[int, str]]:
    """Return the shards without a row that belong to the database, those that could not be examined, and the stored replicas of
    members.
    """
    references = [_reference(database, node, each) for node, each in strangers if each.state == "running"]
    candidates = [each for each in references if each is not None and each.uid not in database.taken]
    proven, silent = await database_members.prove(agents, candidates, database.password)
    roles = await database_members.read_roles(agents, proven, living, cluster=database.cluster)
    members = tuple(
        Member(
            each.uid, each.node.uid, each.engine_id, each.port, each.bus_port, role, roles.replicas.get(each.engine_id, ""),
            roles.primaries.get(each.engine_id, ""),
        )
        for each in proven
        if (role := database_members.as_role(roles, each.engine_id)) is not None
    )  # fmt: skip
    settled = {each.engine_id for each in members} | {each.engine_id for each in candidates} - {
        each.engine_id for each in (*proven, *silent)
    }
    unresolved = tuple((node, each.uid) for node, each in strangers if each.engine_id not in settled)
    heads = {each.engine_id for each in members if each.role == ShardRole.PRIMARY}
    followed = {
        row.uid: roles.replicas[row.engine_id]
        for row in database.rows
        if roles.replicas.get(row.engine_id) in heads and row.uid in database.responding
    }
    return members, unresolved, followed


def _reference(database: StoredDatabase, node: int, report: ShardReport) -> ShardRef | None:
    """Return the location of a reported shard; None if the release of its agent does not report its ports."""
    if report.port is None or report.bus_port is None:
        return None
    found = () if database.cluster else ALL_SLOTS
    return ShardRef(
        report.uid, database.machines[node], 0, ShardRole.REPLICA, found, report.port, report.bus_port, report.engine_id
    )


async def _slots(
    agents: Agents,
    database: StoredDatabase,
    chosen: Sequence[ShardRef],
    living: Sequence[ShardRef],
    members: Sequence[Member],
) -> tuple[dict[int, str], str]:
    """Return the slots of all pairs if they differ from the store, and the slots without an owner. A difference is confirmed by
    all living shards, because one of them can be behind.
    """
    before = {row.pair: row.slots for row in database.rows}
    everyone = list(database.references.values())
    seen = await slot_map.read_slot_map(agents, everyone, chosen)
    if (found := differing_slots(before, seen.slots_by_pair)) and chosen is not living:
        seen = await slot_map.read_slot_map(agents, everyone, living)
        found = differing_slots(before, seen.slots_by_pair)
    if seen.open:  # slots are being moved
        return {}, ""
    return found, slots.render(_unowned(seen, members))


def _unowned(seen: SlotMap, members: Sequence[Member]) -> Ranges:
    return slots.subtract(slots.gather(seen.lost), slots.joined(*(slots.parse(each.slots) for each in members)))


async def _unrecorded(session: AsyncSession, database: StoredDatabase, found: StoreMismatch) -> bool:
    """Return whether a missing shard has not been recorded as down."""
    rows = await shards.list_for_bdb(session, database.uid)
    return any(row.uid in found.missing and row.observed_status != ShardStatus.DOWN for row in rows)


def _record_missing(session: AsyncSession, bdb: Bdb, rows: Sequence[Shard]) -> None:
    now = datetime.now(UTC)
    for row in rows:
        detail = f"the agent of node {row.node_uid} does not have it"
        if row.observed_status != ShardStatus.DOWN:
            kind = "primary" if row.current_role == ShardRole.PRIMARY else "replica"
            record(
                session,
                "shard_down",
                f"Shard redis:{row.uid} of {bdb.name} on node {row.node_uid} ({kind}) was missing: {detail}.",
                source="shard",
                severity="ERROR",
                bdb_uid=bdb.uid,
                node_uid=row.node_uid,
                shard_uid=row.uid,
                details={"role": row.current_role, "slots": row.slots},
            )
        row.observed_status, row.observed_pid, row.observed_at = ShardStatus.DOWN, None, now
        row.observed_link = ShardLink.NONE
        row.detail = detail


async def record_mismatch(session: AsyncSession, bdb: Bdb, found: StoreMismatch) -> None:
    """Store the differences, and open or close the alarm of the database. Missing replicas are recovered without an alarm."""
    bdb.store_mismatch = found.stored()
    span = next(
        (each for each in await events.list_open_spans(session, STORE_MISMATCH) if each.bdb_uid == bdb.uid), None
    )
    rows = await shards.list_for_bdb(session, bdb.uid)
    repair = plan_repair(rows, found, bdb.copies)
    if not repair.is_needed and not found.unresolved:
        if span is not None:
            span.end()
        return
    message = f"Database {bdb.name} differed from the store. {describe(rows, found)} Repair the database."
    details = {
        "open": True,
        "missing": [*found.missing],
        "unknown": sorted([*(each.uid for each in found.members), *(uid for _, uid in found.unresolved)]),
        "empty": [*repair.empty],
    }
    if span is not None:
        span.description, span.details = message, details
        return
    log.warning("%s", message)
    severity = "ERROR" if repair.empty else "WARNING"
    record(session, STORE_MISMATCH, message, source="bdb", severity=severity, bdb_uid=bdb.uid, details=details)


async def _alarms_of_deleted(session: AsyncSession) -> list[Event]:
    """Return open alarms about databases that no longer exist."""
    spans = await events.list_open_spans(session, STORE_MISMATCH)
    present = {bdb.uid for bdb in await bdbs.list_all(session)} if spans else set()
    return [span for span in spans if span.bdb_uid not in present]
