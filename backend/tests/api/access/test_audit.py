"""Tests of the audit log over HTTP: what is recorded, that changes are detected, and who may read it."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from backend.tests.conftest import PASSWORD, USER
from backend.tests.support import active_database
from backend.tests.support.app_factory import app_for
from sqlalchemy import text
from sqlalchemy.pool import QueuePool

from shardboard.api.access import audit as audit_api
from shardboard.api.http import audit_middleware
from shardboard.api.metrics import prometheus
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.access import audit
from shardboard.state.cluster import cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards

pytestmark = pytest.mark.store
COLUMNS = "time, username, auth_method, source, method, path, outcome, code, detail, link"
INSERT_LINE = f"INSERT INTO audit_lines SELECT 9, {COLUMNS} FROM audit_lines WHERE uid = 3"  # noqa: S608 - no input
ACL = {"name": "readers", "acl": "+@read ~*"}


async def lines(client: httpx.AsyncClient, **filters: Any) -> list[dict[str, Any]]:
    """Return all lines that match the filters, oldest first."""
    reply = await client.get("/v1/audit", params=filters)
    assert reply.status_code == 200, reply.text
    return [dict(line) for line in reversed(reply.json())]


async def newest(client: httpx.AsyncClient) -> dict[str, Any]:
    return (await lines(client, limit=1))[0]


async def write_to_store(console: Console, statements: str) -> None:
    """Change the store directly, without the console."""
    async with console.store.begin() as session:
        for statement in statements.split("; "):
            await session.execute(text(statement))


async def check(client: httpx.AsyncClient) -> dict[str, Any]:
    return dict((await client.get("/v1/audit/check")).json())


def client_for(console: Console, **options: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app_for(console), client=("198.51.100.7", 40000))
    return httpx.AsyncClient(transport=transport, base_url="https://console", **options)


async def user(client: httpx.AsyncClient, role: str) -> tuple[str, str]:
    body = {"email": f"{role}@example.org", "password": PASSWORD, "role": role}
    assert (await client.post("/v1/users", json=body)).status_code == 200
    return body["email"], PASSWORD


async def test_first_line_is_the_start_of_the_console(client: httpx.AsyncClient) -> None:
    (first,) = await lines(client)
    assert (first["uid"], first["username"], first["path"], first["outcome"]) == (1, "system", "console", "done")


async def test_changes_are_recorded_with_their_details(client: httpx.AsyncClient) -> None:
    assert (await client.post("/v1/redis_acls", json=ACL)).status_code == 200
    line = await newest(client)
    assert {name: line[name] for name in ("username", "proof", "source", "method", "path", "outcome", "code")} == {
        "username": USER,
        "proof": "password",
        "source": "192.0.2.1",
        "method": "POST",
        "path": "/v1/redis_acls",
        "outcome": "done",
        "code": "",
    }
    assert "readers" in line["detail"]
    assert (await check(client))["whole"]


async def test_change_and_line_are_written_in_one_transaction(console: Console, client: httpx.AsyncClient) -> None:
    # Force a conflict: the next line already exists.
    await write_to_store(console, "DELETE FROM audit_chain; INSERT INTO audit_chain VALUES (1, 1, '', 0, '', '')")
    assert (await client.post("/v1/redis_acls", json=ACL)).status_code == 500
    assert all(acl["name"] != "readers" for acl in (await client.get("/v1/redis_acls")).json())


async def test_token_refresh_is_recorded(console: Console, client: httpx.AsyncClient) -> None:
    token = (await client.post("/v1/users/authorize")).json()["access_token"]
    async with client_for(console, headers={"Authorization": f"JWT {token}"}) as program:
        assert (await program.post("/v1/users/refresh_jwt")).status_code == 200
    line = await newest(client)
    assert (line["username"], line["proof"], line["path"], line["outcome"]) == (
        USER,
        "token",
        "/v1/users/refresh_jwt",
        "done",
    )


async def test_dry_runs_and_reads_are_not_recorded(client: httpx.AsyncClient, console: Console) -> None:
    assert (await client.post("/v1/redis_acls", params={"dry_run": ""}, json=ACL)).status_code == 200
    assert (await client.post("/v1/redis_acls?dry_run=true", json={"name": "x", "acl": "nonsense"})).status_code >= 400
    assert (await client.post("/v1/redis_acls/validate", json={"acl": "+@read ~*"})).status_code == 200
    async with console.store.begin() as session:  # the state after a first start that generated the password
        (await cluster.load_for_update(session)).bootstrap_state = "idle"
    validated = {"cluster": {"name": "x"}, "credentials": {"username": USER, "password": PASSWORD}}
    reply = await client.post("/v1/bootstrap/validate/create_cluster", json={"action": "create_cluster", **validated})
    assert reply.status_code == 200
    for path in ("/v1/cluster", "/v1/nodes", "/v1/bdbs", "/v1/users", "/v1/nothing", "/v1/audit"):
        await client.get(path)
    assert (await client.post("/v1/nothing", json={})).status_code == 404
    assert len(await lines(client)) == 1


async def test_failures_are_recorded_with_the_reason(client: httpx.AsyncClient) -> None:
    assert (await client.delete("/v1/redis_acls/77")).status_code == 404
    line = await newest(client)
    assert (line["outcome"], line["code"], line["path"]) == ("failed", "redis_acl_not_exist", "/v1/redis_acls/77")
    assert "77" in line["detail"]
    assert (await client.post("/v1/redis_acls", content=b"{")).status_code == 400
    assert (await newest(client))["code"] == "bad_request"


async def test_requests_refused_because_of_the_role_are_recorded(console: Console, client: httpx.AsyncClient) -> None:
    viewer = await user(client, "db_viewer")
    async with client_for(console, auth=viewer) as other:
        assert (await other.post("/v1/redis_acls", json=ACL)).status_code == 403
        assert (await other.get("/v1/audit")).status_code == 403
        assert (await other.get("/v1/audit/check")).status_code == 403
        assert (await other.get("/v1/audit/export")).status_code == 403
    audit_lines = (await lines(client))[-4:]
    assert {(line["username"], line["source"], line["outcome"], line["code"]) for line in audit_lines} == {
        ("db_viewer@example.org", "198.51.100.7", "refused", "unauthorized_action")
    }
    assert [line["path"] for line in audit_lines] == [
        "/v1/redis_acls",
        "/v1/audit",
        "/v1/audit/check",
        "/v1/audit/export",
    ]


@pytest.mark.parametrize("role", ["cluster_member", "cluster_viewer", "db_member", "user_manager"])
async def test_only_administrators_can_read_the_audit_log(
    console: Console, client: httpx.AsyncClient, role: str
) -> None:
    async with client_for(console, auth=await user(client, role)) as other:
        assert (await other.get("/v1/audit")).status_code == 403


async def test_successful_and_refused_sign_ins_are_recorded(console: Console, client: httpx.AsyncClient) -> None:
    headers = {"X-Requested-With": "shardboard"}
    async with client_for(console, headers=headers) as browser:
        form = {"username": USER, "password": "wrong"}
        assert (await browser.post("/v1/session", json=form)).status_code == 401
        assert (await browser.post("/v1/session", json={**form, "password": PASSWORD})).status_code == 200
        assert (await browser.post("/v1/redis_acls", json=ACL)).status_code == 200
        assert (await browser.delete("/v1/session")).status_code == 200
    recorded = [(line["username"], line["proof"], line["outcome"], line["code"]) for line in (await lines(client))[1:]]
    assert recorded == [
        (USER, "", "refused", "invalid_credentials"),
        (USER, "password", "done", ""),
        (USER, "session", "done", ""),
        (USER, "session", "done", ""),
    ]


async def test_reads_with_wrong_credentials_are_recorded(console: Console, client: httpx.AsyncClient) -> None:
    async with client_for(console) as other:
        assert (await other.get("/v1/nodes")).status_code == 401  # without credentials
        assert (await other.get("/v1/nodes", auth=("nobody\n", "x"))).status_code == 401
        for credentials in ("Bearer sbt_unknown", "JWT a.b.c", "Basic !", "Digest x"):
            assert (await other.get("/v1/nodes", headers={"Authorization": credentials})).status_code == 401
    recorded = [(line["username"], line["outcome"], line["code"]) for line in (await lines(client))[1:]]
    assert recorded == [
        ("nobody?", "refused", "invalid_credentials"),
        ("", "refused", "invalid_token"),
        ("", "refused", "invalid_token"),
        ("", "refused", "unauthorized"),
        ("", "refused", "unauthorized"),
    ]


async def test_service_tokens_are_recorded_by_name(console: Console, client: httpx.AsyncClient) -> None:
    body = {"name": "deploy", "role": "admin"}
    token = (await client.post("/v1/service_tokens", json=body)).json()["token"]
    async with client_for(console, headers={"Authorization": f"Bearer {token}"}) as program:
        assert (await program.post("/v1/redis_acls", json=ACL)).status_code == 200
    line = await newest(client)
    assert (line["proof"], line["outcome"]) == ("service token", "done")
    assert "deploy" in line["username"]
    assert all(token not in json.dumps(each) for each in await lines(client))


async def test_failed_joins_are_recorded(console: Console, client: httpx.AsyncClient) -> None:
    facts = {"hostname": "x"}
    body = {"token": "sb1.wrong.x", "csr": "x", "addr": "10.9.9.9", "agent_port": 9700, "facts": facts}
    async with client_for(console) as agent:
        assert (await agent.post("/v1/bootstrap/join", json=body)).status_code in (400, 401)
    line = await newest(client)
    assert (line["path"], line["outcome"] in ("refused", "failed")) == ("/v1/bootstrap/join", True)


async def test_reads_of_secrets_are_recorded(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    before = len(await lines(client))
    await client.get("/v1/bdbs")
    assert len(await lines(client)) == before  # the database has no secrets yet
    async with console.store.begin() as session:
        await session.execute(text('UPDATE bdbs SET config = \'{"authentication_redis_pass": "geheim"}\''))
    await client.get("/v1/bdbs/1", params={"fields": "uid,name"})
    assert len(await lines(client)) == before
    viewer = await user(client, "db_viewer")
    async with client_for(console, auth=viewer) as other:
        await other.get("/v1/bdbs")
    before = len(await lines(client))
    await client.get("/v1/bdbs")
    await client.get("/v1/bdbs/1")
    audit_lines = await lines(client)
    assert [(line["method"], line["path"], line["outcome"]) for line in audit_lines[before:]] == [
        ("GET", "/v1/bdbs", "done"),
        ("GET", "/v1/bdbs/1", "done"),
    ]
    assert "geheim" not in json.dumps(audit_lines)


async def test_repeated_refusals_are_summarized(
    console: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("shardboard.services.access.logins.time.monotonic", lambda: now)
    async with client_for(console) as other:
        for _ in range(60):
            assert (await other.delete("/v1/bdbs/1")).status_code == 401
        assert len(await lines(client)) == 1 + 20
        await client.delete("/v1/redis_acls/77")  # from another address: recorded
        assert len(await lines(client)) == 1 + 20 + 1
        now = 31.0
        await other.delete("/v1/bdbs/1")
    assert "40 more since the last recorded one." in (await newest(client))["detail"]


async def test_anonymous_refusals_do_not_hide_those_of_users_at_the_same_address(
    console: Console, client: httpx.AsyncClient
) -> None:
    viewer = await user(client, "db_viewer")
    async with client_for(console) as anonymous:
        for _ in range(30):
            await anonymous.delete("/v1/bdbs/1")
    async with client_for(console, auth=viewer) as other:
        assert (await other.post("/v1/redis_acls", json=ACL)).status_code == 403
    assert (await newest(client))["username"] == "db_viewer@example.org"


def test_number_of_budgets_and_total_refusals_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("shardboard.services.access.logins.time.monotonic", lambda: now)
    budgets = audit_middleware._AuditRateLimits()
    results = [budgets.try_record(("place", str(number))) for number in range(1_500)]
    assert [is_recorded for is_recorded, _ in results] == [True] * 1_000 + [False] * 500
    assert len(budgets._by_key) == audit_middleware._MAX_RATE_LIMITS
    now = 10.0
    assert budgets.try_record(("place", "another")) == (True, 500)


async def test_refusals_and_reads_of_secrets_in_dry_runs_are_recorded(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        row = await bdbs.by_uid(session, 1)
        assert row is not None
        row.config = {**row.config, "authentication_redis_pass": "geheim"}
    before = len(await lines(client))
    async with client_for(console, headers={"X-Requested-With": "shardboard"}) as other:
        form = {"username": USER, "password": "wrong"}
        assert (await other.post("/v1/session?dry_run=1", json=form)).status_code == 400
        assert (await other.delete("/v1/users/1?dry_run=1")).status_code == 401
        assert (await other.post("/v1/bootstrap/join?dry_run=1", json={"token": "x"})).status_code == 400
    assert (await client.get("/v1/bdbs")).status_code == 200
    assert (await client.put("/v1/bdbs/1?dry_run=1", json={})).status_code == 200
    audit_lines = (await lines(client))[before:]
    assert [(line["method"], line["path"], line["outcome"]) for line in audit_lines] == [
        ("POST", "/v1/session", "failed"),
        ("DELETE", "/v1/users/1", "refused"),
        ("POST", "/v1/bootstrap/join", "failed"),
        ("GET", "/v1/bdbs", "done"),
        ("PUT", "/v1/bdbs/1", "done"),
    ]
    message = "The response contained database passwords or backup locations with credentials."
    assert audit_lines[4]["detail"] == audit_lines[3]["detail"] == message


async def test_actions_without_an_event_are_recorded_in_their_transaction(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        primary = next(shard.uid for shard in await shards.list_for_bdb(session, 1) if shard.current_role == "master")
        await session.execute(text("UPDATE shards SET observed_status = 'ok', observed_link = 'idle'"))
    before = len(await lines(client))
    path = f"/v1/shards/{primary}/actions/failover"
    assert (await client.post(path, json={"dry_run": True})).status_code == 200
    assert (await client.post(f"{path}?dry_run=1", json={})).status_code == 200
    assert len(await lines(client)) == before
    assert (await client.post(path, json={})).status_code == 200
    (line,) = (await lines(client))[before:]
    assert line["outcome"] == "done"
    assert line["detail"].startswith("Requested: Switch over 1 shard of ")


async def test_refusals_at_the_metrics_port_are_recorded(console: Console, client: httpx.AsyncClient) -> None:
    transport = httpx.ASGITransport(prometheus.create_app(console), client=("198.51.100.7", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://metrics", auth=(USER, "wrong")) as scraper:
        assert (await scraper.get("/metrics")).status_code == 401
    line = await newest(client)
    assert (line["username"], line["proof"], line["source"], line["outcome"]) == (USER, "", "198.51.100.7", "refused")


async def test_only_one_check_runs_at_a_time(console: Console, client: httpx.AsyncClient) -> None:
    async with console.audit_check_lock:
        reply = await client.get("/v1/audit/check")
    assert (reply.status_code, reply.json()["error_code"]) == (409, "busy")


async def test_concurrent_changes_form_one_chain(client: httpx.AsyncClient) -> None:
    bodies = [{"name": f"list-{number}", "acl": "+@read ~*"} for number in range(20)]
    replies = await asyncio.gather(*(client.post("/v1/redis_acls", json=each) for each in bodies))
    assert {reply.status_code for reply in replies} == {200}
    assert [line["uid"] for line in await lines(client)] == list(range(1, 22))
    assert await check(client) == {"whole": True, "lines": 21, "first_uid": 1, "last_uid": 21, "faults": []}


@pytest.mark.parametrize(
    ("attack", "fault"),
    [
        ("UPDATE audit_lines SET username = 'mallory' WHERE uid = 3", "Record 3 was changed."),
        ("DELETE FROM audit_lines WHERE uid = 3", "Record 3 is missing."),
        ("DELETE FROM audit_lines WHERE uid > 3", "Records 4 to 5 are missing."),
        ("DELETE FROM audit_lines WHERE uid < 3", "Records 1 to 2 are missing."),
        ("UPDATE audit_chain SET last = 4", "The stored positions of the first and last record were changed."),
        ("DELETE FROM audit_chain", "The stored positions of the first and last record were changed."),
        (INSERT_LINE, "Record 9 is from after the end of the audit log."),
    ],
)
async def test_direct_changes_of_the_store_are_detected(
    console: Console, client: httpx.AsyncClient, attack: str, fault: str
) -> None:
    for number in range(4):
        await client.post("/v1/redis_acls", json={"name": f"list-{number}", "acl": "+@read ~*"})
    assert (await check(client))["whole"]
    await write_to_store(console, attack)
    result = await check(client)
    assert not result["whole"]
    assert fault in result["faults"]


@pytest.mark.parametrize("attack", ["DELETE FROM audit_chain", "DELETE FROM audit_chain; DELETE FROM audit_lines"])
async def test_log_without_its_end_continues_and_the_loss_is_detected(
    console: Console, client: httpx.AsyncClient, attack: str
) -> None:
    for number in range(2):
        await client.post("/v1/redis_acls", json={"name": f"list-{number}", "acl": "+@read ~*"})
    await write_to_store(console, attack)
    for number in range(2):
        assert (await client.post("/v1/redis_acls", json={"name": f"more-{number}", "acl": "+@read ~*"})).is_success
        assert not (await check(client))["whole"]
    async with console.store.begin() as session:
        await audit.record_console_start(session, "1")
    assert "created again" in (await check(client))["faults"][0]


async def test_changes_are_refused_without_the_audit_key(console: Console, client: httpx.AsyncClient) -> None:
    await write_to_store(console, "UPDATE cluster SET audit_key = NULL")
    assert (await client.post("/v1/redis_acls", json=ACL)).status_code == 500
    assert all(acl["name"] != "readers" for acl in (await client.get("/v1/redis_acls")).json())
    assert (await check(client))["faults"] == ["The key of the audit log was removed from the store."]
    async with console.store.begin() as session:
        await audit.record_console_start(session, "1")  # the next start of a console
    assert not (await check(client))["whole"]
    assert (await client.post("/v1/redis_acls", json=ACL)).status_code == 200


async def test_lines_are_paged_and_filtered(console: Console, client: httpx.AsyncClient) -> None:
    for number in range(5):
        await client.post("/v1/redis_acls", json={"name": f"list-{number}", "acl": "+@read ~*"})
    await client.delete("/v1/redis_acls/77")
    assert [line["uid"] for line in (await client.get("/v1/audit?limit=3")).json()] == [7, 6, 5]
    assert [line["uid"] for line in (await client.get("/v1/audit?limit=3&before=5")).json()] == [4, 3, 2]
    assert [line["uid"] for line in await lines(client, outcome="failed")] == [7]
    assert [line["uid"] for line in await lines(client, text="LIST-3")] == [5]
    assert [line["uid"] for line in await lines(client, text="100%")] == []
    assert [line["uid"] for line in await lines(client, username="system")] == [1]
    moment = (await client.get("/v1/audit")).json()[0]["time"]
    assert await lines(client, stime="2999-01-01T00:00:00Z") == []
    assert await lines(client, etime="2020-01-01T00:00:00Z") == []
    assert moment.endswith("Z")
    for query in ("limit=0", "limit=x", "before=0", "outcome=x", "stime=x", f"text={'x' * 201}"):
        assert (await client.get(f"/v1/audit?{query}")).status_code == 400, query
    assert (await client.get("/v1/audit", params={"text": "\0", "username": "\0"})).status_code == 200


async def test_export_contains_all_lines_in_order(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardboard.queries.access.audit.BATCH_SIZE", 2)
    for number in range(4):
        await client.post("/v1/redis_acls", json={"name": f"list-{number}", "acl": "+@read ~*"})
    reply = await client.get("/v1/audit/export")
    assert reply.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line) for line in reply.text.splitlines()] == await lines(client)
    assert (await check(client))["lines"] == 5
    assert (await client.get("/v1/audit/export", params={"stime": "2999-01-01T00:00:00Z"})).text == ""
    assert (await client.get("/v1/audit/export", params={"etime": "2020-01-01T00:00:00Z"})).text == ""
    assert len((await client.get("/v1/audit/export", params={"stime": "2020-01-01"})).text.splitlines()) == 5


async def test_slowly_read_export_holds_no_database_connection(
    console: Console, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardboard.queries.access.audit.BATCH_SIZE", 1)
    await client.post("/v1/redis_acls", json=ACL)
    parts = audit_api._json_lines(console.store, None, None)
    assert json.loads(await anext(parts))["uid"] == 1
    pool = console.store.engine.pool
    assert isinstance(pool, QueuePool)
    assert pool.checkedout() == 0
    assert [json.loads(part)["uid"] async for part in parts] == [2]
