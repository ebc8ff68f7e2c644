"""Tests of roles with access to some databases only: every API operation, with a database of the role and with another one."""

import json
from datetime import timedelta

import httpx
import pytest
from backend.tests.api.access.test_roles import is_allowed
from backend.tests.support.app_factory import app_for
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.database_scope import (
    FOREIGN,
    OWN,
    SECRET,
    browser_client,
    create_role,
    create_user,
    databases,
)

from shardboard.actions import queue
from shardboard.console import Console
from shardboard.state.alerting import events
from shardboard.state.cluster import actions, cluster
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb

__all__ = ["databases"]
pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("databases")]

SAMPLED_CALLS = 80
"""Requests of each role in `make test`: a third of all."""
DATABASE_PATHS = ("/bdbs/", "/bdb/", "/db/", "/migrations/")
REFUSED_IF_LIMITED = {
    ("GET", "/metrics"),
    ("POST", "/v1/bdbs"),
    ("GET", "/v1/cluster/authority"),
    ("GET", "/v1/cluster/certificates"),
    ("GET", "/v1/cluster/redundancy"),
    ("GET", "/v1/consoles"),
    ("GET", "/v1/incidents"),
    ("GET", "/v1/incidents/{uid}"),
    ("GET", "/v1/incidents/{uid}/report"),
    ("GET", "/v1/nodes/actions"),
    ("GET", "/v1/nodes/{uid}/actions"),
    ("GET", "/v1/nodes/{uid}/actions/{action}"),
    ("GET", "/v1/nodes/{uid}/address_changes"),
    ("POST", "/v1/nodes/{uid}/upgrade"),
    ("GET", "/v1/usage_report"),
    ("GET", "/v1/scenario_runs"),
    ("POST", "/v1/scenario_runs"),
    ("GET", "/v1/scenario_runs/{uid}"),
    ("DELETE", "/v1/scenario_runs/{uid}"),
    ("GET", "/v1/scenario_runs/{uid}/report"),
    ("POST", "/v1/scenario_runs/{uid}/stop"),
    ("GET", "/v1/scenarios"),
    ("GET", "/v1/scenarios/{name}"),
    ("POST", "/v1/scenarios/{name}/preflight"),
    ("POST", "/v2/bdbs"),
}
"""Operations that a role for all databases may call, but not one for some databases: they concern all databases or nodes."""


async def related_uids(console: Console, bdb_uid: int) -> dict[str, str]:
    """Return uids of objects of a database, by the part of the path that precedes them."""
    async with console.store.read() as session:
        [action] = [
            each.uid
            for each in await actions.list_recent(session)
            if each.object_uid == bdb_uid and each.object_type == "bdb"
        ]
        return {
            "/shards/": str((await shards.list_for_bdb(session, bdb_uid))[0].uid),
            "/endpoints/": f"{bdb_uid}:1:1",
            "/benchmarks/": str(bdb_uid),
            "/backups/": str(bdb_uid),
            "/restores/": str(bdb_uid),
            "{action_uid}": action,
        }


def path_for(path: str, bdb_uid: int, uids: dict[str, str]) -> str | None:
    """Return the path for an object of the database, or None if it refers to no such object."""
    if "{action_uid}" in path:
        return path.replace("{action_uid}", uids["{action_uid}"])
    if "{uid}" not in path:
        return None
    if any(part in path for part in DATABASE_PATHS):
        return path.replace("{uid}", str(bdb_uid))
    related = next((uid for prefix, uid in uids.items() if prefix in path), None)
    return path.replace("{uid}", related) if related is not None else None


