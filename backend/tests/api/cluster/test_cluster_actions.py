"""Tests of `change_master`: the change of the leading console in the format of the reference."""

import httpx
import pytest
from backend.tests.api.cluster.test_consoles import rows, successor

from shardboard.console import Console
from shardboard.state.cluster.nodes import Node

__all__ = ["rows"]


async def place(console: Console, hostname: str) -> None:
    async with console.store.begin() as session:
        node = await session.get_one(Node, 1)
        node.facts = {**node.facts, "hostname": hostname}


@pytest.mark.usefixtures("nodes")
async def test_the_console_on_a_node_becomes_the_leader(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.get("/v1/cluster/actions")).json() == {"actions": []}
    await place(console, "other.example.org")
    assert (await client.post("/v1/cluster/actions/change_master", json={"node_uid": "1"})).json() == {}
    assert await successor(console) == "other"
    running = {"name": "change_master", "status": "running", "progress": 0.0}
    assert (await client.get("/v1/cluster/actions")).json() == {"actions": [running]}
    assert (await client.get("/v1/cluster/actions/change_master")).json() == running
    assert (await client.delete("/v1/cluster/actions/change_master")).json() == {}
    assert await successor(console) is None
    for method in ("GET", "DELETE"):
        assert (await client.request(method, "/v1/cluster/actions/change_master")).status_code == 404


@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize(
    ("action", "node_uid", "refusal"),
    [
        ("change_master", "2", (406, "console_not_found")),
        ("change_master", 99, (404, "node_not_found")),
        ("change_master", "one", (404, "node_not_found")),
        ("change_master", "9" * 5000, (404, "node_not_found")),
        ("restart", "1", (400, "bad_request")),
    ],
)
async def test_invalid_requests_are_refused(
    client: httpx.AsyncClient, action: str, node_uid: str | int, refusal: tuple[int, str]
) -> None:
    reply = await client.post(f"/v1/cluster/actions/{action}", json={"node_uid": node_uid})
    assert (reply.status_code, reply.json()["error_code"]) == refusal
