"""Replication state of shards, and commands that change it while both sides are up."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardboard.contract import CommandResult
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef, command
from shardboard.valkey.replies import cluster_lines, info_fields

TIMEOUT_SECONDS = 5.0
"""Seconds that a node may take to respond; a node that hangs must not delay the others."""


@dataclass(frozen=True)
class Link:
    """Replication state of one shard."""

    is_primary: bool
    up: bool
    """Whether a replica is connected and has the recent data of its primary; always true for a primary."""
    primary: tuple[str, int] | None
    """Address and port of the primary that a replica follows."""


async def links(agents: Agents, shards: Sequence[ShardRef]) -> dict[int, Link]:
    """Return the state by uid of the shards that respond."""
    replies = await command(agents, shards, "INFO", "replication", timeout=TIMEOUT_SECONDS)
    return {uid: _link(result.reply) for uid, result in replies.items() if result.ok}


async def meet(agents: Agents, hosts: Sequence[ShardRef], new_shards: Sequence[ShardRef]) -> None:
    """Make shards of a running cluster meet newcomers. Idempotent: known shards are not met twice."""
    requests = [
        command(
            agents,
            hosts,
            *("CLUSTER", "MEET", new_shard.node.addr, str(new_shard.port), str(new_shard.bus_port)),
            timeout=TIMEOUT_SECONDS,
        )
        for new_shard in new_shards
    ]
    await asyncio.gather(*requests)


async def unaware_hosts(
    agents: Agents, hosts: Sequence[ShardRef], new_shards: Sequence[tuple[ShardRef, ShardRef]]
) -> dict[int, list[ShardRef]]:
    """Return for each newcomer, given with its primary, the hosts that do not yet know it as a replica of this primary.

    A replica needs to be known to all primaries to win their votes, and to its primary for a planned failover.
    """
    replies = await command(agents, hosts, "CLUSTER", "NODES", timeout=TIMEOUT_SECONDS)
    views = {uid: _replicas(result.reply) for uid, result in replies.items() if result.ok}
    return {
        new_shard.uid: [host for host in hosts if views.get(host.uid, {}).get(new_shard.engine_id) != primary.engine_id]
        for new_shard, primary in new_shards
    }


async def follow(agents: Agents, replicas: Sequence[ShardRef], head: ShardRef) -> dict[int, CommandResult]:
    """Make shards replicate from `head` and store this. Only outside of cluster mode."""
    await command(agents, replicas, "REPLICAOF", head.node.addr, str(head.port), timeout=TIMEOUT_SECONDS)
    return await command(agents, replicas, "CONFIG", "REWRITE", timeout=TIMEOUT_SECONDS)


async def forget_node(agents: Agents, hosts: Sequence[ShardRef], engine_id: str) -> list[int]:
    """Make shards forget a removed one. Return the uids of those on which this failed."""
    replies = await command(agents, hosts, "CLUSTER", "FORGET", engine_id, timeout=TIMEOUT_SECONDS)
    return [uid for uid, result in replies.items() if not result.ok and "Unknown node" not in result.reply]


def _link(info: str) -> Link:
    fields = info_fields(info)
    if fields.get("role") == ShardRole.PRIMARY:
        return Link(is_primary=True, up=True, primary=None)
    host, port = fields.get("master_host", ""), fields.get("master_port", "")
    primary = (host, int(port)) if host and port.isdigit() else None
    return Link(is_primary=False, up=fields.get("master_link_status") == "up", primary=primary)


def _replicas(text: str) -> Mapping[str, str]:
    """Return the primary of each replica, both by engine id, from the lines of CLUSTER NODES."""
    return {
        line.engine_id: line.primary
        for line in cluster_lines(text).values()
        if ShardRole.REPLICA in line.flags and line.has_port
    }
