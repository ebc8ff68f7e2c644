"""Tests of the effects of losing nodes and zones over HTTP."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    """Database with primaries 1, 2, 3 on nodes 1, 2, 3 and replicas 4, 5, 6 on nodes 2, 3, 1."""
    await active_database.create_active_database(console, agents)


async def redundancy(client: httpx.AsyncClient) -> dict[str, Any]:
    reply = await client.get("/v1/cluster/redundancy")
    assert reply.status_code == 200
    found: dict[str, Any] = reply.json()
    return found


async def test_shards_of_each_node_can_be_rebuilt(client: httpx.AsyncClient) -> None:
    found = await redundancy(client)
    assert (found["survives_node"], found["survives_zone"]) == (True, None)
    assert [(each["nodes"], each["effect"], each["shards"]) for each in found["losses"]] == [
        ([1], "none", 2),
        ([2], "none", 2),
        ([3], "none", 2),
    ]
    assert [each["is_largest"] for each in found["losses"]].count(True) == 1


async def test_copies_that_are_not_in_sync_do_not_count(client: httpx.AsyncClient, console: Console) -> None:
    await active_database.set_observed_state(console, 4, status="down")
    found = await redundancy(client)
    assert not found["survives_node"]
    [first] = [each for each in found["losses"] if each["effect"] == "unavailable"]
    assert (first["nodes"], first["unavailable_pairs"], first["unavailable_databases"]) == ([1], 1, ["shop"])


async def test_zones_are_lost_with_their_nodes(client: httpx.AsyncClient) -> None:
    for uid, rack_id in enumerate(("A", "A", "b"), 1):
        assert (await client.put(f"/v1/nodes/{uid}", json={"rack_id": rack_id})).status_code == 200
    found = await redundancy(client)
    assert (found["survives_node"], found["survives_zone"]) == (True, False)
    zones = {each["rack_id"]: (each["nodes"], each["effect"]) for each in found["losses"] if each["rack_id"]}
    assert zones == {"a": ([1, 2], "unavailable"), "b": ([3], "none")}
