"""First set-up over HTTP, and who may do it."""

from typing import Any

import httpx
import pytest
from backend.tests.application import app_of

from shardboard.console import Console

BODY = {
    "action": "create_cluster",
    "cluster": {"name": "bench.example.org"},
    "credentials": {"username": "first@example.org", "password": "a long password"},
    "node": {"paths": {"persistent_path": "/var"}},
}


def caller(
    console: Console, address: str, base_url: str = "http://localhost:8080", **options: Any
) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app_of(console), client=(address, 40000))
    return httpx.AsyncClient(transport=transport, base_url=base_url, **options)


@pytest.mark.parametrize("path", ["/v1/bootstrap/create_cluster", "/v1/bootstrap"])
async def test_local_caller_creates_the_cluster_once(console: Console, path: str) -> None:
    async with caller(console, "127.0.0.1") as local:
        shown = (await local.get("/v1/bootstrap")).json()
        assert shown["bootstrap_status"]["state"] == "idle"
        assert shown["local_node_info"]["available_addresses"] == shown["local_node_info"]["available_addrs"]
        assert shown["local_node_info"]["uid"] == "1"
        reply = await local.post(path, json=BODY)
        assert reply.status_code == 200, reply.text
        assert reply.json()["bootstrap_status"]["state"] == "completed"
        assert (await local.post(path, json=BODY)).status_code == 409
        local.auth = ("first@example.org", "a long password")
        assert (await local.get("/v1/cluster")).json()["name"] == "bench.example.org"


async def test_machine_is_not_described_without_login(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.get("/v1/bootstrap")).json()["local_node_info"]["cores"] > 0
    client.auth = None
    assert (await client.get("/v1/bootstrap")).json()["local_node_info"] == {}


@pytest.mark.parametrize(
    ("address", "base_url", "headers"),
    [
        ("192.0.2.1", "http://localhost:8080", {}),
        ("127.0.0.1", "http://rebound.example.com:8080", {}),
        ("127.0.0.1", "http://localhost:8080", {"X-Forwarded-For": "192.0.2.1"}),
        ("127.0.0.1", "http://localhost:8080", {"Origin": "http://evil.example.com"}),
    ],
)
async def test_others_need_a_login(console: Console, address: str, base_url: str, headers: dict[str, str]) -> None:
    async with caller(console, address, base_url, headers=headers) as other:
        reply = await other.post("/v1/bootstrap/create_cluster", json=BODY)
        assert reply.status_code == 401
        assert (await other.get("/v1/bootstrap")).json()["bootstrap_status"]["state"] == "idle"


async def test_a_local_caller_may_send_the_login_that_is_to_be_made(console: Console) -> None:
    async with caller(console, "127.0.0.1", auth=("first@example.org", "a long password")) as local:
        assert (await local.post("/v1/bootstrap/create_cluster", json=BODY)).status_code == 200
        assert (await local.get("/v1/cluster")).status_code == 200


async def test_administrator_from_afar(client: httpx.AsyncClient) -> None:
    assert (await client.post("/v1/bootstrap/create_cluster", json=BODY)).status_code == 200


async def test_one_administrator_is_left(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.post("/v1/bootstrap/create_cluster", json=BODY)).status_code == 200
    assert (await client.get("/v1/users")).status_code == 401, "the first start's"
    client.auth = ("first@example.org", "a long password")
    assert [user["email"] for user in (await client.get("/v1/users")).json()] == ["first@example.org"]


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"cluster": {"name": "a" * 65}}, 406, "config_error"),
        ({"cluster": {"name": "two words"}}, 406, "config_error"),
        ({"cluster": {"name": "-a"}}, 406, "config_error"),
        ({"cluster": {"name": "a..b"}}, 406, "config_error"),
        ({"cluster": {}}, 400, "bad_request"),
        ({"cluster": {"name": 5}}, 400, "bad_request"),
        ({"credentials": {"username": "a", "password": "short"}}, 406, "password_not_complex"),
        ({"action": "join_cluster"}, 406, "config_error"),
    ],
)
async def test_refused(client: httpx.AsyncClient, changes: dict[str, Any], status: int, code: str) -> None:
    reply = await client.post("/v1/bootstrap", json={**BODY, **changes})
    assert (reply.status_code, reply.json()["error_code"]) == (status, code)
    assert (await client.get("/v1/bootstrap")).json()["bootstrap_status"]["state"] == "idle"


async def test_validation_does_nothing(console: Console) -> None:
    async with caller(console, "127.0.0.1") as local:
        path = "/v1/bootstrap/validate/create_cluster"
        assert (await local.post(path, json=BODY)).status_code == 200
        assert (await local.get("/v1/bootstrap")).json()["bootstrap_status"]["state"] == "idle"
        for wrong in ({"cluster": {"name": "no_host"}}, {"credentials": {"username": "a:b", "password": "a long one"}}):
            assert (await local.post(path, json={**BODY, **wrong})).status_code == 406
        reply = await local.post("/v1/bootstrap/validate/join_cluster", json=BODY)
        assert (reply.status_code, reply.json()["error_code"]) == (406, "config_error")
        assert (await local.post("/v1/bootstrap/create_cluster", json=BODY)).status_code == 200
        assert (await local.post(path, json=BODY)).status_code == 409
    async with caller(console, "192.0.2.1") as other:
        assert (await other.post(path, json=BODY)).status_code == 401
