"""Connections to shards from addresses that have no business there any more."""

import re
from collections.abc import Collection, Sequence

from shardboard.driver.cluster import ShardRef, command
from shardboard.driver.ports import Agents, ShardCommand
from shardboard.errors import AgentUnreachable

PATIENCE = 5.0
"""Seconds that a node may take to answer."""
_CLIENT = re.compile(r"^id=(\d+) addr=(\S+):\d+ ", re.MULTILINE)


async def close(agents: Agents, asked: Sequence[ShardRef], addresses: Collection[str]) -> None:
    """Close what comes from these addresses, replicas' links among it; links of the cluster bus are no clients, and stay.

    Raises AgentError when a shard does not answer; then not all was closed.
    """
    listed = await command(agents, asked, "CLIENT", "LIST", patience=PATIENCE)
    for shard in asked:
        told = listed.get(shard.uid)
        if told is None or not told.ok:
            raise AgentUnreachable(f"shard redis:{shard.uid} does not tell who is connected")
        found = [
            ShardCommand(uid=shard.uid, engine_id=shard.engine_id, argv=["CLIENT", "KILL", "ID", client])
            for client, address in _CLIENT.findall(told.reply)
            if address.strip("[]") in addresses
        ]
        if found:
            await agents.command(shard.node, found)
