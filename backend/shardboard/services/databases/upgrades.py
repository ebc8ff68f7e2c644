"""Upgrading the shards of a database to the engine version that is installed on their nodes, without downtime.

Each shard is replaced by a new process on its own node, which copies the data and takes over, as in a move to another node. The
number of copies never drops, and a database without replicas loses no data. Replicas are replaced before their primary, because
an engine can read the data of an older version, but not always of a newer one.
"""

import re
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, queue
from shardboard.actions.move_parameters import MoveParameters
from shardboard.actions.movement import ClusterView
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard


@dataclass(frozen=True)
class UpgradeOptions:
    """Options of an upgrade request."""

    version: str = ""
    """Engine version that must be installed: `9.1.2`, or a prefix such as `9.1`."""
    include_current: bool = False
    """Also replace shards that already run that version."""
    concurrent_shards: int = 0
    """Number of shards to replace at the same time; 0 = as many as the policy allows."""


@dataclass(frozen=True)
class PlannedUpgrade:
    """The moves of an upgrade."""

    moves: Sequence[Move]
    description: str


async def preview(session: AsyncSession, uid: int, options: UpgradeOptions) -> PlannedUpgrade:
    """Return the plan of an upgrade. Raises the same errors as `order`."""
    view = await movement.locked_view(session)
    return _plan(view, await _load_idle(session, view, uid), options)


async def schedule(
    session: AsyncSession, uid: int, principal: Principal, options: UpgradeOptions
) -> tuple[Bdb, Action | None]:
    """Schedule an upgrade. Returns no action if all shards already run the installed version."""
    view = await movement.locked_view(session)
    bdb = await _load_idle(session, view, uid)
    plan = _plan(view, bdb, options)
    return bdb, _queue(session, view, bdb, plan, principal, options) if plan.moves else None


@dataclass(frozen=True)
class UpgradeForecast:
    """Forecast for one database of a node: a plan, or the reason why it cannot be upgraded now."""

    bdb: Bdb
    plan: PlannedUpgrade | None = None
    reason: str = ""
    action: Action | None = None


async def preview_for_node(session: AsyncSession, node_uid: int) -> list[UpgradeForecast]:
    """Return a forecast for each database on the node that has shards with another engine version than the installed one."""
    return [forecast async for _, forecast in _forecasts_for_node(session, node_uid)]


async def schedule_for_node(session: AsyncSession, node_uid: int, principal: Principal) -> list[UpgradeForecast]:
    """Schedule an action for each database that can be upgraded now; they run concurrently. Others are returned with the reason."""
    return [
        replace(forecast, action=_queue(session, view, forecast.bdb, forecast.plan, principal, UpgradeOptions()))
        if forecast.plan
        else forecast
        async for view, forecast in _forecasts_for_node(session, node_uid)
    ]


async def _forecasts_for_node(
    session: AsyncSession, node_uid: int
) -> AsyncIterator[tuple[ClusterView, UpgradeForecast]]:
    view = await movement.locked_view(session)
    if node_uid not in view.nodes:
        raise NotFound("node_not_found", f"Node {node_uid} does not exist.")
    for uid in sorted({row.bdb_uid for row in view.desired_shards if row.node_uid == node_uid}):
        bdb = view.databases[uid]
        try:
            await queue.require_idle(session, [bdb])
            plan = _plan(view, bdb, UpgradeOptions())
        except (Conflict, NotAcceptable) as error:
            yield view, UpgradeForecast(bdb, reason=error.description)
            continue
        if plan.moves:
            # Databases that are upgraded at the same time need their capacity at the same time.
            additional = [Shard(bdb_uid=uid, node_uid=target) for target in {move.to for move in plan.moves}]
            yield view, UpgradeForecast(bdb, plan)
            view = replace(view, occupying_shards=[*view.occupying_shards, *additional])


def _queue(
    session: AsyncSession,
    view: ClusterView,
    bdb: Bdb,
    plan: PlannedUpgrade,
    principal: Principal,
    options: UpgradeOptions,
) -> Action:
    action = movement.queue_moves(
        session,
        view,
        ActionName.UPGRADE_BDB,
        plan.moves,
        description=plan.description,
        originator=principal.username,
        object_type="bdb",
        object_uid=bdb.uid,
        params=MoveParameters(concurrent_pairs=options.concurrent_shards),
    )
    events.record_for_action(session, action, "bdb_upgrade_request", f"{plan.description} was requested.")
    return action


