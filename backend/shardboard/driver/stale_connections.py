"""Termination of shard connections from addresses that no longer belong to the cluster."""

import re
from collections.abc import Collection, Sequence

from shardboard.driver.interfaces import Agents, ShardCommand
from shardboard.driver.valkey_cluster import ShardRef, command
from shardboard.errors import AgentUnreachable

TIMEOUT_SECONDS = 5.0
"""Seconds that a node may take to respond."""
_CLIENT = re.compile(r"^id=(\d+) addr=(\S+):\d+ ", re.MULTILINE)


async def close(agents: Agents, queried: Sequence[ShardRef], addresses: Collection[str]) -> None:
    """Close client connections from these addresses, including those of replicas. Cluster bus links are not clients and stay.

    Raises AgentError if a shard does not respond; some connections may then still be open.
    """
    client_lists = await command(agents, queried, "CLIENT", "LIST", timeout=TIMEOUT_SECONDS)
    for shard in queried:
        reply = client_lists.get(shard.uid)
        if reply is None or not reply.ok:
            raise AgentUnreachable(f"shard redis:{shard.uid} did not list its clients")
        commands = [
            ShardCommand(uid=shard.uid, engine_id=shard.engine_id, argv=["CLIENT", "KILL", "ID", client])
            for client, address in _CLIENT.findall(reply.reply)
            if address.strip("[]") in addresses
        ]
        if commands:
            await agents.command(shard.node, commands)
