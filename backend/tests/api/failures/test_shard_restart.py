"""Tests of restarting a dead shard over HTTP."""

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents

pytestmark = pytest.mark.usefixtures("nodes")


async def test_restart_with_data_loss_requires_confirmation(
    console: Console, agents: FakeAgents, client: httpx.AsyncClient
) -> None:
    await active_database.create_active_database(console, agents)
    await active_database.kill_shards(console, agents, 1, 4)
    url = "/v1/shards/1/actions/restart"
    reply = await client.post(url, json={})
    assert (reply.status_code, reply.json()["error_code"]) == (400, "data_would_be_lost")
    assert "all its keys are lost" in reply.json()["description"]
    reply = await client.post(url, json={"discard_data": True, "confirm": "shard 2"})
    assert (reply.status_code, reply.json()["field"]) == (400, "confirm")
    reply = await client.post(url, json={"discard_data": True, "dry_run": True})
    assert (reply.status_code, reply.json()["action_uid"]) == (200, None)
    reply = await client.post(url, json={"discard_data": True, "confirm": "shard 1"})
    assert reply.status_code == 200
    action = (await client.get(f"/v2/actions/{reply.json()['action_uid']}")).json()
    assert action["additional_info"]["description"] == "Restart shard redis:1 of shop, empty"
    assert (await client.post("/v1/shards/2/actions/restart", json={})).json()["error_code"] == "shard_not_down"
    assert (await client.post("/v1/shards/9/actions/restart", json={})).status_code == 404
