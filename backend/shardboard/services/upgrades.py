"""Ordering that the shards of a database run the engine that their nodes have now, without an interruption.

Each shard is replaced by a new process on its own node, which copies its data and takes its place, as when it moves to another
node: there is never a copy less than before, and a database without replicas loses nothing. Replicas go before their primary,
because an engine reads what an older one sends, and not always what a newer one does.
"""

import re
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.moves import Move
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.orders import movement, queue
from shardboard.orders.movement import ClusterView
from shardboard.services.users import Principal
from shardboard.state import events
from shardboard.state.actions import Action
from shardboard.state.bdbs import Bdb
from shardboard.state.shards import Shard

NAME = "SMUpgradeBDB"


@dataclass(frozen=True)
class Wish:
    """What the caller wants beyond the newest engine of each node."""

    version: str = ""
    """The engine that must run in the end: `9.1.2`, or the first parts of it."""
    even_if_current: bool = False
    """Replace also shards that run that engine already."""
    at_once: int = 0
    """Shards that are replaced at the same time; 0 = as many as the policy allows."""


@dataclass(frozen=True)
class PlannedUpgrade:
    """What an upgrade would do."""

    moves: Sequence[Move]
    description: str


async def preview(session: AsyncSession, uid: int, wish: Wish) -> PlannedUpgrade:
    """Raises what an order would raise."""
    view = await movement.locked_view(session)
    return _plan(view, await _idle(session, view, uid), wish)


async def order(session: AsyncSession, uid: int, principal: Principal, wish: Wish) -> tuple[Bdb, Action | None]:
    """Without an action when every shard runs the engine that its node has."""
    view = await movement.locked_view(session)
    bdb = await _idle(session, view, uid)
    plan = _plan(view, bdb, wish)
    return bdb, _ordered(session, view, bdb, plan, principal, wish) if plan.moves else None


@dataclass(frozen=True)
class Outlook:
    """What becomes of one database when all of a node are upgraded: it has a plan, or a reason why not."""

    bdb: Bdb
    plan: PlannedUpgrade | None = None
    refused: str = ""
    action: Action | None = None


async def preview_of_node(session: AsyncSession, node_uid: int) -> list[Outlook]:
    """Of each database with a shard on the node whose shards do not all run the engine of their nodes."""
    return [outlook async for _, outlook in _of_node(session, node_uid)]


async def order_for_node(session: AsyncSession, node_uid: int, principal: Principal) -> list[Outlook]:
    """One action for each database that can be upgraded now; they go on side by side. The others are told with the reason."""
    return [
        replace(outlook, action=_ordered(session, view, outlook.bdb, outlook.plan, principal, Wish()))
        if outlook.plan
        else outlook
        async for view, outlook in _of_node(session, node_uid)
    ]


async def _of_node(session: AsyncSession, node_uid: int) -> AsyncIterator[tuple[ClusterView, Outlook]]:
    view = await movement.locked_view(session)
    if node_uid not in view.machines:
        raise NotFound("node_not_found", f"There is no node {node_uid}.")
    for uid in sorted({row.bdb_uid for row in view.rows if row.node_uid == node_uid}):
        bdb = view.databases[uid]
        try:
            await queue.insist_on_idle(session, [bdb])
            plan = _plan(view, bdb, Wish())
        except (Conflict, NotAcceptable) as error:
            yield view, Outlook(bdb, refused=error.description)
            continue
        if plan.moves:
            # What is copied at the same time needs its room at the same time.
            twice = [Shard(bdb_uid=uid, node_uid=to) for to in {move.to for move in plan.moves}]
            yield view, Outlook(bdb, plan)
            view = replace(view, occupying=[*view.occupying, *twice])


def _ordered(
    session: AsyncSession, view: ClusterView, bdb: Bdb, plan: PlannedUpgrade, principal: Principal, wish: Wish
) -> Action:
    action = movement.order(
        session,
        view,
        NAME,
        plan.moves,
        description=plan.description,
        originator=principal.username,
        object_type="bdb",
        object_uid=bdb.uid,
        params={"pairs_at_once": wish.at_once},
    )
    events.record_of_action(session, action, "bdb_upgrade_request", f"{plan.description} was ordered.")
    return action


