"""Tests that every query parameter has an effect or is refused, on all routes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from backend.tests.support import active_database
from fastapi.routing import APIRoute
from sqlalchemy import select

from shardboard.app import AREAS
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Base

ROUTES = [route for area in AREAS for router in area.ROUTERS for route in router.routes if isinstance(route, APIRoute)]
CHANGES = [(method, route.path) for route in ROUTES for method in route.methods - {"GET"}]
"""Method and path of the routes that can change something."""
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/bdbs"): {"name": "carts", "memory_size": 10**8},
    ("PUT", "/v1/bdbs/{uid}"): {"memory_size": 2 * 10**9},
    ("POST", "/v1/users"): {"email": "ann@example.org", "password": "long enough password"},
    ("PUT", "/v1/users/{uid}"): {"name": "Ann"},
    ("PUT", "/v1/cluster"): {"name": "other.example.org"},
    ("PUT", "/v1/cluster/policy"): {"default_shards_placement": "sparse"},
    ("POST", "/v1/webhooks"): {"name": "chat", "url": "https://chat.example.org/hook"},
    ("POST", "/v1/roles"): {"name": "team", "management": "db_viewer"},
    ("POST", "/v1/redis_acls"): {"name": "reader", "acl": "+@read ~*"},
    ("POST", "/v1/service_tokens"): {"name": "script", "role": "admin"},
    ("POST", "/v1/shards/{uid}/actions/migrate"): {"target_node_uid": 3},
}
"""Bodies with which a request would change the store."""


async def contents(console: Console) -> dict[str, list[str]]:
    """Return all rows, except records of requests and logins."""
    async with console.store.read() as session:
        return {
            table.name: sorted(map(repr, (await session.execute(select(table))).all()))
            for table in Base.metadata.sorted_tables
            if not table.name.startswith(("audit", "login_failures", "sessions"))
        }


@asynccontextmanager
async def nothing_changes(console: Console, agents: FakeAgents) -> AsyncIterator[None]:
    before, calls = await contents(console), len(agents.calls)
    yield
    assert await contents(console) == before
    assert len(agents.calls) == calls


@pytest.fixture
async def database(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_active_database(console, agents)


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("method", "path", "flag"),
    [
        ("DELETE", "/v1/bdbs/1", "dry_run"),
        ("DELETE", "/v1/users/2", "dry_run=true"),
        ("DELETE", "/v1/redis_acls/10", "DRY_RUN=1"),
        ("DELETE", "/v1/webhooks/1", "Dry_Run=Yes"),
        ("PUT", "/v1/cluster/policy", "dry_run"),
        ("POST", "/v1/bdbs/1/actions/stop_traffic", "dry_run"),
        ("POST", "/v1/nodes/1/actions/maintenance_on", "dry_run"),
        ("POST", "/v1/shards/1/actions/failover", "dry_run"),
    ],
)
async def test_dry_runs_change_nothing(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents, method: str, path: str, flag: str
) -> None:
    await client.post("/v1/users", json=BODIES["POST", "/v1/users"])
    await client.post("/v1/webhooks", json=BODIES["POST", "/v1/webhooks"])
    acl = (await client.post("/v1/redis_acls", json=BODIES["POST", "/v1/redis_acls"])).json()
    path = path.replace("redis_acls/10", f"redis_acls/{acl['uid']}")
    body = {"default_shards_placement": "sparse"} if path.endswith("policy") else {}
    async with console.store.begin() as session:
        for shard in (await session.execute(select(Shard))).scalars():
            shard.observed_status, shard.observed_link = "ok", "idle"
    async with nothing_changes(console, agents):
        reply = await client.request(method, f"{path}?{flag}", json=body)
        assert reply.status_code == 200, reply.text
    executed = await client.request(method, f"{path}?dry_run=no", json=body)
    assert executed.status_code == 200, executed.text


@pytest.mark.usefixtures("database")
async def test_a_dry_run_of_any_route_changes_nothing_or_is_refused(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents
) -> None:
    supported, refused = set(), set()
    async with nothing_changes(console, agents):
        for method, path in CHANGES:
            address = path.replace("{uid}", "1")
            reply = await client.request(method, f"{address}?dry_run", json=BODIES.get((method, path), {}))
            if reply.status_code == 400 and "does not support `dry_run`" in reply.json()["description"]:
                refused.add((method, path))
            elif reply.status_code == 200:
                supported.add((method, path))
    assert BODIES.keys() - supported == {("POST", "/v1/service_tokens")}
    assert ("POST", "/v1/service_tokens") in refused
    assert ("POST", "/v1/join_tokens") in refused
    assert len(supported) > 25
    assert (await client.get("/v1/cluster")).status_code == 200


async def test_invalid_flags_are_refused(client: httpx.AsyncClient) -> None:
    reply = await client.put("/v1/cluster?dry_run=maybe", json={})
    assert (reply.status_code, reply.json()["field"]) == (400, "dry_run")
    both = await client.put("/v1/cluster?dry_run=false&dry_run", json={"name": "other.example.org"})
    assert both.status_code == 200
    assert (await client.get("/v1/cluster")).json()["name"] != "other.example.org"


@pytest.mark.parametrize(
    ("path", "valid"),
    [
        ("/v1/bdbs?limit=1&name=demo&bogus=1", "extended, fields, limit, name, offset, sort, status, tag"),
        ("/v1/nodes?tag=x", "fields, limit, offset, sort, status"),
        ("/v1/cluster?fields=name", "It has no parameters"),
        ("/v1/nodes/stats?interval=1sec&metric=x", "etime, interval, metrics, stime"),
    ],
)
async def test_unknown_parameters_are_refused(client: httpx.AsyncClient, path: str, valid: str) -> None:
    reply = await client.get(path)
    assert reply.status_code == 400
    assert valid in reply.json()["description"]


async def test_credentials_are_checked_first(console: Console, browser: httpx.AsyncClient) -> None:
    assert (await browser.get("/v1/bdbs?bogus=1")).status_code == 401
    assert (await browser.get("/v1/ca?bogus=1")).status_code == 400
