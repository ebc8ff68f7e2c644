"""How a load generator reaches a database."""

import asyncio
from collections.abc import Collection, Sequence

from shardboard.domain import benchmark_plan, benchmark_tools, workload
from shardboard.driver.cluster import ShardRef
from shardboard.driver.ports import Agents, ShardCommand, StartLoad
from shardboard.state.bdbs import Bdb
from shardboard.state.benchmarks import Benchmark, BenchmarkLoad
from shardboard.state.nodes import Node


def order(load: BenchmarkLoad, row: Benchmark, bdb: Bdb, nodes: Sequence[Node]) -> StartLoad:
    """What the load's node is told."""
    told = row.spec["phases"][load.phase]["workload"]
    places: list[int] = row.spec["load_nodes"]
    own = benchmark_plan.share(told, places.index(load.node_uid), len(places))
    tool = row.spec.get("tool", benchmark_tools.OWN)
    addresses = _addresses(bdb, nodes)
    seeds = addresses if bdb.sharding and bdb.config["oss_cluster"] else []
    return StartLoad(
        id=load.uid,
        tool=tool,
        arguments=benchmark_tools.arguments(tool, addresses[0], bdb.port, seeds, own),
        password=bdb.config["authentication_redis_pass"],
        tls=bdb.config["tls_mode"] == "enabled",
    )


def _addresses(bdb: Bdb, nodes: Sequence[Node]) -> list[str]:
    serving = [node for node in nodes if node.uid in bdb.endpoint_nodes]
    return [node.addr for node in serving if node.health != "down"] or [node.addr for node in serving]


SAMPLES = 20
"""Keys looked at in each shard."""
MOST_SHARDS = 16


async def foreign_keys(agents: Agents, primaries: Sequence[ShardRef], row: Benchmark) -> str:
    """A sentence when the database holds keys that no benchmark wrote, as far as a sample tells; else empty."""
    prefixes = {workload.prefix(phase["workload"]) for phase in row.spec["phases"]} | {workload.prefix({})}
    told = await asyncio.gather(*(_keys(agents, shard) for shard in primaries[:MOST_SHARDS]))
    keys = [key for found in told for key in found]
    foreign = [key for key in keys if not _own(key, prefixes)]
    if not foreign:
        return ""
    share = 100 * len(foreign) / len(keys)
    return (
        f"The database holds keys that no benchmark wrote ({share:.0f} % of {len(keys)} that were looked at). "
        "The run would add to them, and push them out where memory ends: order it with overwrite if that is meant."
    )


def _own(key: str, prefixes: Collection[str]) -> bool:
    """Written by a benchmark: a prefix and a number. An empty prefix leaves the number."""
    return any(key.startswith(prefix) and (bool(prefix) or key.isdecimal()) for prefix in prefixes)


async def _keys(agents: Agents, shard: ShardRef) -> list[str]:
    commands = [ShardCommand(uid=shard.uid, engine_id=shard.engine_id, argv=["RANDOMKEY"]) for _ in range(SAMPLES)]
    replies = await agents.command(shard.node, commands)
    return [key for reply in replies if reply.ok and (key := _text(reply.reply))]


def _text(reply: str) -> str:
    """A bulk reply as an agent shows it; empty for none."""
    if reply in ("None", ""):
        return ""
    return reply[2:-1] if reply.startswith(("b'", 'b"')) else reply