async def _load_idle(session: AsyncSession, view: ClusterView, uid: int) -> Bdb:
    bdb = view.databases.get(uid)
    if bdb is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    await queue.require_idle(session, [bdb])
    return bdb


def _plan(view: ClusterView, bdb: Bdb, options: UpgradeOptions) -> PlannedUpgrade:
    rows = view.shards_of_bdb(bdb.uid)
    version = installed_version(view, bdb, {row.node_uid for row in rows})
    if options.version and not (version + ".").startswith(options.version.rstrip(".") + "."):
        message = f"The nodes of {bdb.name} have Valkey {version}, not {options.version}. Install that version first."
        raise NotAcceptable("version_not_found", message, field="redis_version")
    outdated = [row for row in rows if options.include_current or row.observed_version != version]
    for row in outdated:
        if _series(row.observed_version) > _series(version):
            message = (
                f"Shard redis:{row.uid} runs Valkey {row.observed_version}. Its node now has {version}, which cannot read data "
                "of that version. Install the newer version again, or restore a backup into a new database."
            )
            raise NotAcceptable("downgrade_not_possible", message)
    check_capacity(view, bdb, outdated)
    # Sorted by the current role: moves of a pair are carried out in this order.
    outdated.sort(key=lambda row: (row.pair, row.current_role == ShardRole.PRIMARY))
    moves = [
        Move(
            bdb=row.bdb_uid,
            pair=row.pair,
            title=f"Replace {movement.role_name(row)} redis:{row.uid} on node {row.node_uid}"
            + (f" (Valkey {row.observed_version})" if row.observed_version else "")
            + f" with one that runs Valkey {version}",
            removed=row.uid,
            to=row.node_uid,
        )
        for row in outdated
    ]
    return PlannedUpgrade(moves, f"Upgrade of {len(moves)} shards of {bdb.name} to Valkey {version}")


def installed_version(view: ClusterView, bdb: Bdb, node_uids: Collection[int]) -> str:
    """Return the version that is installed on all nodes. With different versions, a replica could become older than its primary."""
    version_by_node = {uid: view.nodes[uid].facts["engine_version"] for uid in sorted(node_uids)}
    for uid in version_by_node:
        if not movement.can_take_shards(view.nodes[uid]):
            raise NotAcceptable("node_not_connected", f"Node {uid} of {bdb.name} cannot accept shards at the moment.")
    versions = set(version_by_node.values())
    if len(versions) == 1 and (version := versions.pop()):
        return str(version)
    versions_by_node = ", ".join(f"node {uid}: {version or 'none'}" for uid, version in version_by_node.items())
    raise NotAcceptable(
        "versions_differ",
        f"The nodes of {bdb.name} have different engines ({versions_by_node}). Install the same version on all.",
    )


def _series(version: str) -> tuple[int, ...]:
    """Return major and minor version. Within a minor version, the formats of replication and files do not change."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def check_capacity(view: ClusterView, bdb: Bdb, behind: Sequence[Shard]) -> None:
    """Check the capacity for one more shard on each node. Without capacity for two, shards are replaced one after the other."""
    capacities, memory, disk = view.capacities(), view.memory(bdb), bdb.shard_memory.flash or 0
    for uid in sorted({row.node_uid for row in behind}):
        node = capacities[uid]
        if node.shards + 1 > node.max_shards:
            message = f"Node {uid} runs {node.shards} of at most {node.max_shards} shards; an upgrade temporarily needs one more."
            raise NotAcceptable("insufficient_resources", message)
        if memory > max(node.free_memory, 0):
            message = (
                f"Node {uid} has {max(node.free_memory, 0)} bytes of free memory; a second copy needs {memory} bytes."
            )
            raise NotAcceptable("insufficient_resources", message)
        if bdb.on_flash and not node.has_flash_for(disk):
            message = (
                f"Node {uid} has {max(node.free_flash or 0, 0)} bytes of free flash; a second copy needs {disk} bytes."
            )
            raise NotAcceptable("insufficient_resources", message)
