"""How a load generator connects to a database."""

import asyncio
from collections.abc import Collection, Sequence

from shardboard.domain.benchmarks import benchmark_plan, benchmark_tools, workload
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.driver.interfaces import Agents, ShardCommand, StartLoad
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.kit.addresses import host_port
from shardboard.state.benchmarks.benchmark_runs import Benchmark, BenchmarkLoad
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb


def start_request(load: BenchmarkLoad, row: Benchmark, bdb: Bdb, nodes: Sequence[Node]) -> StartLoad:
    """Return the request that starts a load on its node."""
    workload_spec = row.spec["phases"][load.phase]["workload"]
    node_uids: list[int] = row.spec["load_nodes"]
    share = benchmark_plan.workload_share(workload_spec, node_uids.index(load.node_uid), len(node_uids))
    tool = row.spec.get("tool", benchmark_tools.OWN)
    addresses = _addresses(bdb, nodes)
    is_cluster = bdb.sharding and bdb.config["oss_cluster"]
    seeds = [host_port(address, bdb.port) for address in addresses] if is_cluster else []
    return StartLoad(
        id=load.uid,
        tool=tool,
        arguments=benchmark_tools.arguments(tool, addresses[0], bdb.port, seeds, share),
        password=bdb.config["authentication_redis_pass"],
        tls=bdb.config["tls_mode"] == "enabled",
    )


def _addresses(bdb: Bdb, nodes: Sequence[Node]) -> list[str]:
    endpoint_nodes = [node for node in nodes if node.uid in bdb.endpoint_nodes]
    return [node.addr for node in endpoint_nodes if node.health != NodeHealth.DOWN] or [
        node.addr for node in endpoint_nodes
    ]


SAMPLES = 20
"""Number of keys sampled per shard."""
MAX_SHARDS = 16


async def foreign_keys(agents: Agents, primaries: Sequence[ShardRef], row: Benchmark) -> str:
    """Return an error message if a sample shows keys that no benchmark wrote; empty otherwise."""
    prefixes = {workload.prefix(phase["workload"]) for phase in row.spec["phases"]} | {workload.prefix({})}
    key_samples = await asyncio.gather(*(_keys(agents, shard) for shard in primaries[:MAX_SHARDS]))
    keys = [key for keys_of_shard in key_samples for key in keys_of_shard]
    foreign = [key for key in keys if not _own(key, prefixes)]
    if not foreign:
        return ""
    share = 100 * len(foreign) / len(keys)
    return (
        f"The database contains keys that no benchmark wrote ({share:.0f}% of {len(keys)} sampled keys). "
        "The run would add keys and could evict the existing ones. To run it anyway, set `overwrite`."
    )


def _own(key: str, prefixes: Collection[str]) -> bool:
    """Return whether a benchmark wrote the key: a prefix and a number, or only a number for an empty prefix."""
    return any(key.startswith(prefix) and (bool(prefix) or key.isdecimal()) for prefix in prefixes)


async def _keys(agents: Agents, shard: ShardRef) -> list[str]:
    commands = [ShardCommand(uid=shard.uid, engine_id=shard.engine_id, argv=["RANDOMKEY"]) for _ in range(SAMPLES)]
    replies = await agents.command(shard.node, commands)
    return [key for reply in replies if reply.ok and (key := _text(reply.reply))]


def _text(reply: str) -> str:
    """Return the key in a bulk reply as formatted by the agent; empty if there is none."""
    if reply in ("None", ""):
        return ""
    return reply[2:-1] if reply.startswith(("b'", 'b"')) else reply
