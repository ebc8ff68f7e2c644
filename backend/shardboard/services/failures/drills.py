"""Scheduling failure drills."""

from collections.abc import Collection

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import drills
from shardboard.actions.failure_parameters import DrillParameters
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.errors import BadRequest, Conflict, Forbidden, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import shards

INSTANT_KINDS = ("kill", "kill_shard")

DESCRIPTIONS = {
    "reboot": "Reboot node {node} for {seconds:.0f} s",
    "kill": "Kill node {node} and its agent",
    "freeze": "Freeze node {node} for {seconds:.0f} s",
    "cut_off": "Isolate node {node} from the network for {seconds:.0f} s",
    "slow_network": "Slow down the network of node {node} for {seconds:.0f} s",
    "kill_shard": "Kill shard redis:{shard} on node {node}",
    "freeze_shard": "Freeze shard redis:{shard} on node {node} for {seconds:.0f} s",
}


async def schedule(
    session: AsyncSession,
    node_uid: int,
    principal: Principal,
    *,
    kind: str,
    seconds: float,
    shard_uid: int | None,
    confirm: str,
) -> Action:
    """Schedule a drill. It needs the policy `drills_enabled`, and `node <uid>` as confirmation."""
    await check_drill(session, node_uid, kind=kind, shard_uid=shard_uid)
    if confirm != f"node {node_uid}":
        raise BadRequest("bad_request", f'To confirm, send "node {node_uid}".', field="confirm")
    await _require_no_drill(session, {node_uid})
    return drills.queue_drill(
        session,
        node_uid,
        kind=kind,
        seconds=seconds,
        shard_uid=shard_uid,
        what=describe(kind, node_uid, seconds, shard_uid),
        originator=principal.username,
    )


async def schedule_for_zone(
    session: AsyncSession, rack_id: str, principal: Principal, *, kind: str, seconds: float, confirm: str
) -> list[Action]:
    """Schedule a drill on all nodes of a zone at once. It needs `zone <rack_id>` as confirmation."""
    members = [node for node in await nodes.list_all(session) if rack_id.lower() in node.zones]
    for node in members:
        await check_drill(session, node.uid, kind=kind, shard_uid=None)
    if not members:
        raise NotFound("node_not_found", f"No node is in zone {rack_id}.")
    if confirm != f"zone {rack_id}":
        raise BadRequest("bad_request", f'To confirm, send "zone {rack_id}".', field="confirm")
    await _require_no_drill(session, {node.uid for node in members})
    return [
        drills.queue_drill(
            session,
            node.uid,
            kind=kind,
            seconds=seconds,
            shard_uid=None,
            what=f"{describe(kind, node.uid, seconds, None)}, with all nodes of zone {rack_id}",
            originator=principal.username,
            together_with=tuple(each.uid for each in members if each.uid != node.uid),
        )
        for node in members
    ]


async def check_drill(session: AsyncSession, node_uid: int, *, kind: str, shard_uid: int | None) -> None:
    """Raise an error if such a drill cannot start now."""
    if not (await cluster.load(session)).rules.drills_enabled:
        raise Forbidden("drills_disabled", "Drills are disabled by the cluster policy drills_enabled.")
    node = await nodes.by_uid(session, node_uid)
    if node is None:
        raise NotFound("node_not_found", f"Node {node_uid} does not exist.")
    if node.agent_status != AgentStatus.CONNECTED:
        raise NotAcceptable(
            "node_not_connected", f"The agent of node {node_uid} does not respond, so it cannot run a drill."
        )
    if not kind.endswith("_shard"):
        if shard_uid is not None:
            raise BadRequest(
                "bad_request", f"A drill of kind {kind} affects the whole node; omit shard_uid.", field="shard_uid"
            )
    else:
        shard = await shards.by_uid(session, shard_uid) if shard_uid is not None else None
        if shard is None or shard.node_uid != node_uid:
            raise NotFound("shard_not_exist", f"Node {node_uid} does not have this shard.")


async def _require_no_drill(session: AsyncSession, node_uids: Collection[int]) -> None:
    """Raise Conflict if a drill on one of the nodes lasts. Killing processes takes no time."""
    for action in await drills.running_drills(session):
        if action.object_uid in node_uids and DrillParameters.parse(action).kind not in INSTANT_KINDS:
            raise Conflict(
                "drill_running",
                f"A drill is running on node {action.object_uid}: {action.description.removeprefix('Drill: ')}. End it first, "
                "or wait until it has ended.",
            )


def describe(kind: str, node_uid: int, seconds: float, shard_uid: int | None) -> str:
    return DESCRIPTIONS[kind].format(node=node_uid, seconds=seconds, shard=shard_uid)
