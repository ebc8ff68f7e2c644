"""Changing settings of a node."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster.nodes import Node


async def configure(session: AsyncSession, node: Node, changes: Mapping[str, Any], principal: Principal) -> Node:
    """Change settings of a node. `accept_servers` is a column; all other settings are in `config`."""
    settings = {name: value for name, value in changes.items() if name != "accept_servers"}
    changed = {name for name, value in settings.items() if node.config.get(name) != value}
    if changes.get("accept_servers", node.accept_servers) != node.accept_servers:
        node.accept_servers = changes["accept_servers"]
        changed.add("accept_servers")
    if changed:
        previous_zones = node.zones
        node.config = {**node.config, **settings}
        zone_change = (
            f" Its zone is now {', '.join(sorted(node.zones)) or 'unknown'} instead of "
            f"{', '.join(sorted(previous_zones)) or 'unknown'}."
            if node.zones != previous_zones
            else ""
        )
        events.record(
            session,
            "node_updated",
            f"Settings of node {node.uid} were changed: {', '.join(sorted(changed))}.{zone_change}",
            source="node",
            originator=principal.username,
            node_uid=node.uid,
        )
    return node
