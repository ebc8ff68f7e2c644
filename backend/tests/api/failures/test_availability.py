"""Tests of the endpoints for load balancers and monitoring, for healthy and impaired databases and clusters."""

from math import inf
from typing import Any

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.kit.tenure import Tenure
from shardboard.schemas.failures import availability as schema
from shardboard.services.access.authorization import Principal
from shardboard.services.cluster.cluster import update_policy
from shardboard.state.alerting import events
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store_in_all


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    """Database with primaries 1, 2, 3 on nodes 1, 2, 3 and replicas 4, 5, 6; the proxies of nodes 1 and 2 serve it."""
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(bdbs.Bdb, 1)).endpoint_nodes = [1, 2]
        for uid in (1, 2):
            (await session.get_one(Node, uid)).proxy = {"state": "running"}


async def fail_proxies(console: Console, *uids: int) -> None:
    async with console.store.begin() as session:
        for uid in uids:
            (await session.get_one(Node, uid)).proxy = {"state": "running", "failures": {"1": "Address in use."}}


async def status_and_code(client: httpx.AsyncClient, path: str) -> tuple[int, str]:
    reply = await client.get(path)
    return reply.status_code, reply.json().get("error_code", "")


AVAILABLE = "/v1/bdbs/1/availability"
ENDPOINT = "/v1/local/bdbs/1/endpoint/availability"


async def test_healthy_database_is_available(client: httpx.AsyncClient) -> None:
    assert [await status_and_code(client, path) for path in (AVAILABLE, f"{AVAILABLE}?extend_check=lag", ENDPOINT)] == [
        (200, "")
    ] * 3


async def test_unknown_database_is_not_found(client: httpx.AsyncClient) -> None:
    for path in ("/v1/bdbs/9/availability", "/v1/local/bdbs/9/endpoint/availability", "/v4/db/9/health"):
        assert await status_and_code(client, path) == (404, "db_not_found")


async def test_database_with_slots_without_a_primary_is_unavailable(
    console: Console, client: httpx.AsyncClient
) -> None:
    await active_database.set_observed_state(console, 1, status="down")
    assert await status_and_code(client, AVAILABLE) == (503, "bdb_unavailable_shard_unreachable")
    assert await status_and_code(client, ENDPOINT) == (200, ""), "its proxies serve the other slots"


async def test_new_shards_of_a_resharding_do_not_make_the_database_unavailable(
    console: Console, client: httpx.AsyncClient
) -> None:
    async with console.store.begin() as session:
        session.add(Shard.planned(9, 1, 1, 3, "master", "", 20009))
    for path in (AVAILABLE, f"{AVAILABLE}?extend_check=lag"):
        assert await status_and_code(client, path) == (200, "")


async def test_database_with_a_refusing_primary_is_unavailable(console: Console, client: httpx.AsyncClient) -> None:
    await active_database.set_observed_state(console, 2, link="cluster_down")
    assert await status_and_code(client, AVAILABLE) == (503, "bdb_unavailable_shard_unreachable")


async def test_unsynchronized_replica_counts_only_in_the_lag_check(console: Console, client: httpx.AsyncClient) -> None:
    await active_database.set_observed_state(console, 5, link="in_progress")
    assert await status_and_code(client, AVAILABLE) == (200, "")
    reply = await client.get(f"{AVAILABLE}?extend_check=lag&availability_lag_tolerance_ms=50")
    assert (reply.status_code, reply.json()["description"]) == (
        503,
        "The replica of replication pair 1 is not in sync.",
    )
    assert (await client.get(f"{AVAILABLE}?extend_check=nothing")).status_code == 400


async def test_endpoint_is_available_while_one_proxy_serves_it(console: Console, client: httpx.AsyncClient) -> None:
    await fail_proxies(console, 1)
    assert [await status_and_code(client, path) for path in (AVAILABLE, ENDPOINT)] == [(200, "")] * 2
    await fail_proxies(console, 2)
    assert await status_and_code(client, AVAILABLE) == (503, "bdb_unavailable_port_unbound")
    assert await status_and_code(client, ENDPOINT) == (503, "bdb_endpoint_unavailable")


async def test_master_healthcheck_reports_a_leader_with_or_without_auth(
    console: Console, client: httpx.AsyncClient
) -> None:
    path = "/v1/local/node/master_healthcheck"
    assert (await client.get(path)).json() == {"status": "inactive"}
    console.leadership._tenure = Tenure(1, console.id, inf)
    assert (await client.get(path)).json() == {"status": "active"}
    anonymous = httpx.AsyncClient(transport=client._transport, base_url=client.base_url)
    assert (await anonymous.get(path)).status_code == 401
    async with console.store.begin() as session:
        await update_policy(session, {"master_healthcheck_api_auth": False}, Principal("a", "admin"))
    assert (await anonymous.get(path)).json() == {"status": "active"}


async def health(client: httpx.AsyncClient, query: str = "") -> dict[str, Any]:
    body: dict[str, Any] = (await client.get(f"/v4/cluster/health{query}")).json()
    schema.ClusterHealth.model_validate(body, strict=True)
    return body


async def test_health_of_a_healthy_cluster(client: httpx.AsyncClient) -> None:
    body = await health(client)
    assert [node["role"] for node in body["nodes"]] == ["leader", "follower", "follower"]
    assert [len(node["shards"]) for node in body["nodes"]] == [2, 2, 2]
    database = {key: body["database_infos"][0][key] for key in ("id", "status", "detailed_status", "high_availability")}
    assert database == {"id": 1, "status": "active", "detailed_status": "active", "high_availability": {"status": "up"}}
    assert (body["status"], body["license"]["shards_in_use"], body["active_alerts"]) == ("ok", 6, [])
    assert (await health(client, "?issues_only"))["database_infos"] == []


async def test_health_reports_problems(console: Console, client: httpx.AsyncClient) -> None:
    await active_database.set_observed_state(console, 1, status="down")
    async with console.store.begin() as session:
        events.record(
            session,
            "alarm_node_down",
            "Node 1 is down.",
            source="node",
            severity="ERROR",
            node_uid=1,
            bdb_uid=1,
            details={"open": True},
        )
    body = await health(client, "?issues_only=true")
    assert [node["id"] for node in body["nodes"]] == [1]
    assert (body["status"], body["database_infos"][0]["status"]) == ("error", "down")
    alert = body["active_alerts"][0]
    assert (alert["name"], alert["severity"]) == ("node_down", "critical")
    database = (await client.get("/v4/db/1/health")).json()
    schema.DatabaseHealth.model_validate(database, strict=True)
    assert database == (await client.get("/v4/bdb/1/health")).json()
    assert (database["availability"], database["availability_errors"]) == ("down", ["shard_unreachable"])
    assert [shard["status"] for shard in database["shards"]] == ["inactive", *["active"] * 5]
    assert (database["endpoints"], database["persistence"]) == ([{"name": "1:1", "availability": "up"}], "disabled")
    assert [alert["name"] for alert in database["active_alerts"]] == ["node_down"]