async def _idle(session: AsyncSession, view: ClusterView, uid: int) -> Bdb:
    bdb = view.databases.get(uid)
    if bdb is None:
        raise NotFound("db_not_found", f"There is no database {uid}.")
    await queue.insist_on_idle(session, [bdb])
    return bdb


def _plan(view: ClusterView, bdb: Bdb, wish: Wish) -> PlannedUpgrade:
    rows = view.of(bdb.uid)
    version = installed(view, bdb, {row.node_uid for row in rows})
    if wish.version and not (version + ".").startswith(wish.version.rstrip(".") + "."):
        sentence = f"The nodes of {bdb.name} have Valkey {version}, not {wish.version}. Install that first."
        raise NotAcceptable("version_not_found", sentence, field="redis_version")
    behind = [row for row in rows if wish.even_if_current or row.observed_version != version]
    for row in behind:
        if _series(row.observed_version) > _series(version):
            sentence = (
                f"Shard redis:{row.uid} runs Valkey {row.observed_version}; {version}, which its node has now, cannot "
                "read what that writes. Install it again, or restore a backup into a new database."
            )
            raise NotAcceptable("downgrade_not_possible", sentence)
    insist_on_room(view, bdb, behind)
    # Sorted by what each shard is now: a pair's moves are made in this order.
    behind.sort(key=lambda row: (row.pair, row.current_role == "master"))
    planned = [
        Move(
            bdb=row.bdb_uid,
            pair=row.pair,
            title=f"Replace {movement.word(row)} redis:{row.uid} on node {row.node_uid}"
            + (f" (Valkey {row.observed_version})" if row.observed_version else "")
            + f" by one with Valkey {version}",
            leaves=row.uid,
            to=row.node_uid,
        )
        for row in behind
    ]
    return PlannedUpgrade(planned, f"Upgrade of {len(planned)} shards of {bdb.name} to Valkey {version}")


def installed(view: ClusterView, bdb: Bdb, node_uids: Collection[int]) -> str:
    """The version that all its nodes have; another would make a replica older than its primary sooner or later."""
    found = {uid: view.machines[uid].facts["engine_version"] for uid in sorted(node_uids)}
    for uid in found:
        if not movement.takes_shards(view.machines[uid]):
            raise NotAcceptable("node_not_connected", f"Node {uid} of {bdb.name} takes no shards at the moment.")
    versions = set(found.values())
    if len(versions) == 1 and (version := versions.pop()):
        return str(version)
    told = ", ".join(f"node {uid}: {version or 'none'}" for uid, version in found.items())
    raise NotAcceptable(
        "versions_differ", f"The nodes of {bdb.name} have different engines ({told}). Install one on all."
    )


def _series(version: str) -> tuple[int, ...]:
    """Major and minor number: within them the format of what is sent and saved stays."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def insist_on_room(view: ClusterView, bdb: Bdb, behind: Sequence[Shard]) -> None:
    """For one shard more on each node: they are replaced one after the other where there is no room for two."""
    rooms, memory, disk = view.rooms(), view.memory(bdb), bdb.share.flash or 0
    for uid in sorted({row.node_uid for row in behind}):
        room = rooms[uid]
        if room.shards + 1 > room.max_shards:
            sentence = (
                f"Node {uid} runs {room.shards} of at most {room.max_shards} shards; one more is needed for a while."
            )
            raise NotAcceptable("insufficient_resources", sentence)
        if memory > max(room.free_memory, 0):
            sentence = (
                f"Node {uid} has {max(room.free_memory, 0)} bytes to give; a second copy of a shard needs {memory}."
            )
            raise NotAcceptable("insufficient_resources", sentence)
        if bdb.on_flash and not room.gives(disk):
            sentence = (
                f"Node {uid} has {max(room.free_flash or 0, 0)} bytes of flash to give; a second copy needs {disk}."
            )
            raise NotAcceptable("insufficient_resources", sentence)
