"""Effects of the loss of each node and each zone."""

import asyncio
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.placement import redundancy
from shardboard.domain.placement.redundancy import Loss


async def losses(session: AsyncSession) -> Sequence[Loss]:
    """Return the effects of the loss of each node and each zone. Nodes that are already down, and copies that are not in sync, do
    not count as redundant.
    """
    view = await movement.current_view(session)
    strict = view.layout(overbooking=False)
    overbooked = view.layout(overbooking=True) if view.overbooking else None
    up = [node.uid for node in view.nodes.values() if node.health == NodeHealth.UP]
    # With hundreds of nodes, this takes a second.
    return await asyncio.to_thread(redundancy.losses, strict, overbooked, list(view.nodes), up)
