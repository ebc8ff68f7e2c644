"""Steppers that create, change, flush and delete databases."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.actions import ActionName, StepStatus, step_status
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.domain.databases import creation
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import DesiredState
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers import load_database
from shardboard.reconcilers.databases import admin_password, endpoints
from shardboard.reconcilers.databases.bdb_changes import Update, failure_message, reset_status
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.databases.flush import delete_all_keys
from shardboard.reconcilers.databases.traffic import ChangeTraffic
from shardboard.reconcilers.loop import UNREACHABLE_TIMEOUT, Outcome, Stepper
from shardboard.reconcilers.placement.shard_removal import remove_undesired
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.failures import availability_history, outages
from shardboard.store.db import Store

START, SERVE, SYNC = "Start the shards", "Serve all slots", "Synchronize the replicas"


def steppers(store: Store, agents: Agents, serving: Endpoints) -> dict[str, Stepper]:
    """Return the steppers by the action names that `bdbs.py` and `traffic.py` of `services/databases` queue."""
    return {
        ActionName.CREATE_BDB: Create(store, agents, serving),
        ActionName.DELETE_BDB: Delete(store),
        ActionName.UPDATE_BDB: Update(store, agents),
        ActionName.FLUSH_BDB: Flush(store, agents),
        ActionName.RESET_ADMIN_PASSWORD: admin_password.ResetAdminPassword(store, agents, serving),
        ActionName.STOP_TRAFFIC: ChangeTraffic(serving, stop=True),
        ActionName.RESUME_TRAFFIC: ChangeTraffic(serving, stop=False),
    }


class Create:
    """Starts all shards with a complete `nodes.conf` and waits until all slots are served, all replicas are in sync and clients can
    connect.
    """

    def __init__(self, store: Store, agents: Agents, serving: Endpoints) -> None:
        self._store = store
        self._agents = agents
        self._serving = serving

    async def step(self, action: Action) -> Outcome:
        database = await load_database.database(self._store, action.object_uid)
        if database is None or database.status != BdbStatus.PENDING:
            return Outcome(failed="The database was deleted while it was being created.")
        conditions = await valkey_cluster.read_conditions(
            self._agents, database.shards, cluster=database.engine.cluster
        )
        step = creation.next_step(database.desired_shards, conditions)
        if step.failed:
            return Outcome(failed=step.failed)
        if step.done:
            await self._save_roles(action.object_uid)
            failed = await self._serving.serve(database.engine.uid)
            return (
                Outcome(failed=endpoints.unavailable_message(database.port, failed))
                if failed
                else Outcome(finished=True)
            )
        steps = _creation_steps(step, replicas=any(shard.role == ShardRole.REPLICA for shard in database.shards))
        if step.start:
            failures = await valkey_cluster.start(self._agents, database.engine, database.shards, step.start)
            await remove_undesired(self._store, self._agents, action.object_uid, database.shards)
            if failures:
                return Outcome(failed=failure_message(failures))
        if step.promote:
            # A shard that rejects the command is not ready yet; the next poll shows its role.
            await valkey_cluster.promote_initial_primaries(
                self._agents, [shard for shard in database.shards if shard.uid in step.promote]
            )
        return Outcome(progress=step.progress, steps=steps, retry_in=max(0.02, len(database.shards) / 1000))

    async def _save_roles(self, bdb_uid: int) -> None:
        """Store the current roles. Endpoints serve the slots of primaries, but a sample may have recorded the initial replica role
        of a primary.
        """
        async with self._store.begin() as session:
            for shard in await shards.list_for_bdb(session, bdb_uid):
                shard.set_role(shard.role, datetime.now(UTC))

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is not None:
            bdb.status, bdb.action_uid = BdbStatus.ACTIVE, None
            duration = (datetime.now(UTC) - action.created_at).total_seconds()
            record_for_action(
                session, action, "bdb_activated", f"Database {bdb.name} became active after {duration:.1f} s."
            )

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is None or bdb.status != BdbStatus.PENDING:
            return
        bdb.status, bdb.status_detail, bdb.action_uid = BdbStatus.CREATION_FAILED, reason, None
        for shard in await shards.list_for_bdb(session, bdb.uid):
            shard.desired = DesiredState.ABSENT
        message = f"Database {bdb.name} could not be created: {reason} Shards that were started are removed."
        record_for_action(session, action, "bdb_creation_failed", message, severity="ERROR")


class Delete:
    """Waits until other actions of the database have ended and the removal loop has removed all shards on reachable nodes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def step(self, action: Action) -> Outcome:
        async with self._store.read() as session:
            remaining = [shard for shard in await shards.list_absent(session) if shard.bdb_uid == action.object_uid]
            reachable_uids = {
                node.uid for node in await nodes.list_stored(session) if node.agent_status == AgentStatus.CONNECTED
            }
            other_actions = [
                each for each in await actions.list_open_for_bdb(session, action.object_uid) if each.uid != action.uid
            ]
        if other_actions and datetime.now(UTC) - action.created_at < UNREACHABLE_TIMEOUT:
            step = {"name": f"Wait for another action: {other_actions[0].description}", "status": StepStatus.RUNNING}
            return Outcome(steps=[step], retry_in=0.05)
        removable = [shard for shard in remaining if shard.node_uid in reachable_uids]
        if removable:
            step = {"name": f"Remove {len(removable)} shards", "status": StepStatus.RUNNING}
            return Outcome(steps=[step], retry_in=0.1)
        return Outcome(finished=True, facts={"left": sorted({shard.node_uid for shard in remaining})})

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is None:
            return
        message = f"Database {bdb.name} was deleted."
        if outcome.facts["left"]:
            node_list = ", ".join(str(uid) for uid in outcome.facts["left"])
            message += f" Its shards on node {node_list} will be removed when its agent reconnects."
        record_for_action(session, action, "bdb_deleted", message)
        await outages.delete_for_bdb(session, bdb.uid)
        await availability_history.delete_for_bdb(session, bdb.uid)
        await session.delete(bdb)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is not None:
            bdb.status_detail, bdb.action_uid = f"Deletion failed: {reason}", None
            record_for_action(
                session, action, "bdb_delete_failed", f"Deleting {bdb.name} failed: {reason}", severity="ERROR"
            )


class Flush:
    """Runs FLUSHALL on all primaries."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def step(self, action: Action) -> Outcome:
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        reason = await delete_all_keys(self._agents, database)
        return Outcome(unreachable=reason, retry_in=0.5) if reason else Outcome(finished=True)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is not None:
            bdb.status, bdb.status_detail, bdb.action_uid = BdbStatus.ACTIVE, "", None
            record_for_action(
                session, action, "bdb_flushed", f"All keys of {bdb.name} were deleted.", severity="WARNING"
            )

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        await reset_status(session, action, f"Flushing did not reach all shards: {reason}")


def _creation_steps(step: creation.CreationStep, *, replicas: bool) -> list[dict[str, Any]]:
    names = [START, SERVE, *([SYNC] if replicas else [])]
    current = SYNC if "in sync" in step.waiting_for else SERVE if "slots" in step.waiting_for else START
    current_index = names.index(current)
    return [
        {
            "name": name,
            "status": step_status(index, current_index),
        }
        | ({"detail": f"waiting for {step.waiting_for}"} if index == current_index else {})
        for index, name in enumerate(names)
    ]
