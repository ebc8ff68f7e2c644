"""Changing settings of a node."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract import CpuPinning
from shardboard.contract.cpu_pinning import pinning_error
from shardboard.errors import BadRequest
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster.nodes import Node


async def configure(session: AsyncSession, node: Node, changes: Mapping[str, Any], principal: Principal) -> Node:
    """Change settings of a node. `accept_servers` is a column; all other settings are in `config`. Raises BadRequest if the node
    does not have the cores of `cpu_pinning`.
    """
    _check_pinning(node, changes)
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
            f"Settings of node {node.uid} were changed: {', '.join(sorted(changed))}.{zone_change}"
            + (_pinning_text(node.cpu_pinning) if "cpu_pinning" in changed else ""),
            source="node",
            originator=principal.username,
            node_uid=node.uid,
        )
    return node


def _check_pinning(node: Node, changes: Mapping[str, Any]) -> None:
    pinning = CpuPinning.model_validate(changes.get("cpu_pinning", {}))
    # Clients send back the object that they received, also if a core has gone offline since.
    if pinning.mode == "off" or pinning == node.cpu_pinning:
        return
    if node.cpus is None:
        message = f"The agent of node {node.uid} does not report its cores. Upgrade the agent."
        raise BadRequest("bad_request", message, field="cpu_pinning")
    field, reason = pinning_error(pinning, node.cpus)
    if field:
        raise BadRequest("bad_request", f"cpu_pinning.{field}: {reason}.", field=f"cpu_pinning.{field}")


def _pinning_text(pinning: CpuPinning) -> str:
    match pinning.mode:
        case "off":
            return " Its processes can use all cores."
        case "numa":
            text = " Each shard runs on one NUMA node"
        case "cores":
            text = f" Shards run on {f'cores {pinning.shards}' if pinning.shards else 'all cores'}"
    if pinning.cores_per_shard:
        text += f", {pinning.cores_per_shard} for each shard"
    return f"{text}, and the proxy on {f'cores {pinning.proxy}' if pinning.proxy else 'all cores'}."
