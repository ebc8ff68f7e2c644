"""Tests that HEAD returns the status and headers of GET, without a body, on every path."""

from typing import Any

import httpx
import pytest
from backend.tests.api.http.test_query_check import ROUTES
from backend.tests.conftest import PASSWORD, USER
from backend.tests.support import active_database
from backend.tests.support.app_factory import app_for
from fastapi import FastAPI

from shardboard.api.http.openapi.document import path_examples
from shardboard.api.metrics import prometheus
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents

SLOW = {"/v1/stream", "/v1/cluster/debuginfo"}
"""A response that does not end, and one that takes a second."""
VARYING = {"cluster-state-id", "content-length", "etag", "date"}


@pytest.mark.usefixtures("nodes")
async def test_head_is_answered_as_get_on_every_path(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents
) -> None:
    await active_database.create_active_database(console, agents)
    paths = sorted(route.path for route in ROUTES if "GET" in route.methods and "debuginfo" not in route.path)
    assert len(paths) > 130
    for path in paths:
        if path not in SLOW:
            address = path.format(**path_examples(path))
            expected, reply = await client.get(address), await client.head(address)
            assert (reply.status_code, reply.content) == (expected.status_code, b""), path
            assert reply.headers.keys() - VARYING == expected.headers.keys() - VARYING, path


async def test_head_of_a_stream_ends(client: httpx.AsyncClient) -> None:
    reply = await client.head("/v1/stream")
    assert (reply.status_code, reply.content) == (200, b"")
    assert reply.headers["content-type"].startswith("text/event-stream")


async def test_head_requires_the_same_credentials(browser: httpx.AsyncClient) -> None:
    assert (await browser.head("/v1/bdbs")).status_code == 401
    assert (await browser.head("/v1/nothing")).status_code == 404
    assert "HEAD" in (await browser.options("/v1/bdbs")).headers["allow"]


async def test_metrics_port_answers_head(console: Console) -> None:
    app: FastAPI = prometheus.create_app(console)
    transport: Any = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="https://console", auth=(USER, PASSWORD)) as scraper:
        assert (await scraper.head("/metrics")).status_code == 200


async def test_head_changes_nothing_that_get_does_not_change(console: Console, client: httpx.AsyncClient) -> None:
    app_for(console)
    assert (await client.head("/v1/session")).status_code == (await client.get("/v1/session")).status_code
