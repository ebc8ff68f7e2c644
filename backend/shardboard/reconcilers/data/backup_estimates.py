"""Expected sizes of the files of a backup, for its progress: an RDB file that is being written does not contain its size."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers.data.backup_context import BackupContext
from shardboard.reconcilers.load_database import node_ref, shard_ref
from shardboard.state.data import backups

FIELD = "used_memory_dataset"
"""Memory of keys and values without that of indexes, buffers and connections."""
TIMEOUT_SECONDS = 5.0


async def estimate(session: AsyncSession, context: BackupContext) -> dict[str, int]:
    """Return the expected size without compression of each pair's file, from the previous backup; empty if there is none."""
    previous = await backups.previous(session, context.row)
    if previous is None:
        return {}
    return dict.fromkeys(context.row.slots, previous.raw_bytes // max(1, len(context.row.slots)))


async def estimate_from_memory(agents: Agents, context: BackupContext) -> dict[str, int]:
    """Return the expected size of each pair's file, from the memory that its primary uses. Pairs without a reply are left out."""
    nodes = {node.uid: node_ref(node) for node in context.nodes}
    primaries = {row.uid: row for row in context.shards if row.current_role == ShardRole.PRIMARY}
    references = [shard_ref(row, nodes[row.node_uid]) for row in primaries.values() if row.node_uid in nodes]
    replies = await valkey_cluster.command(agents, references, "INFO", "memory", timeout=TIMEOUT_SECONDS)
    found = {str(primaries[uid].pair): _bytes(str(each.reply)) for uid, each in replies.items() if each.ok}
    return {pair: count for pair, count in found.items() if count}


def _bytes(info: str) -> int:
    for line in info.splitlines():
        name, _, value = line.partition(":")
        if name == FIELD and value.strip().isdecimal():
            return int(value)
    return 0
