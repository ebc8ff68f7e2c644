"""Limiter for full syncs, which enforces `max_slave_full_syncs` of nodes and policy for all actions.

The syncs granted to an action are stored in its `params`, so that they count for all other actions, survive a restart of the
console, and end with the action. Full syncs without an action (after a long link failure) count too while they are observed.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.move_parameters import FullSyncParameters
from shardboard.actions.parameters import write
from shardboard.domain.placement import full_sync_limit
from shardboard.domain.placement.full_sync_limit import UNLIMITED, Transfer
from shardboard.state.alerting import events
from shardboard.state.cluster import actions, cluster, nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import shards
from shardboard.store.db import Store

COPYING = ("transfer", "load")


async def admit_syncs(store: Store, action: Action, behind: Sequence[Transfer]) -> set[int]:
    """Return the uids of those replicas in `behind` (out of sync, running or not) whose full sync may run now.

    Call this in each step with all replicas that are still out of sync: replicas that are no longer named release their slot. Call
    it before a replica is started, and start only the returned ones.
    """
    async with store.read() as session:
        limits = await _limits(session)
    if all(limits.get(node, UNLIMITED) == UNLIMITED for transfer in behind for node in transfer.nodes):
        return {transfer.uid for transfer in behind}
    async with store.begin() as session:
        await cluster.load_for_update(session)  # another action may be choosing at the same time
        row = await actions.by_uid(session, action.uid)
        if row is None or not row.is_leased_as(action.lease_token):
            return set()
        pending = {transfer.uid: transfer for transfer in behind}
        granted = [transfer for transfer in _granted(row) if transfer.uid in pending]
        admitted = full_sync_limit.admit(
            [*granted, *pending.values()], [*granted, *await _others(session, row)], await _limits(session)
        )
        admitted_by_uid = {transfer.uid: transfer for transfer in admitted}
        if list(admitted_by_uid.values()) != _granted(row):
            write(row, FullSyncParameters(full_syncs=tuple(admitted_by_uid.values())))
        return set(admitted_by_uid)


async def _limits(session: AsyncSession) -> dict[int, int]:
    policy = (await cluster.load(session)).rules.max_slave_full_syncs
    node_limits = {
        node.uid: node.config.get("max_slave_full_syncs", full_sync_limit.USE_CLUSTER_POLICY)
        for node in await nodes.list_all(session)
    }
    return {uid: full_sync_limit.limit(value, policy) for uid, value in node_limits.items()}


async def _others(session: AsyncSession, own: Action) -> list[Transfer]:
    """Return the syncs granted to other actions, and observed ones without an action."""
    transfers = [
        transfer
        for other in await actions.list_unfinished(session)
        if other.uid != own.uid
        for transfer in _granted(other)
    ]
    own_uids = {transfer.uid for transfer in _granted(own)}
    node_by_shard = {shard.uid: shard.node_uid for shard in await shards.list_all(session)}
    for event in await events.list_open_spans(session, "resync"):
        details: dict[str, Any] = event.details
        to_node, from_node = node_by_shard.get(event.shard_uid or 0), node_by_shard.get(details["primary"])
        if details["phase"] not in COPYING or event.shard_uid is None or event.shard_uid in own_uids:
            continue
        if to_node is not None and from_node is not None:
            transfers.append(Transfer(event.shard_uid, to_node, from_node))
    return transfers


def _granted(action: Action) -> list[Transfer]:
    return list(FullSyncParameters.parse(action).full_syncs)
