"""Change of the cost model."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as state


async def set_prices(session: AsyncSession, prices: Mapping[str, Any], principal: Principal) -> dict[str, Any]:
    """Store the prices and return them."""
    cluster = await state.load_for_update(session)
    if cluster.cost_model != prices:
        cluster.cost_model = dict(prices)
        events.record(
            session,
            "cluster_updated",
            "The cost model was changed: "
            f"{prices['ram_gb']:g} per GB of RAM, {prices['flash_gb']:g} per GB of flash, and {prices['node']:g} per node "
            f"({prices['currency']}).",
            originator=principal.username,
        )
    return dict(prices)