@pytest.mark.parametrize("management", ["db_member", "db_viewer"])
async def test_every_operation_on_own_and_other_databases(
    client: httpx.AsyncClient, console: Console, management: str, sampling: Sampling
) -> None:
    headers = await create_user(client, "limited", role_uids=[await create_role(client, management)])
    free = await create_user(client, "free", role=management)
    own, foreign = await related_uids(console, OWN), await related_uids(console, FOREIGN)
    paths = app_for(console).openapi()["paths"]
    calls = [
        (method.upper(), path)
        for method in ("get", "post", "put", "delete")  # objects are deleted last
        for path, operations in sorted(paths.items())
        if method in operations and not path.startswith(("/v1/users/password", "/v1/session"))
    ]
    calls = list(sampling.choose(calls, SAMPLED_CALLS))
    refused = set()
    async with browser_client(console) as browser:
        for method, path in calls:
            is_expected = await is_allowed(browser, free, method, path)
            foreign_path = path_for(path, FOREIGN, foreign)
            if foreign_path is None:
                if is_expected and not await is_allowed(browser, headers, method, path):
                    refused.add((method, path))
                continue
            reply = await browser.request(method, foreign_path, json=None if method == "GET" else {}, headers=headers)
            expected_statuses = (404, 403) if "action_uid" in path else (403,)
            assert reply.status_code in expected_statuses, (method, foreign_path, reply.text)
            assert SECRET not in reply.text
            own_path = path_for(path, OWN, own)
            assert own_path is not None
            assert await is_allowed(browser, headers, method, own_path) == is_expected, (method, own_path)
    readable = {(method, path) for method, path in REFUSED_IF_LIMITED if management == "db_member" or method == "GET"}
    expected = {each for each in readable if management == "db_member" or "incidents" not in each[1]}
    assert refused == expected & set(calls)


