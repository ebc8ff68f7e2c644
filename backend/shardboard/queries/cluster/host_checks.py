"""Host settings of nodes that cost latency or data, as agents report them, and the load that shards put on their cores."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.databases import io_threads
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards


async def checks(session: AsyncSession, machines: Sequence[Node]) -> Mapping[int, list[dict[str, Any]]]:
    """Return the checks of these nodes by uid, in the form of the contract's HostCheck."""
    every = {node.uid: node.facts["machine_id"] for node in await nodes.list_all(session)}
    threads = {bdb.uid: bdb.io_threads for bdb in await bdbs.list_all(session)}
    held: dict[str, list[int]] = {}
    for row in await shards.list_all(session):
        held.setdefault(every.get(row.node_uid, ""), []).append(threads.get(row.bdb_uid, io_threads.OFF))
    found = {}
    for node in machines:
        crowd = io_threads.thread_count(node.facts["cores"], held.get(every[node.uid], []))
        found[node.uid] = [*node.facts.get("host", []), *([asdict(crowd)] if crowd is not None else [])]
    return found
