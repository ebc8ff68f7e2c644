"""Tests of `Retry-After`: clients learn when a request that was rejected for now may succeed."""

import httpx
import pytest
from backend.tests.conftest import PASSWORD, USER

from shardboard.console import Console
from shardboard.errors import Conflict, Unavailable
from shardboard.state.cluster.nodes import Node

BODY = {"name": "carts", "memory_size": 10**8}


@pytest.mark.parametrize("code", ["busy", "db_busy", "idempotency_key_in_use"])
def test_temporary_conflicts_say_when_to_retry(code: str) -> None:
    assert Conflict(code, "busy").retry_after
    assert Unavailable("busy", "busy").retry_after
    assert Conflict("name_exists", "exists").retry_after is None


async def test_a_busy_database_returns_retry_after(client: httpx.AsyncClient, nodes: list[Node]) -> None:
    await client.post("/v1/bdbs", json=BODY)
    for method, path, body in (
        ("PUT", "/v1/bdbs/1", {"memory_size": 10**9}),
        ("PUT", "/v1/bdbs/1/flush", {}),
        ("PUT", "/v1/bdbs/1/actions/revamp", {"memory_size": 10**9}),
        ("POST", "/v1/bdbs/1/actions/stop_traffic", None),
    ):
        reply = await client.request(method, path, json=body)
        assert (reply.status_code, reply.json()["error_code"] in ("busy", "db_busy")) == (409, True), path
        assert int(reply.headers["retry-after"]) > 0


async def test_throttled_logins_return_retry_after_for_existing_and_unknown_users(
    console: Console, browser: httpx.AsyncClient
) -> None:
    waits = {}
    for name in (USER, "unknown@example.org"):
        replies = [await browser.get("/v1/bdbs", auth=(name, "wrong")) for _ in range(7)]
        assert {reply.status_code for reply in replies} == {401}
        waits[name] = [reply.headers.get("retry-after") for reply in replies]
    assert waits[USER] == waits["unknown@example.org"]
    assert waits[USER][0] is None
    assert int(waits[USER][-1]) > 0


async def test_a_successful_login_resets_retry_after(console: Console, browser: httpx.AsyncClient) -> None:
    for _ in range(4):
        assert "retry-after" not in (await browser.get("/v1/bdbs", auth=(USER, "wrong"))).headers
    assert (await browser.get("/v1/bdbs", auth=(USER, PASSWORD))).status_code == 200
    assert "retry-after" not in (await browser.get("/v1/bdbs", auth=(USER, "wrong"))).headers
