"""Tests of the first setup over HTTP. It requires the initial administrator's password, regardless of the source address."""

from typing import Any

import httpx
import pytest
from backend.tests.api.sign_in import generated_password
from backend.tests.conftest import PASSWORD, USER
from backend.tests.support.app_factory import app_for
from pydantic import SecretStr

from shardboard.console import Console
from shardboard.services.access.authorization import first_start
from shardboard.settings import Settings
from shardboard.state.cluster import cluster

BODY = {
    "action": "create_cluster",
    "cluster": {"name": "bench.example.org"},
    "credentials": {"username": "first@example.org", "password": "a long password"},
    "node": {"paths": {"persistent_path": "/var"}},
}
CREATE = "/v1/bootstrap/create_cluster"
VALIDATE = "/v1/bootstrap/validate/create_cluster"


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings without an administrator password, so that the first start generates one."""
    return generated_password(settings, monkeypatch)


def caller(
    console: Console, address: str, base_url: str = "http://localhost:8080", **options: Any
) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app_for(console), client=(address, 40000))
    return httpx.AsyncClient(transport=transport, base_url=base_url, **options)


async def state_of(client: httpx.AsyncClient) -> str:
    return str((await client.get("/v1/bootstrap")).json()["bootstrap_status"]["state"])


@pytest.mark.parametrize("path", [CREATE, "/v1/bootstrap"])
async def test_administrator_creates_the_cluster_once(console: Console, path: str) -> None:
    async with caller(console, "192.0.2.1", auth=(USER, PASSWORD)) as remote:
        bootstrap = (await remote.get("/v1/bootstrap")).json()
        assert bootstrap["bootstrap_status"]["state"] == "idle"
        assert bootstrap["local_node_info"]["available_addresses"] == bootstrap["local_node_info"]["available_addrs"]
        assert bootstrap["local_node_info"]["uid"] == "1"
        reply = await remote.post(path, json=BODY)
        assert reply.status_code == 200, reply.text
        assert reply.json()["bootstrap_status"]["state"] == "completed"
        remote.auth = ("first@example.org", "a long password")
        repeated = await remote.post(path, json=BODY)
        assert (repeated.status_code, repeated.json()["error_code"]) == (409, "cluster_exists")
        assert (await remote.get("/v1/cluster")).json()["name"] == "bench.example.org"


@pytest.mark.parametrize("path", [CREATE, "/v1/bootstrap", VALIDATE])
@pytest.mark.parametrize(
    ("address", "base_url", "headers"),
    [
        ("127.0.0.1", "http://localhost:8080", {}),
        ("127.0.0.1", "http://127.0.0.1:8080", {}),
        ("::1", "http://[::1]:8080", {}),
        ("192.0.2.1", "http://localhost:8080", {}),
        ("127.0.0.1", "http://rebound.example.com:8080", {}),
        ("127.0.0.1", "http://localhost:8080", {"X-Forwarded-For": "127.0.0.1"}),
        ("127.0.0.1", "http://localhost:8080", {"Origin": "http://localhost:8080"}),
    ],
)
async def test_no_address_replaces_the_password(
    console: Console, path: str, address: str, base_url: str, headers: dict[str, str]
) -> None:
    """A reverse proxy that adds no headers makes every client look local."""
    async with caller(console, address, base_url, headers=headers) as other:
        reply = await other.post(path, json=BODY)
        assert reply.status_code == 401
        assert "initial administrator" in reply.json()["description"]
        bootstrap = (await other.get("/v1/bootstrap")).json()
        assert (bootstrap["bootstrap_status"]["state"], bootstrap["local_node_info"]) == ("idle", {})
        other.auth = (USER, PASSWORD)
        assert (await other.get("/v1/users")).status_code == 200


@pytest.mark.parametrize("login", [("first@example.org", "a long password"), (USER, "wrong password")])
async def test_wrong_credentials_are_refused(console: Console, login: tuple[str, str]) -> None:
    async with caller(console, "127.0.0.1", auth=login) as local:
        reply = await local.post(CREATE, json=BODY)
        assert (reply.status_code, reply.json()["error_code"]) == (401, "invalid_credentials")
        assert await state_of(local) == "idle"


async def test_guessing_is_limited_as_for_every_sign_in(console: Console) -> None:
    async with caller(console, "127.0.0.1", auth=(USER, "wrong password")) as local:
        for _ in range(5):
            assert (await local.post(CREATE, json=BODY)).status_code == 401
        local.auth = (USER, PASSWORD)
        assert (await local.post(CREATE, json=BODY)).status_code == 401, "the correct password is delayed as well"
    async with caller(console, "192.0.2.1", auth=(USER, PASSWORD)) as other:
        assert (await other.post(CREATE, json=BODY)).status_code == 200


async def test_configured_administrator_completes_the_bootstrap(console: Console, settings: Settings) -> None:
    configured = settings.model_copy(update={"admin_password": SecretStr(PASSWORD)})
    async with console.store.begin() as session:
        await first_start(session, configured)
    async with caller(console, "127.0.0.1") as local:
        assert await state_of(local) == "completed"
        assert (await local.post(CREATE, json=BODY)).status_code == 401
        local.auth = (USER, PASSWORD)
        for path in (CREATE, "/v1/bootstrap", VALIDATE):
            reply = await local.post(path, json=BODY)
            assert (reply.status_code, reply.json()["error_code"]) == (409, "cluster_exists")
        assert [user["email"] for user in (await local.get("/v1/users")).json()] == [USER]


@pytest.mark.parametrize("path", ["/v1/session", "/v1/users/authorize"])
async def test_first_sign_in_completes_the_bootstrap(console: Console, path: str) -> None:
    async with caller(console, "192.0.2.1", "https://console") as browser:
        assert (await browser.post(path, json={"username": USER, "password": "wrong password"})).status_code == 401
        assert await state_of(browser) == "idle"
        assert (await browser.post(path, json={"username": USER, "password": PASSWORD})).status_code == 200
        assert await state_of(browser) == "completed"
    async with caller(console, "127.0.0.1", auth=(USER, PASSWORD)) as local:
        assert (await local.post(CREATE, json=BODY)).status_code == 409


async def test_earlier_sign_ins_complete_the_bootstrap_after_an_upgrade(console: Console, settings: Settings) -> None:
    async with caller(console, "192.0.2.1", "https://console") as browser:
        await browser.post("/v1/session", json={"username": USER, "password": PASSWORD})
        async with console.store.begin() as session:  # the state of an earlier release
            (await cluster.load_for_update(session)).bootstrap_state = "idle"
        assert await state_of(browser) == "idle"
        async with console.store.begin() as session:
            await first_start(session, settings)
        assert await state_of(browser) == "completed"


async def test_machine_is_described_only_to_users(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.get("/v1/bootstrap")).json()["local_node_info"]["cores"] > 0
    client.auth = None
    assert (await client.get("/v1/bootstrap")).json()["local_node_info"] == {}


async def test_bootstrap_replaces_the_initial_administrator(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.post(CREATE, json=BODY)).status_code == 200
    assert (await client.get("/v1/users")).status_code == 401, "the initial administrator no longer exists"
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
async def test_invalid_bootstrap_requests_are_refused(
    client: httpx.AsyncClient, changes: dict[str, Any], status: int, code: str
) -> None:
    reply = await client.post("/v1/bootstrap", json={**BODY, **changes})
    assert (reply.status_code, reply.json()["error_code"]) == (status, code)
    assert await state_of(client) == "idle"


async def test_validation_stores_nothing(client: httpx.AsyncClient) -> None:
    assert (await client.post(VALIDATE, json=BODY)).status_code == 200
    assert await state_of(client) == "idle"
    for invalid in ({"cluster": {"name": "no_host"}}, {"credentials": {"username": "a:b", "password": "a long one"}}):
        assert (await client.post(VALIDATE, json={**BODY, **invalid})).status_code == 406
    reply = await client.post("/v1/bootstrap/validate/join_cluster", json=BODY)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "config_error")
    assert (await client.post(CREATE, json=BODY)).status_code == 200
    client.auth = ("first@example.org", "a long password")
    assert (await client.post(VALIDATE, json=BODY)).status_code == 409
