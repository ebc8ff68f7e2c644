"""Tests of the repair of a database over HTTP."""

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.databases.unknown_shards import InventoryLoop

pytestmark = pytest.mark.usefixtures("nodes")

URL = "/v1/bdbs/1/actions/repair"


async def test_repair_with_data_loss_requires_confirmation(
    console: Console, agents: FakeAgents, client: httpx.AsyncClient
) -> None:
    await active_database.create_active_database(console, agents)
    assert "mismatch" not in (await client.get("/v1/bdbs/1")).json()
    reply = await client.post(URL, json={})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "repair_not_needed")
    agents.running.clear()
    await InventoryLoop(console.store, console.bus, agents).sweep()
    database = (await client.get("/v1/bdbs/1")).json()
    assert database["mismatch"].startswith("Agents did not have 6 shards (redis:1, redis:6 on node 1;")
    assert (database["shards_in_sync"], database["shards_down"], database["primaries_down"]) == (0, 6, 3)
    shard = (await client.get("/v1/shards/1")).json()
    assert (shard["status"], shard["detail"]) == ("inactive", "the agent of node 1 does not have it")
    assert (await client.get("/v1/bdbs/1/availability")).status_code == 503
    alarms = (await client.get("/v1/cluster/health")).json()["alarms"]
    assert (1, "alarm_store_mismatch") in {(each.get("bdb_uid"), each["type"]) for each in alarms}
    reply = await client.post(URL, json={"dry_run": True})
    assert (reply.status_code, reply.json()["action_uid"], reply.json()["loses_data"]) == (200, None, True)
    reply = await client.post(URL, json={"confirm": "database 2"})
    assert (reply.status_code, reply.json()["field"]) == (400, "confirm")
    reply = await client.post(URL, json={"confirm": "database 1"})
    assert reply.status_code == 200
    action = (await client.get(f"/v2/actions/{reply.json()['action_uid']}")).json()
    assert (action["name"], action["additional_info"]["description"]) == ("SMRepairBDB", "Repair shop")
    assert (await client.post(URL, json={"confirm": "database 1"})).status_code == 409
    assert (await client.post("/v1/bdbs/9/actions/repair", json={})).status_code == 404
