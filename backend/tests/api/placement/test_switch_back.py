"""Tests of switching primaries back after an outage over HTTP."""

from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store_in_all

PATH = "/v1/bdbs/1/actions/return_primaries"


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_sparse_database(console, agents)


async def fail_over(console: Console, promoted: int, lost: int) -> None:
    """Set the state after an outage: the lost shard has returned as a replica."""
    async with console.store.begin() as session:
        for uid, role in ((promoted, "master"), (lost, "slave")):
            row = await session.get_one(Shard, uid)
            row.role = row.observed_role = role
            row.observed_link = "" if role == "master" else "idle"
            row.should_regain_primary = role == "slave"


async def refusal(client: httpx.AsyncClient) -> tuple[int, str, str]:
    reply = await client.put(PATH)
    return reply.status_code, reply.json()["error_code"], reply.json()["description"]


async def shards_that_lost_the_primary_role(client: httpx.AsyncClient) -> list[str]:
    rows: list[dict[str, Any]] = (await client.get("/v1/shards")).json()
    return [row["uid"] for row in rows if row["lost_lead"]]


async def test_primaries_are_switched_back(client: httpx.AsyncClient, console: Console) -> None:
    await fail_over(console, promoted=4, lost=1)
    assert await shards_that_lost_the_primary_role(client) == ["1"]
    reply = (await client.put(PATH)).json()
    assert reply["description"] == "Return 1 primary of shop to where it was before the outage"
    async with console.store.read() as session:
        [action] = await actions.list_recent(session)
        [event] = [
            each for each in await events.page(session, newest_first=True) if each.type == "primaries_return_request"
        ]
    assert action.uid == reply["action_uid"] == event.action_uid
    assert [(each["promote"], each["to"]) for each in action.params["moves"]] == [(1, None)]
    assert event.originator == action.originator != "system"
    assert (await refusal(client))[:2] == (409, "db_busy")


async def test_request_without_lost_primary_roles_is_refused(client: httpx.AsyncClient) -> None:
    assert await refusal(client) == (409, "nothing_to_return", "No primary of shop lost its role in an outage.")
    assert await shards_that_lost_the_primary_role(client) == []


async def test_obstacles_are_reported(client: httpx.AsyncClient, console: Console) -> None:
    await fail_over(console, promoted=4, lost=1)
    async with console.store.begin() as session:
        (await session.get_one(Shard, 1)).observed_link = "in_progress"
    assert await refusal(client) == (
        409,
        "not_now",
        "Primaries of shop cannot be switched back now: redis:1 is not in sync.",
    )


async def test_unknown_database_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.put("/v1/bdbs/9/actions/return_primaries")).status_code == 404
