"""Tests that a request with an idempotency key is executed once, also if the console is killed."""

import asyncio
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from backend.tests.api.http.test_query_check import ROUTES
from backend.tests.conftest import ON_POSTGRES, PASSWORD, STORE_KEY, USER
from backend.tests.support import active_database
from backend.tests.support.app_factory import app_for
from sqlalchemy import event, func, select, text, update
from sqlalchemy.orm import Session

from shardboard.api.cluster.unsupported_features import REFUSALS
from shardboard.api.http.dependants import flatten
from shardboard.api.http.dependencies import current_login, write_session
from shardboard.api.http.idempotency import idempotent_request
from shardboard.collectors.cluster.housekeeping import Housekeeping
from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.kit.bus import Bus
from shardboard.lifecycle.leadership import Leadership
from shardboard.pki.console_ca import ConsoleCa
from shardboard.settings import Settings
from shardboard.state.cluster import console_certificates, idempotent_replies
from shardboard.state.cluster.idempotent_replies import IdempotentReply
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeys

pytestmark = pytest.mark.store

BODY: dict[str, Any] = {"name": "carts", "memory_size": 10**8, "authentication_redis_pass": "correct-horse"}
KEY = {"Idempotency-Key": "4f1c-a"}


async def count(store: Store, table: Any) -> int:
    async with store.read() as session:
        return (await session.execute(select(func.count()).select_from(table))).scalar_one()


