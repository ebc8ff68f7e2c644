"""Repair of a database whose stored shards differ from those that agents and engines report (`store_mismatches.py`).

The store takes over the shards and slots that serve. Shards whose data is lost are started empty if the request allows it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.failure_parameters import RepairParameters
from shardboard.domain.cluster.actions import step_status
from shardboard.domain.databases import creation
from shardboard.domain.databases.shard_status import DesiredState
from shardboard.domain.databases.store_mismatch import Repair, StoreMismatch, describe_repair, plan_repair
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.text import plural
from shardboard.driver import replication, unknown_nodes, valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.reconcilers import load_database
from shardboard.reconcilers.databases import store_mismatches
from shardboard.reconcilers.databases.bdb_changes import failure_message
from shardboard.reconcilers.databases.store_mismatches import Reports
from shardboard.reconcilers.databases.unknown_shards import save_unknown
from shardboard.reconcilers.lease import leased_transaction
from shardboard.reconcilers.load_database import DesiredDatabase
from shardboard.reconcilers.loop import Outcome
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store

TAKE_OVER, START = "Update the store with the shards and slots that serve", "Start shards without data"


class RepairDatabase:
    """Examines the database again, writes what it finds to the store, and then starts the shards without data."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def step(self, action: Action) -> Outcome:
        parameters = RepairParameters.parse(action)
        if not parameters.is_taken_over:
            return await self._take_over(action, parameters)
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        chosen = [shard for shard in database.shards if shard.uid in parameters.empty]
        return await self._start(action, database, chosen) if chosen else Outcome(finished=True)

    async def _take_over(self, action: Action, parameters: RepairParameters) -> Outcome:
        async with self._store.read() as session:
            everyone = [node for node in await nodes.list_all(session) if node.is_available]
            references = [load_database.node_ref(node) for node in everyone]
        held = await asyncio.gather(*map(self._agents.shards, references))
        reports: Reports = {node.uid: each for node, each in zip(references, held, strict=True)}
        async with self._store.read() as session:
            bdb = await bdbs.by_uid(session, action.object_uid)
            if bdb is None:
                return Outcome(failed="The database no longer exists.")
            machines = {node.uid: load_database.node_ref(node) for node in await nodes.list_all(session)}
            database = await store_mismatches.load(session, bdb, machines, reports)
        found = await store_mismatches.examine(self._agents, database, reports)
        repair = plan_repair(database.rows, found, bdb.copies)
        if found.unresolved:
            return Outcome(failed="Some shards of the database do not respond. Repair the database again.")
        if repair.empty and (silent := machines.keys() - reports.keys()):
            return Outcome(unreachable=f"the agent of node {min(silent)} does not respond", retry_in=1.0)
        if not set(repair.empty) <= set(parameters.empty):
            return Outcome(
                failed="More shards are missing than when the repair was requested. Repair the database again."
            )
        async with leased_transaction(self._store, action) as session:
            if session is not None:
                bdb = await session.get_one(Bdb, action.object_uid)
                await _write(session, bdb, repair)
                for sentence in describe_repair(database.rows, repair):
                    record_for_action(session, action, "bdb_repair_step", f"{bdb.name}: {sentence}", severity="WARNING")
        taken = replace(parameters, empty=repair.empty, is_taken_over=True)
        return Outcome(parameters=taken, steps=_steps(bool(repair.empty), START), retry_in=0)

    async def _start(self, action: Action, database: DesiredDatabase, chosen: Sequence[ShardRef]) -> Outcome:
        cluster = database.engine.cluster
        seen = await valkey_cluster.read_conditions(self._agents, chosen, cluster=cluster)
        desired = [each for each in database.desired_shards if any(each.uid == shard.uid for shard in chosen)]
        step = creation.next_step(desired, seen)
        if step.failed or step.done:
            return Outcome(failed=step.failed, finished=step.done)
        if step.start:
            starting = [shard for shard in chosen if shard.uid in {uid for uids in step.start.values() for uid in uids}]
            if refused := await self._start_shards(database, chosen, starting):
                return Outcome(failed=failure_message(refused))
        if step.promote:
            await valkey_cluster.promote_initial_primaries(
                self._agents, [shard for shard in chosen if shard.uid in step.promote]
            )
        hosts = _hosts(database, chosen)
        if cluster and hosts:
            await self._join(hosts, [shard for shard in chosen if shard.uid in seen])
        return Outcome(
            progress=step.progress, steps=_steps(True, START, f"waiting for {step.waiting_for}"), retry_in=0.1
        )

    async def _start_shards(
        self, database: DesiredDatabase, chosen: Sequence[ShardRef], starting: Sequence[ShardRef]
    ) -> dict[int, str]:
        hosts = _hosts(database, chosen)
        if not database.engine.cluster or not hosts:
            by_node: dict[int, list[int]] = {}
            for shard in starting:
                by_node.setdefault(shard.node.uid, []).append(shard.uid)
            return await valkey_cluster.start(self._agents, database.engine, database.shards, by_node)
        view = await valkey_cluster.newest_view(self._agents, hosts)
        return await valkey_cluster.start_new_shards(
            self._agents, database.engine, database.shards, hosts, starting, view
        )

    async def _join(self, hosts: Sequence[ShardRef], running: Sequence[ShardRef]) -> None:
        """Make the other shards know the started ones, and assign slots that no shard owns to their primaries."""
        await replication.meet(self._agents, hosts, running)
        heads = {shard: shard.slots for shard in running if shard.role == ShardRole.PRIMARY}
        await unknown_nodes.reclaim_slots(self._agents, heads)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is None:
            return
        started = RepairParameters.parse(action).empty
        now = datetime.now(UTC)
        for row in await shards.list_for_bdb(session, bdb.uid):
            if row.uid in started:
                row.set_role(row.role, now)
        await store_mismatches.record_mismatch(session, bdb, StoreMismatch())
        lost = f" {plural(len(started), 'shard')} had no data." if started else ""
        record_for_action(session, action, "bdb_repaired", f"Database {bdb.name} was repaired.{lost}")

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        record_for_action(
            session, action, "bdb_repair_failed", f"{action.description} failed: {reason}", severity="ERROR"
        )


