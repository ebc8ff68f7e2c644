"""How a load generator connects to a database, and which keys the database contains."""

import asyncio
from collections.abc import Sequence
from itertools import chain

from shardboard.domain.benchmarks import (
    benchmark_cost,
    benchmark_plan,
    benchmark_tools,
    find_max_steps,
    foreign_keys,
    workload,
)
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.driver.interfaces import Agents, ShardCommand, StartLoad
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.kit.addresses import host_port
from shardboard.reconcilers.load_database import database
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import Benchmark, BenchmarkLoad
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store


def start_request(load: BenchmarkLoad, row: Benchmark, bdb: Bdb, nodes: Sequence[Node]) -> StartLoad:
    """Return the request that starts a load on its node."""
    workload_spec = find_max_steps.workload_of(row.spec["phases"][load.phase], row.search, load.repetition)
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


async def refusal(store: Store, agents: Agents, row: Benchmark, bdb: Bdb) -> str:
    """Return why a run must not start; empty if it may. The keys can have changed since the request, or were unknown then."""
    spec = row.spec
    if spec.get("overwrite") or not any(workload.writes(phase["workload"]) for phase in spec["phases"]):
        return ""
    target = await database(store, bdb.uid)
    keys = await _sample_keys(agents, target.primaries) if target is not None else []
    async with store.read() as session:
        specs = await benchmark_runs.list_started_specs(session, bdb.uid)
    warnings = foreign_keys.preflight_warnings(
        foreign_keys.examine(keys, foreign_keys.known_prefixes(specs)),
        benchmark_cost.cost(spec["phases"], spec["repetitions"]),
        evicts=bdb.config["eviction_policy"] != "noeviction",
    )
    if not warnings:
        return ""
    async with store.begin() as session:
        if (stored := await benchmark_runs.by_uid(session, row.uid)) is not None:
            stored.facts = {**stored.facts, "error_code": foreign_keys.CODE}
    return f"{warnings[0].description} To run the benchmark anyway, send {warnings[0].agree}."


async def _sample_keys(agents: Agents, primaries: Sequence[ShardRef]) -> list[str]:
    """Return random keys of the database. Raises AgentError if a primary's agent does not respond."""
    replies = await asyncio.gather(
        *(
            agents.command(
                shard.node,
                [ShardCommand(uid=shard.uid, engine_id=shard.engine_id, argv=list(foreign_keys.COMMAND))]
                * foreign_keys.SAMPLES_PER_SHARD,
            )
            for shard in primaries[: foreign_keys.MAX_SHARDS]
        )
    )
    return foreign_keys.sampled_keys(chain.from_iterable(replies))