async def test_a_repeated_request_gets_the_first_reply(
    console: Console, client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    first = await client.post("/v1/bdbs", json={**BODY, "replicaton": True}, headers=KEY)
    assert first.status_code == 200
    assert "idempotency-replayed" not in first.headers
    repeated = await client.post("/v1/bdbs", json={"replicaton": True, **BODY}, headers=KEY)
    assert (repeated.status_code, repeated.content) == (200, first.content)
    assert repeated.headers["idempotency-replayed"] == "true"
    assert repeated.headers["content-type"] == first.headers["content-type"]
    assert "warnings" in repeated.json()
    assert await count(console.store, Bdb) == 1


async def test_the_same_key_is_independent_for_other_paths_and_users(
    console: Console, client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    await client.post("/v1/bdbs", json=BODY, headers=KEY)
    role = await client.post("/v1/roles", json={"name": "team", "management": "none"}, headers=KEY)
    assert role.status_code == 200
    assert "idempotency-replayed" not in role.headers
    user = {"email": "ann@example.org", "password": "long enough password", "role": "admin"}
    for _ in range(2):
        reply = await client.post("/v1/users", json=user, headers=KEY)
        assert reply.status_code == 200
    assert reply.headers["idempotency-replayed"] == "true"
    other = await client.post(
        "/v1/bdbs", json={**BODY, "name": "other"}, headers=KEY, auth=("ann@example.org", user["password"])
    )
    assert other.status_code == 200
    assert other.json()["name"] == "other"
    token = (await client.post("/v1/service_tokens", json={"name": USER, "role": "admin"})).json()["token"]
    third = await client.post(
        "/v1/bdbs", json={**BODY, "name": "third"}, headers={**KEY, "Authorization": f"Bearer {token}"}, auth=None
    )
    assert third.json()["name"] == "third"


async def test_a_key_with_other_contents_is_refused(
    console: Console, client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    await client.post("/v1/bdbs", json=BODY, headers=KEY)
    for address, body in (("/v1/bdbs", {**BODY, "memory_size": 10**9}), ("/v1/bdbs?strict", BODY)):
        reply = await client.post(address, json=body, headers=KEY)
        assert (reply.status_code, reply.json()["error_code"]) == (422, "idempotency_key_reused")
    assert await count(console.store, Bdb) == 1


async def test_concurrent_requests_with_a_key_are_executed_once(
    console: Console, client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    replies = await asyncio.gather(*(client.post("/v1/bdbs", json=BODY, headers=KEY) for _ in range(5)))
    executing = [reply for reply in replies if reply.status_code == 409]
    assert [reply.status_code for reply in replies if reply not in executing] == [200] * (5 - len(executing))
    assert executing
    for reply in executing:
        assert reply.json()["error_code"] == "idempotency_key_in_use"
        assert reply.headers["retry-after"] == "1"
    assert await count(console.store, Bdb) == 1
    assert (await client.post("/v1/bdbs", json=BODY, headers=KEY)).headers["idempotency-replayed"] == "true"


async def test_failed_requests_and_dry_runs_do_not_use_up_the_key(
    console: Console, client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    assert (await client.post("/v1/bdbs", json={**BODY, "port": 1}, headers=KEY)).status_code == 406
    for _ in range(2):
        dry_run = await client.post("/v1/bdbs?dry_run", json=BODY, headers=KEY)
        assert "shards_blueprint" in dry_run.json()
    assert (await client.post("/v1/bdbs", json=BODY, headers=KEY)).status_code == 200
    assert "idempotency-replayed" not in (await client.post("/v1/bdbs?dry_run", json=BODY, headers=KEY)).headers


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb"])
async def test_invalid_keys_are_refused(client: httpx.AsyncClient, nodes: list[Node], key: str) -> None:
    reply = await client.post("/v1/bdbs", json=BODY, headers={"Idempotency-Key": key})
    assert (reply.status_code, reply.json()["field"]) == (400, "Idempotency-Key")


async def test_requests_with_effects_outside_of_the_store_or_new_secrets_refuse_keys(client: httpx.AsyncClient) -> None:
    for path, body in (
        ("/v1/service_tokens", {"name": "script", "role": "admin"}),
        ("/v1/join_tokens", {}),
        ("/v1/users/authorize", {}),
    ):
        reply = await client.post(path, json=body, headers=KEY)
        assert (reply.status_code, reply.json()["error_code"]) == (400, "bad_request"), path
        assert "does not support the header Idempotency-Key" in reply.json()["description"]
    assert (await client.get("/v1/service_tokens", headers=KEY)).json() == []


def test_every_route_that_creates_or_starts_something_supports_keys() -> None:
    unsupported = {
        route.path
        for route in ROUTES
        if "POST" in route.methods and not any(each.call is idempotent_request for each in flatten(route.dependant))
    }
    assert unsupported == {
        *("/v1/backup_locations/actions/test", "/v1/backup_locations/{uid}/actions/test"),
        *("/v1/backup_locations/{uid}/actions/find_backups", "/v1/backup_locations/actions/create_key"),
        *("/v1/bdbs/{uid}/command", "/v1/benchmarks/preflight", "/v1/benchmarks/understand"),
        "/v1/scenarios/{name}/preflight",
        *("/v1/bootstrap/join", "/v1/bootstrap/join_conflict"),
        *("/v1/cluster/authority/request", "/v1/cluster/authority/switch"),
        *("/v1/device_logins", "/v1/device_logins/confirm", "/v1/device_logins/find", "/v1/device_logins/token"),
        *("/v1/join_tokens", "/v1/redis_acls/validate", "/v1/service_tokens"),
        *("/v1/session", "/v1/session/continue", "/v1/session/handover", "/v1/session/second_factor"),
        "/v1/webhooks/{uid}/test",
        *("/v1/bdbs/{uid}/certificates", "/v1/bdbs/{uid}/modules/config", "/v1/bdbs/{uid}/modules/upgrade"),
        *(
            "/v1/bootstrap/join_cluster",
            "/v1/bootstrap/recover_cluster",
            "/v1/modules/config/bdb/{uid}",
            "/v1/ocsp/test",
        ),
        *(call.partition(" ")[2] for call in REFUSALS if call.startswith("POST ")),
        *("/v1/users/authorize", "/v1/users/password", "/v1/users/refresh_jwt", "/v1/users/second_factor"),
    }


def test_roles_are_checked_before_a_reply_is_repeated() -> None:
    for route in ROUTES:
        calls = [[each.call for each in flatten(dependency)] for dependency in route.dependant.dependencies]
        login = next((number for number, found in enumerate(calls) if current_login in found), len(calls))
        session = next((number for number, found in enumerate(calls) if found[0] is write_session), None)
        if session is not None and not route.path.startswith("/v1/bootstrap"):
            assert login < session, route.path


async def test_credentials_are_required(browser: httpx.AsyncClient) -> None:
    assert (await browser.post("/v1/bdbs", json=BODY, headers=KEY)).status_code == 401


async def test_a_replayed_reply_with_secrets_is_audited(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    for _ in range(2):
        await client.post("/v1/bdbs", json=BODY, headers=KEY)
    lines = (await client.get("/v1/audit")).json()
    assert any("passwords" in line["detail"] and line["path"] == "/v1/bdbs" for line in lines)


async def test_stored_replies_contain_no_readable_secret(
    console: Console, client: httpx.AsyncClient, nodes: list[Node]
) -> None:
    await client.post("/v1/bdbs", json=BODY, headers=KEY)
    async with console.store.read() as session:
        (stored,) = (await session.execute(text("SELECT reply FROM idempotent_replies"))).scalars()
        (row,) = (await session.execute(select(IdempotentReply))).scalars()
    assert BODY["authentication_redis_pass"] in row.reply["body"]
    assert BODY["authentication_redis_pass"] not in str(stored)
    assert "encrypted:1:" in str(stored)


async def test_keys_expire_after_a_day(console: Console, client: httpx.AsyncClient) -> None:
    role = {"name": "team", "management": "none"}
    await client.post("/v1/roles", json=role, headers=KEY)
    day_before = datetime.now(UTC) - timedelta(hours=24, seconds=1)
    async with console.store.begin() as session:
        await session.execute(update(IdempotentReply).values(created_at=day_before))
    reply = await client.post("/v1/roles", json={**role, "name": "other"}, headers=KEY)
    assert (reply.status_code, await count(console.store, IdempotentReply)) == (200, 1)
    await Housekeeping(console.store).delete_batch()
    assert await count(console.store, IdempotentReply) == 1
    await Housekeeping(console.store, lambda: datetime.now(UTC) + timedelta(hours=25)).delete_batch()
    assert await count(console.store, IdempotentReply) == 0


async def test_the_oldest_keys_of_a_user_are_evicted(
    console: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotent_replies, "MAX_PER_USER", 3)
    for number in range(5):
        body = {"name": f"team{number}", "management": "none"}
        await client.post("/v1/roles", json=body, headers={"Idempotency-Key": str(number)})
    async with console.store.read() as session:
        assert sorted((await session.execute(select(IdempotentReply.key))).scalars()) == ["2", "3", "4"]


async def test_actions_that_start_something_are_started_once(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    replies = [await client.post("/v1/nodes/1/actions/maintenance_on", headers=KEY) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].json() == replies[1].json()
    validated = {"cluster": {"name": "c.example.org"}, "credentials": {"username": USER, "password": PASSWORD}}
    reply = await client.post("/v1/bootstrap/validate/create_cluster", json=validated, headers=KEY)
    assert reply.status_code in (200, 406, 409)


def _create_role(directory: Path, prepare: Callable[[], None] = lambda: None) -> httpx.Response:
    """Send a request with a key to a console with the store in `directory`."""

    async def send() -> httpx.Response:
        store = Store(f"sqlite+aiosqlite:///{directory / 'console.db'}", Bus(), StoreKeys([STORE_KEY]))
        settings = Settings(state_dir=directory, admin_user=USER, admin_password=PASSWORD)
        async with store.read() as session:
            state = await console_certificates.find(session)
        assert state is not None
        ca = ConsoleCa(state, settings)
        console = Console(
            settings, store, store.bus, LiveMetrics(store.bus), FakeAgents(), ca, "test", Leadership(store, "test")
        )
        transport = httpx.ASGITransport(app_for(console), client=("192.0.2.1", 40000))
        async with httpx.AsyncClient(transport=transport, base_url="https://console", auth=(USER, PASSWORD)) as client:
            await client.get("/v1/roles")
            prepare()
            reply = await client.post("/v1/roles", json={"name": "team", "management": "none"}, headers=KEY)
        await store.close()
        return reply

    return asyncio.run(send())


def _kill_at(moment: str) -> None:
    event.listen(Session, moment, lambda *_: os.kill(os.getpid(), signal.SIGKILL), insert=False)


@pytest.mark.skipif(ON_POSTGRES, reason="copies the file of the store")
@pytest.mark.parametrize(("moment", "is_replayed"), [("before_commit", False), ("after_commit", True)])
def test_a_request_of_a_killed_console_is_executed_once(
    tmp_path: Path,
    console_ca: ConsoleCa,
    first_start_template: tuple[Path, int],
    moment: str,
    is_replayed: bool,
) -> None:
    shutil.copyfile(first_start_template[0], tmp_path / "console.db")
    shutil.copytree(console_ca.directory, tmp_path / "tls")
    process = multiprocessing.get_context("fork").Process(
        target=_create_role, args=(tmp_path, lambda: _kill_at(moment))
    )
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    reply = _create_role(tmp_path)
    assert reply.status_code == 200
    assert ("idempotency-replayed" in reply.headers) == is_replayed
    again = _create_role(tmp_path)
    assert (again.json()["uid"], again.headers["idempotency-replayed"]) == (reply.json()["uid"], "true")
