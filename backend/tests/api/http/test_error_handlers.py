"""Tests that every failure has the same body with a reason, and the usual headers."""

from typing import Any

import httpx
import pytest
from backend.tests.support.app_factory import app_for
from sqlalchemy import exc

from shardboard.console import Console
from shardboard.state.databases import bdbs


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("POST", "/v1/nothing", 404, "not_found"),
        ("DELETE", "/v3/bdbs", 404, "not_found"),
        ("GET", "/v1/endpoints", 404, "not_found"),
        ("GET", "/v1", 404, "not_found"),
        ("GET", "/v2/", 404, "not_found"),
        ("GET", "/v3/bdbs", 404, "not_found"),
        ("GET", "/v10", 404, "not_found"),
        ("DELETE", "/v1/nodes/1", 405, "method_not_allowed"),
        ("PATCH", "/v1/bdbs", 405, "method_not_allowed"),
        ("GET", "/v1/bdbs/1", 404, "db_not_found"),
    ],
)
async def test_unknown_routes_and_methods(
    client: httpx.AsyncClient, method: str, path: str, status: int, code: str
) -> None:
    reply = await client.request(method, path)
    assert (reply.status_code, reply.json()["error_code"]) == (status, code)
    assert reply.json()["description"] == reply.json()["message"]
    assert reply.headers["cluster-state-id"].isdigit()


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [("https://console.example", True), ("https://localhost:9443", False), ("http://console.example", False)],
)
async def test_hsts_is_sent_for_public_https_names(client: httpx.AsyncClient, url: str, is_sent: bool) -> None:
    reply = await client.get(f"{url}/v1/cluster")
    assert reply.headers.get("strict-transport-security") == ("max-age=31536000" if is_sent else None)


async def test_unexpected_failure_reveals_no_internals(
    console: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def explode(_session: Any) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(bdbs, "list_all", explode)
    reply = await client.get("/v1/bdbs")
    assert (reply.status_code, reply.json()["error_code"]) == (500, "internal_error")
    assert "secret" not in reply.text
    assert "the secret inside" in caplog.text
    assert reply.headers["cluster-state-id"]


async def test_unavailable_store_is_reported(
    console: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def unavailable(_session: Any) -> None:
        raise exc.OperationalError("SELECT 'the secret inside'", {}, TimeoutError("no route to the server"))

    monkeypatch.setattr(bdbs, "list_all", unavailable)
    reply = await client.get("/v1/bdbs")
    assert (reply.status_code, reply.json()["error_code"]) == (503, "store_unavailable")
    assert reply.headers["Retry-After"] == "5"
    assert "no route to the server" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(("version", "status"), [("1", 200), ("2.0", 200), ("3", 505), ("x" * 100, 505)])
async def test_unsupported_api_versions_are_refused(client: httpx.AsyncClient, version: str, status: int) -> None:
    reply = await client.get("/v1/cluster", headers={"x-api-version": version})
    assert reply.status_code == status


async def test_json_needs_its_content_type(client: httpx.AsyncClient) -> None:
    body = b'{"name": "db", "memory_size": 100000000}'
    for content_type in ("application/json", "application/json;charset=utf-8"):
        reply = await client.post("/v1/bdbs?dry_run", content=body, headers={"Content-Type": content_type})
        assert reply.json()["error_code"] == "insufficient_resources"
    reply = await client.post("/v1/bdbs?dry_run", content=body, headers={"Content-Type": "text/plain"})
    assert (reply.status_code, "application/json" in reply.json()["description"]) == (400, True)


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/v1/bdbs", "GET, HEAD, OPTIONS, POST"),
        ("/v1/bdbs/1", "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("/v1/bdbs/1/flush", "OPTIONS, PUT"),
        ("/v1/nodes/status", "GET, HEAD, OPTIONS"),
        ("/v2/actions", "GET, HEAD, OPTIONS"),
    ],
)
async def test_options_lists_allowed_methods(console: Console, path: str, allow: str) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app_for(console)), base_url="https://x") as anonymous:
        reply = await anonymous.options(path)
        assert (reply.status_code, reply.headers["allow"]) == (200, allow)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [("DELETE", "/v1/bdbs", "GET, HEAD, POST"), ("PATCH", "/v1/bdbs/1", "DELETE, GET, HEAD, PUT")],
)
async def test_method_not_allowed_lists_allowed_methods(
    client: httpx.AsyncClient, method: str, path: str, allow: str
) -> None:
    reply = await client.request(method, path)
    assert (reply.status_code, reply.headers["allow"]) == (405, allow)


async def test_options_of_unknown_paths_or_if_forbidden(client: httpx.AsyncClient) -> None:
    for path in ("/v1/endpoints", "/v1/boostrap", "/v1/bdbs/1/2/3", "/somewhere"):
        assert (await client.options(path)).status_code == 404
    await client.put("/v1/cluster", json={"options_method_forbidden": True})
    assert (await client.options("/v1/bdbs")).status_code == 405