@pytest.mark.parametrize("management", ["db_member", "db_viewer"])
async def test_no_reply_contains_data_of_another_database(
    client: httpx.AsyncClient, console: Console, management: str, sampling: Sampling
) -> None:
    headers = await create_user(client, "limited", role_uids=[await create_role(client, management)])
    own = await related_uids(console, OWN)
    answered = 0
    paths = app_for(console).openapi()["paths"]
    readable = [path for path in sorted(paths) if "get" in paths[path] and path != "/v1/stream"]
    chosen = sampling.choose(readable, SAMPLED_CALLS // 2)
    async with browser_client(console) as browser:
        for path in chosen:
            url = path_for(path, OWN, own) or path.replace("{uid}", "1")
            known = {parameter["name"] for parameter in paths[path]["get"].get("parameters", ())}
            values = {"topic": "bdbs", "metrics": "total_req", "from": 0, "bdb": 1, "uids": "1,1", "object": "bdb"}
            query = {name: value for name, value in values.items() if name in known}
            reply = await browser.get(url, params=query, headers=headers)
            assert SECRET not in reply.text, url
            answered += reply.status_code == 200
        assert answered > (60 if sampling.thorough else 5)
        everything = await browser.get("/v1/bdbs", headers=headers)
        assert [bdb["uid"] for bdb in everything.json()] == [OWN]
        assert {each["bdb_uid"] for each in (await browser.get("/v1/shards", headers=headers)).json()} == {OWN}
        assert [run["bdb_uid"] for run in (await browser.get("/v1/benchmarks", headers=headers)).json()] == [OWN]
        assert (await browser.get("/v1/cluster", headers=headers)).json()["databases"] == [OWN]
        alarms = (await browser.get("/v1/cluster/health", headers=headers)).json()["alarms"]
        assert [alarm["description"] for alarm in alarms] == ["shop is large."]
        if management == "db_member":
            log = (await browser.get("/v1/logs", headers=headers)).json()
            assert {event["bdb_uid"] for event in log} == {OWN}


async def test_bodies_and_queries_with_another_database_are_refused(
    client: httpx.AsyncClient, console: Console
) -> None:
    headers = await create_user(client, "limited", role_uids=[await create_role(client)])
    own, foreign = await related_uids(console, OWN), await related_uids(console, FOREIGN)
    both = [own["/shards/"], foreign["/shards/"]]
    run = {"name": "run", "bdb_uid": FOREIGN, "workload": {"test_time": 10}}
    async with browser_client(console) as browser:
        for method, path, arguments in (
            ("POST", "/v1/shards/actions/failover", {"json": {"shard_uids": both}}),
            ("POST", "/v1/shards/actions/migrate", {"json": {"shard_uids": both, "target_node_uid": 1}}),
            ("POST", "/v1/benchmarks", {"json": run}),
            ("POST", "/v1/benchmarks/preflight", {"json": run}),
            ("GET", "/v1/benchmarks", {"params": {"bdb_uid": FOREIGN}}),
            ("GET", "/v1/benchmarks/compare", {"params": {"uids": "1,2"}}),
            ("GET", "/v1/history/latency", {"params": {"bdb": FOREIGN, "from": 0}}),
            ("GET", "/v1/history/latency", {"params": {"endpoint": f"{FOREIGN}:1:1", "from": 0}}),
            ("GET", "/v1/history", {"params": {"topic": f"shards:{FOREIGN}", "metrics": "total_req", "from": 0}}),
            ("GET", "/v1/stream", {"params": {"topics": f"shards:{FOREIGN}"}}),
            ("GET", "/v1/stream", {"params": {"topics": "benchmark:2"}}),
            ("GET", "/v1/stream", {"params": {"topics": "benchmark:77"}}),
        ):
            reply = await browser.request(method, path, headers=headers, **arguments)  # type: ignore[arg-type]
            assert (reply.status_code, reply.json()["description"]) == (403, "The role is limited to database 1."), path
        for path in ("/v1/bdbs/77", "/v1/shards/77", "/v1/benchmarks/77"):
            refusal = (await browser.get(path, headers=headers)).json()["description"]
            assert refusal == "The role is limited to database 1.", "the reply does not reveal whether it exists"
        stats = await browser.get("/v1/shards/stats", params={"parent_uid": FOREIGN}, headers=headers)
        assert stats.json() == []
    async with console.store.read() as session:
        assert await session.get(Bdb, FOREIGN)


async def test_many_actions_of_other_databases_do_not_hide_own_actions(
    client: httpx.AsyncClient, console: Console
) -> None:
    headers = await create_user(client, "limited", role_uids=[await create_role(client)])
    async with console.store.begin() as session:
        await cluster.load_for_update(session)
        for _ in range(actions.MAX_LISTED):
            queue.enqueue(
                session, "x", object_type="bdb", object_uid=FOREIGN, description=SECRET, originator="x",
                deadline=timedelta(hours=1),
            )  # fmt: skip
    async with browser_client(console) as browser:
        action_list = (await browser.get("/v2/actions", headers=headers)).json()
    assert (len(action_list), SECRET in json.dumps(action_list)) == (2, False), "the creation and the benchmark run"


async def test_alarms_of_nodes_are_visible(client: httpx.AsyncClient, console: Console) -> None:
    headers = await create_user(client, "limited", role_uids=[await create_role(client)])
    async with console.store.begin() as session:
        for type_, text in (("alarm_storage_full", "Node 1 is full."), (events.LOOP_FAILED, f"{SECRET} fails.")):
            events.record(session, type_, text, node_uid=1, source="node", severity="ERROR", details={"open": True})
    async with browser_client(console) as browser:
        alarms = (await browser.get("/v1/cluster/health", headers=headers)).json()["alarms"]
        health = await browser.get("/v4/cluster/health", headers=headers)
    assert [alarm["description"] for alarm in alarms] == ["Node 1 is full.", "shop is large."]
    assert (health.json()["status"], SECRET in health.text) == ("error", False)


async def test_metrics_require_access_to_all_databases(client: httpx.AsyncClient, console: Console) -> None:
    headers = await create_user(client, "limited", role_uids=[await create_role(client)])
    transport = httpx.ASGITransport(app=app_for(console), client=("10.0.0.9", 1))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as other_network:
        assert (await other_network.get("/metrics", headers=headers)).status_code == 403
