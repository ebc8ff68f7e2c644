"""Change of a database: first the moves that the change requires, then the settings of all shards."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.bdb_parameters import UpdateParameters
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import DesiredState
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver import persistence, valkey_cluster
from shardboard.driver.interfaces import CommandResult
from shardboard.reconcilers import load_database
from shardboard.reconcilers.lease import unlock_databases
from shardboard.reconcilers.loop import Outcome
from shardboard.reconcilers.placement import move_rows
from shardboard.reconcilers.placement.moves import MoveShards
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb

_MOVING_FIELDS = frozenset({"replication", "shards_placement", "proxy_policy"})
"""Settings that are implemented by moves. If a move fails, *Rebalance* completes it."""


class Update(MoveShards):
    """Performs moves, if any; then writes append-only files, if they are newly enabled; then changes the settings of all shards and
    their configuration files. The files come first, because a shard whose configuration enables the file starts from it.
    """

    async def step(self, action: Action) -> Outcome:
        parameters = UpdateParameters.parse(action)
        if parameters.moves:
            outcome = await super().step(action)
            if not outcome.finished:
                return outcome
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        changed = parameters.changed
        if database.engine.appendonly and "data_persistence" in changed:
            logs = await persistence.enable_append_only(self._agents, database.shards)
            if logs.refused:
                return Outcome(unreachable=failure_message(dict(logs.refused)), retry_in=0.5)
            if logs.complete < len(database.shards):
                return Outcome(
                    progress=100 * logs.complete / len(database.shards),
                    steps=[
                        {"name": "Write the append-only files", "status": StepStatus.RUNNING},
                        {"name": "Change the settings", "status": StepStatus.PENDING},
                    ],
                    retry_in=0.5,
                )
        reasons = await valkey_cluster.apply_settings(
            self._agents, database.engine, database.shards, changed
        ) or await valkey_cluster.configure(self._agents, database.engine, database.shards, len(database.shards))
        return Outcome(unreachable=failure_message(reasons), retry_in=0.5) if reasons else Outcome(finished=True)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is not None:
            bump_access_version(bdb, action)
            bdb.incomplete_changes = []
            await unlock_databases(session, action, "")
            record_for_action(
                session, action, "bdb_update_completed", f"The change of {bdb.name} was applied to all its shards."
            )

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """Remove replicas that were to be added. Everything else stays as it is."""
        parameters = UpdateParameters.parse(action)
        if parameters.moves:
            await move_rows.complete_or_undo(session, action, parameters.unsettled, parameters.committed)
            bdb = await bdbs.by_uid(session, action.object_uid)
            if bdb is not None and bdb.replication and "replication" in parameters.changed:
                bdb.replication = False
                for move in parameters.moves:
                    row = await shards.by_uid(session, move.new_shard) if move.new_shard is not None else None
                    if row is not None and row.current_role != ShardRole.PRIMARY:
                        row.desired = DesiredState.ABSENT
        if (bdb := await bdbs.by_uid(session, action.object_uid)) is not None:
            bump_access_version(bdb, action)
            bdb.incomplete_changes = sorted({*bdb.incomplete_changes, *parameters.changed} - _MOVING_FIELDS)
        await reset_status(session, action, f"The last change was not applied to all shards: {reason}")


def bump_access_version(bdb: Bdb, action: Action) -> None:
    """Make proxies learn of a changed password when shards may require it, even if not all shards have it yet."""
    if {"authentication_redis_pass", "other_passwords"} & set(UpdateParameters.parse(action).changed):
        bdb.access_version += 1


async def reset_status(session: AsyncSession, action: Action, reason: str) -> None:
    """Reset the database's status after a failed change."""
    bdb = await bdbs.by_uid(session, action.object_uid)
    if bdb is not None and bdb.status == BdbStatus.CHANGE_PENDING:
        bdb.status, bdb.status_detail, bdb.action_uid = BdbStatus.ACTIVE, reason, None
        record_for_action(session, action, "bdb_update_failed", f"{bdb.name}: {reason}", severity="ERROR")


def failures_by_shard(results: dict[int, CommandResult]) -> dict[int, str]:
    """Return the reasons by uid of the shards that failed."""
    return {uid: result.reply for uid, result in results.items() if not result.ok}


def failure_message(reasons: dict[int, str]) -> str:
    uid, reason = min(reasons.items())
    suffix = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"Shard redis:{uid}{suffix}: {reason}."
