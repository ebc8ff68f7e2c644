"""Tests that each request is one transaction, which ends before the reply is sent."""

from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from sqlalchemy import event

from shardboard.api.http.dependencies import Admin, Editor, Viewer, WriteSession
from shardboard.console import Console
from shardboard.errors import ApiError, NotAcceptable
from shardboard.services.access.authorization import Principal
from shardboard.state.access import login_failures, users
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster

pytestmark = pytest.mark.store_in_all


@pytest.fixture
async def probe(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application with a few handlers, signed in as the administrator."""
    app = FastAPI()
    app.state.console = console

    @app.exception_handler(ApiError)
    async def render(_: Request, error: ApiError) -> JSONResponse:
        return JSONResponse({"error_code": error.code}, error.status)

    @app.post("/write")
    async def write(session: WriteSession, _: Admin, fail: bool = False) -> dict[str, str]:
        events.record(session, "probe", "Something was written.", source="cluster")
        await session.flush()
        if fail:
            raise NotAcceptable("no", "No.")
        return {}

    @app.get("/viewer")
    async def viewer(principal: Viewer) -> Principal:
        return principal

    @app.get("/editor")
    async def editor(principal: Editor) -> Principal:
        return principal

    @app.get("/admin")
    async def admin(principal: Admin) -> Principal:
        return principal

    password = console.settings.admin_password
    assert password is not None
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    auth = (console.settings.admin_user, password.get_secret_value())
    async with httpx.AsyncClient(transport=transport, base_url="https://console", auth=auth) as client:
        yield client


async def count_events(console: Console) -> int:
    async with console.store.read() as session:
        return sum(row.type == "probe" for row in await events.page(session, newest_first=False))


async def test_change_is_committed_before_the_reply(probe: httpx.AsyncClient, console: Console) -> None:
    assert (await probe.post("/write")).status_code == 200
    assert await count_events(console) == 1


async def test_refused_request_is_rolled_back(probe: httpx.AsyncClient, console: Console) -> None:
    assert (await probe.post("/write", params={"fail": True})).status_code == 406
    assert await count_events(console) == 0


async def test_failed_commit_is_not_reported_as_success(probe: httpx.AsyncClient, console: Console) -> None:
    await probe.get("/viewer")

    def refuse(_: object) -> None:
        raise RuntimeError("the disk is full")

    event.listen(console.store.engine.sync_engine, "commit", refuse)
    try:
        assert (await probe.post("/write")).status_code == 500
    finally:
        event.remove(console.store.engine.sync_engine, "commit", refuse)
    assert await count_events(console) == 0


async def test_wrong_password_in_a_writing_request_causes_no_deadlock(
    probe: httpx.AsyncClient, console: Console
) -> None:
    """The failure is counted in a separate transaction. Within the transaction of the request it would wait for SQLite's write
    lock."""
    reply = await probe.post("/write", auth=(console.settings.admin_user, "wrong password"), timeout=5)
    assert (reply.status_code, reply.json()["error_code"]) == (401, "invalid_credentials")
    async with console.store.read() as session:
        failures = await login_failures.get_failures(session, 1, "127.0.0.1")
    assert failures is not None
    assert failures.count == 1
    assert await count_events(console) == 0


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("admin", {"viewer", "editor", "admin"}),
        ("cluster_member", {"viewer", "editor"}),
        ("db_member", {"viewer", "editor"}),
        ("cluster_viewer", {"viewer"}),
        ("db_viewer", {"viewer"}),
        ("user_manager", {"viewer"}),
        ("none", set()),
        ("made up", set()),
    ],
)
async def test_access_depends_on_the_role(
    probe: httpx.AsyncClient, console: Console, role: str, allowed: set[str]
) -> None:
    async with console.store.begin() as session:
        admin = await users.by_email(session, console.settings.admin_user)
        assert admin is not None
        admin.role = role
    statuses = {name: (await probe.get(f"/{name}")).status_code for name in ("viewer", "editor", "admin")}
    assert statuses == {name: 200 if name in allowed else 403 for name in statuses}


async def test_threshold_0_disables_only_the_lockout(probe: httpx.AsyncClient, console: Console) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"login_lockout_threshold": 0}
    for _ in range(7):
        assert (await probe.get("/viewer", auth=(console.settings.admin_user, "wrong password"))).status_code == 401
    assert (await probe.get("/viewer")).status_code == 200
