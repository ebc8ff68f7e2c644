"""Tests of node checks over HTTP."""

from typing import Any

import httpx

from shardboard.console import Console
from shardboard.state.cluster.nodes import Node

GOOD = {"name": "overcommit", "value": "1", "good": True, "costs": "", "mends": ""}
BAD = {"name": "transparent huge pages", "value": "always", "good": False, "costs": "Latency.", "mends": "echo never"}


async def change(console: Console, uid: int, **values: Any) -> None:
    async with console.store.begin() as session:
        node = await session.get_one(Node, uid)
        for name, value in values.items():
            setattr(node, name, value)


async def test_healthy_nodes_pass(client: httpx.AsyncClient, console: Console, nodes: list[Node]) -> None:
    for node in nodes:
        await change(console, node.uid, facts={**node.facts, "host": [GOOD]}, proxy={"state": "running"})
    await change(console, 3, proxy={"state": "absent"})  # no database has an endpoint on this node
    uids = [node.uid for node in nodes]
    assert (await client.get("/v1/cluster/check")).json() == {
        "cluster_test_result": True,
        "nodes": [{"node_uid": str(uid), "result": True} for uid in uids],
    }
    assert (await client.get("/v1/nodes/check/1")).json() == {"node_uid": 1, "result": True}


async def test_first_problem_of_each_node_is_reported(
    client: httpx.AsyncClient, console: Console, nodes: list[Node]
) -> None:
    await change(console, 1, facts={**nodes[0].facts, "host": [GOOD, BAD]}, proxy={"state": "running"})
    await change(console, 2, facts={**nodes[1].facts, "host": [BAD]}, proxy={"state": "died"})
    await change(console, 3, facts={**nodes[2].facts, "host": [BAD]}, proxy={"state": "died"}, health="down")
    errors = [
        "transparent huge pages is always: Latency. echo never",
        "The node's proxy is not running.",
        "The console cannot reach the node's agent.",
    ]
    check = (await client.get("/v1/cluster/check")).json()
    assert check["cluster_test_result"] is False
    assert [(each["result"], each["error"]) for each in check["nodes"]] == [(False, error) for error in errors]
    for uid, error in enumerate(errors, 1):
        assert (await client.get(f"/v1/nodes/check/{uid}")).json() == {"node_uid": uid, "result": False, "error": error}


async def test_unknown_node_is_not_found(client: httpx.AsyncClient) -> None:
    reply = await client.get("/v1/nodes/check/9")
    assert (reply.status_code, reply.json()["error_code"]) == (404, "node_not_found")
