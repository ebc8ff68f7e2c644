"""Tests with extreme values in requests about the cluster, nodes, license, setup and tokens, and in rows of users.

No reply is an internal error, and the administrator can still sign in afterwards.
"""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from backend.tests.api.cluster.test_bootstrap import BODY, caller
from backend.tests.api.sign_in import generated_password
from backend.tests.conftest import PASSWORD, USER
from backend.tests.support.case_sampling import Sampling

from shardboard.console import Console
from shardboard.domain.cluster.cluster_settings import NAMES
from shardboard.services.access import passwords
from shardboard.settings import Settings
from shardboard.state.access import login_failures
from shardboard.state.access.login_failures import LoginFailures
from shardboard.state.access.users import User

HUGE = "x" * 1_000_000
VALUES: list[Any] = [
    *(-1, 0, 2**31, 2**63, -(2**63) - 1, 10**300, 1.5, 1e308, True, None),
    *("", " ", "\x00", "a\r\nb", "\x1b[2J", "\u202e", "\u0130", "0" * 300, HUGE),
    *([], {}, [[]], [None], [{}], ["x"] * 5000, {"": ""}, {"a": {"b": []}}),
]
ADMIN = "admin@example.org"


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings without an administrator password: the cluster does not exist yet."""
    return generated_password(settings, monkeypatch)


async def check_console_works(client: httpx.AsyncClient) -> None:
    paths = ("cluster", "cluster/policy", "nodes", "nodes/1", "license", "users", "bootstrap", "logs", "bdbs")
    for path in paths:
        assert (await client.get(f"/v1/{path}")).status_code == 200, path
    assert (await client.post("/v1/users/authorize")).status_code == 200


async def sweep(client: httpx.AsyncClient, method: str, path: str, field: str, sampling: Sampling) -> None:
    for value in sampling.choose(VALUES, 4):
        reply = await client.request(method, path, json={field: value})
        assert reply.status_code < 500, (path, field, str(value)[:40], reply.text)
        assert reply.status_code == 200 or reply.json()["error_code"], (path, field)


NODE_FIELDS = (
    *("external_addr", "rack_id", "recovery_path", "max_redis_servers", "max_listeners", "accept_servers", "uid"),
    *("second_rack_id", "bigredis_storage_path", "addr", "max_cache"),
)


@pytest.mark.store_in_all
@pytest.mark.parametrize(
    ("method", "path", "names"),
    [
        ("PUT", "/v1/cluster", (*sorted(NAMES), "name", "username", "password")),
        ("PUT", "/v1/license", ("license",)),
        ("POST", "/v1/users/authorize", ("ttl",)),
        ("POST", "/v1/bootstrap", ("action", "cluster", "credentials", "node")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_no_field_causes_an_internal_error(
    client: httpx.AsyncClient, method: str, path: str, names: tuple[str, ...], sampling: Sampling
) -> None:
    for name in names:
        await sweep(client, method, path, name, sampling)
    assert (await client.get("/v1/bootstrap")).json()["bootstrap_status"]["state"] == "idle"


@pytest.mark.store_in_all
@pytest.mark.usefixtures("nodes")
async def test_no_field_of_a_node_causes_an_internal_error(client: httpx.AsyncClient, sampling: Sampling) -> None:
    for name in NODE_FIELDS:
        await sweep(client, "PUT", "/v1/nodes/1", name, sampling)
    await check_console_works(client)


@pytest.mark.store_in_all
async def test_no_policy_value_prevents_signing_in(client: httpx.AsyncClient, sampling: Sampling) -> None:
    for name in (await client.get("/v1/cluster/policy")).json():
        await sweep(client, "PUT", "/v1/cluster/policy", name, sampling)
    assert (await client.post("/v1/users/authorize")).status_code == 200
    assert (await client.put("/v1/cluster/policy", json={"login_lockout_threshold": 5})).status_code == 200


@pytest.mark.store_in_all
@pytest.mark.parametrize("name", [*VALUES[10:19], "a:b", ":", "a" * 255])
async def test_bootstrap_never_creates_an_administrator_who_cannot_sign_in(console: Console, name: str) -> None:
    """In HTTP Basic authentication a username ends at its first colon."""
    async with caller(console, "127.0.0.1", auth=(USER, PASSWORD)) as local:
        reply = await local.post(
            "/v1/bootstrap", json=BODY | {"credentials": {"username": name, "password": "a long password"}}
        )
        assert reply.status_code < 500
        if reply.status_code == 200:
            async with caller(console, "192.0.2.1", auth=(name, "a long password")) as remote_client:
                assert (await remote_client.get("/v1/users")).status_code == 200, (
                    "the cluster was created, but no user can sign in"
                )


@pytest.mark.store_in_all
async def test_user_names_are_case_insensitive(console: Console, client: httpx.AsyncClient) -> None:
    credentials = {"username": ADMIN.upper(), "password": "another long password"}
    assert (await client.post("/v1/bootstrap", json=BODY | {"credentials": credentials})).status_code == 200
    for name in (ADMIN, ADMIN.upper(), "Admin@Example.org"):
        async with caller(console, "192.0.2.1", auth=(name, credentials["password"])) as remote_client:
            user_list = (await remote_client.get("/v1/users")).json()
            assert [(user["email"], user["role"]) for user in user_list] == [(ADMIN, "admin")]


@pytest.mark.store_in_all
async def test_existing_users_that_differ_only_in_case_stay_separate(
    console: Console, client: httpx.AsyncClient
) -> None:
    await add(console, email=ADMIN.upper(), password_hash=await passwords.hash_password("of the other"), role="none")
    assert (await client.get("/v1/users")).status_code == 200
    async with caller(console, "192.0.2.1", auth=(ADMIN.upper(), "of the other")) as other:
        assert (await other.get("/v1/users")).status_code == 403


@pytest.mark.store_in_all
@pytest.mark.parametrize(
    "columns",
    [
        {"role": ""},
        {"role": HUGE},
        {"role": "Admin"},
        {"role": "user_manager,admin"},
        {"name": "\x1b[2J" * 1000},
        {"password_hash": ""},
        {"password_hash": "$argon2id$v=19$m=65536,t=3,p=4$"},
        {"password_hash": HUGE},
        {"last_login": datetime(1, 1, 1, tzinfo=UTC)},
    ],
    # Values are shortened, because the ids must be identical in all workers that collect the tests.
    ids=lambda columns: ",".join(f"{name}={str(value)[:5]}" for name, value in columns.items()),
)
async def test_users_with_invalid_rows_do_not_affect_others(
    console: Console, client: httpx.AsyncClient, columns: dict[str, Any]
) -> None:
    junk = "junk@example.org"
    await add(
        console,
        **{"email": junk, "password_hash": await passwords.hash_password("a password"), "role": "none", **columns},
    )
    for password in ("wrong", "a password", ""):
        async with caller(console, "192.0.2.1", auth=(junk, password)) as remote_client:
            assert (await remote_client.get("/v1/users")).status_code in (401, 403)
    assert len((await client.get("/v1/users")).json()) == 2
    assert (await client.post("/v1/users/authorize")).status_code == 200


@pytest.mark.store_in_all
async def test_failure_counter_does_not_overflow(console: Console, client: httpx.AsyncClient) -> None:
    async with console.store.begin() as session:
        session.add(LoginFailures(user_uid=1, network="192.0.2.1", count=2**31 - 1, last_at=datetime.now(UTC)))
    await client.put("/v1/cluster/policy", json={"login_lockout_threshold": 0})
    async with caller(console, "192.0.2.1", auth=(ADMIN, "wrong")) as remote_client:
        assert (await remote_client.get("/v1/users")).status_code == 401
    async with console.store.read() as session:
        failures = await login_failures.get_failures(session, 1, "192.0.2.1")
        assert failures is not None
        assert failures.count < 2**31, "a 32-bit column would refuse a larger value"


async def add(console: Console, **columns: Any) -> None:
    async with console.store.begin() as session:
        session.add(User(**{"name": "Junk", "created_at": datetime.now(UTC), **columns}))
