"""Host settings of nodes that cost latency or data, as agents report them, and the load that shards put on their cores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract import HostCheck
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.databases import io_threads
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards


async def checks(session: AsyncSession, machines: Sequence[Node]) -> Mapping[int, list[HostCheck]]:
    """Return the checks of these nodes by uid."""
    machine_ids = {node.uid: node.facts["machine_id"] for node in await nodes.list_all(session)}
    threads = {bdb.uid: bdb.io_threads for bdb in await bdbs.list_all(session)}
    uids_by_machine: dict[str, list[int]] = {}
    for row in await shards.list_all(session):
        uids_by_machine.setdefault(machine_ids.get(row.node_uid, ""), []).append(
            threads.get(row.bdb_uid, io_threads.OFF)
        )
    checks_by_node: dict[int, list[HostCheck]] = {}
    for node in machines:
        thread_count = io_threads.thread_count(node.facts["cores"], uids_by_machine.get(machine_ids[node.uid], []))
        checks_by_node[node.uid] = [HostCheck.model_validate(each) for each in node.facts.get("host", [])]
        if thread_count is not None:
            checks_by_node[node.uid].append(HostCheck(**asdict(thread_count)))
    return checks_by_node


def problems(node: Node, settings: Sequence[HostCheck]) -> Iterator[str]:
    """Yield the problems of a node as sentences. `settings` are the checks of its machine."""
    if node.health == NodeHealth.DOWN:
        yield "The console cannot reach the node's agent."
    if node.proxy.get("state") == "died":  # a proxy without endpoints is stopped, which is not a problem
        yield "The node's proxy is not running."
    for setting in settings:
        if not (setting.good or setting.optional):
            yield f"{setting.name} is {setting.value}: {setting.impact} {setting.remedy}"
