"""Deletion of all keys of a database."""

from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers.databases.bdb_changes import failure_message, failures_by_shard
from shardboard.reconcilers.load_database import DesiredDatabase


async def delete_all_keys(agents: Agents, database: DesiredDatabase) -> str:
    """Run FLUSHALL on all primaries. Return why it did not reach all of them; empty if it did."""
    primary_pairs = {shard.pair for shard in database.primaries}
    if missing_pairs := sorted({shard.pair for shard in database.shards} - primary_pairs):
        # A replica that is promoted later would restore its keys.
        return f"pair {missing_pairs[0]} has no available primary"
    reasons = failures_by_shard(await valkey_cluster.command(agents, database.primaries, "FLUSHALL", "ASYNC"))
    return failure_message(reasons) if reasons else ""