async def _write(session: AsyncSession, bdb: Bdb, repair: Repair) -> None:
    """Make the rows of the database match its shards. The removal loop deletes the rows of shards that no longer exist."""
    now = datetime.now(UTC)
    empty: dict[int, list[Shard]] = {}
    for row in await shards.list_for_bdb(session, bdb.uid):
        if row.uid in repair.removed:
            row.desired = DesiredState.ABSENT
        row.slots = repair.slots_by_pair.get(row.pair, "")
        if row.uid in repair.empty:
            empty.setdefault(row.pair, []).append(row)
    for rows in empty.values():
        head = next((row for row in rows if row.current_role == ShardRole.PRIMARY), rows[0])
        for row in rows:
            row.role = ShardRole.PRIMARY if row is head else ShardRole.REPLICA
    for member, pair in repair.adopted:
        row = Shard.planned(
            member.uid, bdb.uid, member.node_uid, pair, member.role, repair.slots_by_pair[pair], member.port
        )
        row.bus_port, row.engine_id = member.bus_port, member.engine_id
        row.set_role(member.role, now)
        session.add(row)
    if bdb.shards_count != (count := sum(map(bool, repair.slots_by_pair.values()))):
        bdb.shards_count = count
        bdb.incomplete_changes = list(dict.fromkeys([*bdb.incomplete_changes, "memory_size"]))
    adopted = {member.engine_id for member, _ in repair.adopted}
    for node in await nodes.list_all(session):
        unknown = node.unknown_shards
        kept = tuple(each for each in unknown.shards if each.engine_id not in adopted)
        await save_unknown(session, node, replace(unknown, shards=kept))
    bdb.changed_at = now


def _hosts(database: DesiredDatabase, chosen: Sequence[ShardRef]) -> list[ShardRef]:
    """Return the primaries that serve the other slots."""
    uids = {shard.uid for shard in chosen}
    return [shard for shard in database.primaries if shard.uid not in uids]


def _steps(starts: bool, current: str, detail: str = "") -> list[dict[str, Any]]:
    names = [TAKE_OVER, *([START] if starts else [])]
    at = names.index(current) if current in names else len(names)
    return [
        {"name": name, "status": step_status(position, at)} | ({"detail": detail} if detail and position == at else {})
        for position, name in enumerate(names)
    ]
