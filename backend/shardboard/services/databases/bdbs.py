"""Creating, changing and deleting databases. The rows are the request; background loops carry it out."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import inspect
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, queue
from shardboard.actions.bdb_parameters import UpdateParameters
from shardboard.actions.movement import ClusterView
from shardboard.domain.cluster.actions import ActionName, ActionStatus
from shardboard.domain.databases.bdb_rules import MAX_UID
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import DesiredState
from shardboard.domain.placement.moves import Move
from shardboard.domain.text import plural
from shardboard.errors import Conflict, NotFound
from shardboard.schemas.databases import bdb_fields
from shardboard.services.access.authorization import Principal
from shardboard.services.databases import bdb_creation, bdb_layouts
from shardboard.services.databases.bdb_changes import incomplete_changes, validated_changes
from shardboard.services.databases.bdb_creation import NewDatabase
from shardboard.services.placement import resharding
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.cluster import cluster as cluster_state
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

BASE_DEADLINE = timedelta(seconds=60)
DEADLINE_PER_SHARD = timedelta(seconds=0.5)
APPEND_ONLY_DEADLINE = timedelta(hours=6)
"""Shards of a node write their append-only files one after the other, and disks may be slow."""
REMOVABLE = (BdbStatus.ACTIVE, BdbStatus.CREATION_FAILED, BdbStatus.PENDING)


async def create(
    session: AsyncSession,
    payload: Mapping[str, Any],
    principal: Principal,
    *,
    dry_run: bool = False,
    allow_duplicate_name: bool = False,
    may_overbook: bool = True,
) -> tuple[Bdb, Sequence[Shard]]:
    """Create a database and its shards in status `pending`. With `dry_run` the rows do not belong to a session.

    With `may_overbook`, its nodes need not have enough free memory if the policy allows this.
    """
    # Locked, so that two concurrent creations do not choose the same uids, ports and names.
    cluster = await cluster_state.load_for_update(session)
    new = await bdb_creation.plan_creation(
        session, payload, cluster, principal, allow_duplicate_name=allow_duplicate_name, may_overbook=may_overbook
    )
    if dry_run:
        return new.bdb, new.shards
    bdb = new.bdb
    if bdb.uid < MAX_UID:
        cluster.next_bdb_uid = max(cluster.next_bdb_uid, bdb.uid + 1)
    cluster.next_shard_uid += len(new.shards)
    action = queue.enqueue(
        session,
        ActionName.CREATE_BDB,
        object_uid=bdb.uid,
        description=f"Create database {bdb.name}",
        originator=principal.username,
        deadline=_deadline(len(new.shards)),
    )
    bdb.action_uid = action.uid
    session.add_all([bdb, *new.shards])
    _record_creation(session, new, principal)
    await session.flush()
    return bdb, new.shards


async def update(
    session: AsyncSession,
    uid: int,
    payload: Mapping[str, Any],
    principal: Principal,
    *,
    dry_run: bool = False,
    allow_duplicate_name: bool = False,
) -> tuple[Bdb, resharding.ReshardPlan | None]:
    """Apply fields that differ from the current ones, and changes of earlier requests that did not reach all shards.

    Does nothing if there are neither. Returns the database and, if the number of primaries changes, the reshard plan.
    """
    cluster = await cluster_state.load_for_update(session)
    bdb = await queue.load_idle_bdb(session, uid)
    changed = await validated_changes(
        session, bdb, payload, cluster, principal, allow_duplicate_name=allow_duplicate_name
    )
    if "shards_count" not in changed:  # new shards start with all current settings
        changed = incomplete_changes(bdb) | changed
    if not changed:
        return bdb, None
    plan = await resharding.plan(session, bdb, changed) if "shards_count" in changed else None
    return await _change(session, bdb, changed, plan, principal, dry_run=dry_run), plan


async def revamp(
    session: AsyncSession,
    uid: int,
    payload: Mapping[str, Any],
    avoid: Sequence[str],
    principal: Principal,
    *,
    dry_run: bool = False,
) -> tuple[Bdb, list[dict[str, Any]]]:
    """Change the shape of a database, also if only its slots are distributed unevenly.

    New shards are not placed on the nodes `avoid`. Returns the database and the blueprint of its future layout.
    """
    cluster = await cluster_state.load_for_update(session)
    bdb = await queue.load_idle_bdb(session, uid)
    changed = await validated_changes(session, bdb, payload, cluster, principal)
    plan = await resharding.plan(session, bdb, changed, avoid)
    blueprint = plan.blueprint(await shards.list_for_bdb(session, uid))
    needs_resharding = "shards_count" in changed or (not changed and plan.moved_slots > 0)
    if not changed and not needs_resharding:
        if not dry_run and not bdb.incomplete_changes:
            bdb.status_detail = ""  # the database is as desired, whatever the result of an earlier request
        return bdb, blueprint
    return await _change(
        session, bdb, changed, plan if needs_resharding else None, principal, dry_run=dry_run
    ), blueprint


async def _change(
    session: AsyncSession,
    bdb: Bdb,
    changed: Mapping[str, Any],
    plan: resharding.ReshardPlan | None,
    principal: Principal,
    *,
    dry_run: bool,
) -> Bdb:
    """Write the changes and queue the action that applies them: a reshard if there is a plan, an update otherwise."""
    target = _copy(bdb) if dry_run else bdb
    old_name, primaries = bdb.name, bdb.shards_count
    _apply(target, changed)
    view = await movement.locked_view(session)
    moves = bdb_layouts.plan_moves(view, target, changed) if plan is None else []
    if moves:
        await queue.require_idle(session, [bdb], "busy")
    target.status = BdbStatus.CHANGE_PENDING
    if dry_run:
        return target
    if plan is not None:
        action = await resharding.schedule(session, bdb, plan, principal.username)
        bdb.action_uid = action.uid
    else:
        _queue_update(session, view, bdb, changed, moves, principal)
    if bdb.name != old_name:
        _record_event(session, bdb, "bdb_name_updated", f"Database {old_name} was renamed to {bdb.name}.", principal)
    _record_event(session, bdb, "bdb_updated", _request_message(bdb, changed, plan, primaries), principal)
    ineffective = bdb_creation.ineffective_fields(changed)
    if ineffective:
        message = f"Fields of database {bdb.name} were stored without effect: {', '.join(ineffective)}."
        _record_event(session, bdb, "bdb_config_warning", message, principal, severity="WARNING")
    await session.flush()
    return bdb


def _request_message(bdb: Bdb, changed: Collection[str], plan: resharding.ReshardPlan | None, primaries: int) -> str:
    """Return the event sentence. `primaries` is the number of primaries so far."""
    parts = []
    if plan is not None and plan.count != primaries:
        parts = [
            f"Resharding of {bdb.name} from {primaries} to {plural(plan.count, 'primary', 'primaries')} was requested."
        ]
        changed = set(changed) - {"shards_count"}
    elif plan is not None:
        parts = [f"An even distribution of the slots of {bdb.name} was requested."]
    if changed:
        parts.append(f"A change of database {bdb.name} was requested: {_names(changed)}.")
    return " ".join(parts)


def _names(changed: Collection[str]) -> str:
    """Return the field names for readers; fields that the API does not expose are called passwords."""
    return ", ".join(sorted({"passwords" if name in bdb_fields.HIDDEN else name for name in changed}))


def _queue_update(
    session: AsyncSession,
    view: ClusterView,
    bdb: Bdb,
    changed: Mapping[str, Any],
    planned: Sequence[Move],
    principal: Principal,
) -> None:
    description = f"Change database {bdb.name}: {_names(changed)}"
    params = UpdateParameters(changed=tuple(sorted(changed)))
    if planned:
        movement.queue_moves(
            session,
            view,
            ActionName.UPDATE_BDB,
            planned,
            description=description,
            originator=principal.username,
            object_type="bdb",
            object_uid=bdb.uid,
            params=params,
            # Cancelling does not bring back replicas that have been removed.
            cancellable=all(move.to is not None or move.removed is None for move in planned),
        )
        return
    action = queue.enqueue(
        session,
        ActionName.UPDATE_BDB,
        object_uid=bdb.uid,
        description=description,
        originator=principal.username,
        deadline=_deadline(bdb.shards_count * (2 if bdb.replication else 1))
        + (APPEND_ONLY_DEADLINE if "data_persistence" in changed else timedelta()),
        params=params,
    )
    bdb.action_uid = action.uid


async def delete(session: AsyncSession, uid: int, principal: Principal) -> Bdb:
    """Schedule the deletion of a database, its shards and their data."""
    await cluster_state.load_for_update(session)
    bdb = await _locked(session, uid)
    was_abandoned = bdb.status == BdbStatus.DELETE_PENDING and bdb.action_uid is None
    if bdb.status not in REMOVABLE and not was_abandoned:
        raise Conflict("busy", f"Database {bdb.name} is {bdb.status}; try again when it is active.")
    if bdb.status == BdbStatus.PENDING:
        await _end_creation(session, bdb)
    rows = [shard for shard in await shards.list_occupying(session) if shard.bdb_uid == uid]
    for shard in rows:
        shard.desired = DesiredState.ABSENT
    action = queue.enqueue(
        session,
        ActionName.DELETE_BDB,
        object_uid=uid,
        description=f"Delete database {bdb.name}",
        originator=principal.username,
        deadline=_deadline(len(rows)),
    )
    bdb.status = BdbStatus.DELETE_PENDING
    bdb.status_detail = ""
    bdb.action_uid = action.uid
    bdb.changed_at = datetime.now(UTC)
    _record_event(session, bdb, "bdb_delete_request", f"The deletion of database {bdb.name} was requested.", principal)
    await session.flush()
    return bdb


async def flush(session: AsyncSession, uid: int, principal: Principal, *, dry_run: bool = False) -> Bdb:
    """Schedule the deletion of all keys."""
    bdb = await queue.load_idle_bdb(session, uid)
    if dry_run:
        return bdb
    action = queue.enqueue(
        session,
        ActionName.FLUSH_BDB,
        object_uid=uid,
        description=f"Flush database {bdb.name}",
        originator=principal.username,
        deadline=_deadline(bdb.shards_count),
    )
    bdb.status = BdbStatus.CHANGE_PENDING
    bdb.action_uid = action.uid
    message = f"The deletion of all keys of database {bdb.name} was requested."
    _record_event(session, bdb, "bdb_flush_request", message, principal)
    await session.flush()
    return bdb


async def set_passwords(
    session: AsyncSession, uid: int, choose: Callable[[list[str]], list[str]], principal: Principal, *, dry_run: bool
) -> Bdb:
    """Change the passwords of the default user to those that `choose` returns for the current ones, at least one."""
    bdb = await queue.load_idle_bdb(session, uid)
    first, *others = choose(bdb.passwords)
    desired = {"authentication_redis_pass": first, "other_passwords": others}
    current = {"other_passwords": [], **bdb.config}
    changed = incomplete_changes(bdb) | {name: value for name, value in desired.items() if value != current[name]}
    return await _change(session, bdb, changed, None, principal, dry_run=dry_run) if changed else bdb


async def _locked(session: AsyncSession, uid: int) -> Bdb:
    bdb = await session.get(Bdb, uid, with_for_update=True)
    if bdb is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    return bdb


async def _end_creation(session: AsyncSession, bdb: Bdb) -> None:
    """End the creation that is still running. Without the lease, its loop cannot write its results."""
    for action in await actions.list_open_for_bdb(session, bdb.uid):
        action.status = ActionStatus.FAILED
        action.error = "The database was deleted while it was being created."
        action.finished_at = datetime.now(UTC)
        action.lease_token = None
        action.lease_until = None


def _copy(bdb: Bdb) -> Bdb:
    return Bdb(**{column.key: getattr(bdb, column.key) for column in inspect(Bdb).column_attrs})


def _apply(bdb: Bdb, changed: Mapping[str, Any]) -> None:
    for name in changed.keys() & set(bdb_fields.COLUMNS):
        setattr(bdb, name, changed[name])
    bdb.config = {**bdb.config, **{name: changed[name] for name in changed.keys() - set(bdb_fields.COLUMNS)}}
    bdb.changed_at = datetime.now(UTC)


def _deadline(shard_count: int) -> timedelta:
    return BASE_DEADLINE + DEADLINE_PER_SHARD * shard_count


def _record_creation(session: AsyncSession, new: NewDatabase, principal: Principal) -> None:
    bdb = new.bdb
    shape = plural(bdb.shards_count, "primary", "primaries")
    if bdb.replication:
        shape += f", {plural(bdb.shards_count, 'replica')}"
    message = f"The creation of database {bdb.name} was requested: {shape}, port {bdb.port}."
    _record_event(session, bdb, "bdb_created", message, principal)
    for warning in new.warnings:
        _record_event(session, bdb, "bdb_config_warning", warning, principal, severity="WARNING")


def _record_event(
    session: AsyncSession, bdb: Bdb, type_: str, message: str, principal: Principal, *, severity: str = "INFO"
) -> None:
    events.record(
        session,
        type_,
        message,
        source="bdb",
        severity=severity,
        originator=principal.username,
        bdb_uid=bdb.uid,
        action_uid=bdb.action_uid,
        details={"bdb_name": bdb.name},
    )
