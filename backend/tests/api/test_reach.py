"""Roles that reach some databases only: every operation of the API, with a database of the role's and with another one."""

import json
from datetime import timedelta

import httpx
import pytest
from backend.tests.api.test_roles import lets_in
from backend.tests.application import app_of
from backend.tests.reach import FOREIGN, OWN, SECRET, browser, databases, login, role

from shardboard.console import Console
from shardboard.orders import queue
from shardboard.state import actions, cluster, events, shards
from shardboard.state.bdbs import Bdb

__all__ = ["databases"]
pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("databases")]

OF_DATABASES = ("/bdbs/", "/bdb/", "/db/")
NOT_FOR_THEM = {
    ("GET", "/metrics"),
    ("POST", "/v1/bdbs"),
    ("GET", "/v1/cluster/authority"),
    ("GET", "/v1/cluster/certificates"),
    ("GET", "/v1/incidents"),
    ("GET", "/v1/incidents/{uid}"),
    ("GET", "/v1/incidents/{uid}/report"),
    ("GET", "/v1/nodes/actions"),
    ("GET", "/v1/nodes/{uid}/actions"),
    ("GET", "/v1/nodes/{uid}/actions/{action}"),
    ("GET", "/v1/nodes/{uid}/address_changes"),
    ("POST", "/v1/nodes/{uid}/upgrade"),
    ("GET", "/v1/usage_report"),
}
"""What a database member may call, but not one of some databases: it is about all of them, or about nodes with what is on them."""


async def named(console: Console, bdb_uid: int) -> dict[str, str]:
    """Uids of what belongs to a database, by what stands before them in paths."""
    async with console.store.read() as session:
        [action] = [
            each.uid
            for each in await actions.recent(session)
            if each.object_uid == bdb_uid and each.object_type == "bdb"
        ]
        return {
            "/shards/": str((await shards.of_bdb(session, bdb_uid))[0].uid),
            "/endpoints/": f"{bdb_uid}:1:1",
            "/benchmarks/": str(bdb_uid),
            "{action_uid}": action,
        }


def about(path: str, bdb_uid: int, uids: dict[str, str]) -> str | None:
    """The path with what belongs to the database; None: it names nothing of that sort."""
    if "{action_uid}" in path:
        return path.replace("{action_uid}", uids["{action_uid}"])
    if "{uid}" not in path:
        return None
    if any(part in path for part in OF_DATABASES):
        return path.replace("{uid}", str(bdb_uid))
    found = next((uid for before, uid in uids.items() if before in path), None)
    return path.replace("{uid}", found) if found is not None else None


@pytest.mark.parametrize("management", ["db_member", "db_viewer"])
async def test_every_call_with_a_database_that_the_role_reaches_and_with_another(
    client: httpx.AsyncClient, console: Console, management: str
) -> None:
    limited = await login(client, "limited", role_uids=[await role(client, management)])
    free = await login(client, "free", role=management)
    own, foreign = await named(console, OWN), await named(console, FOREIGN)
    paths = app_of(console).openapi()["paths"]
    calls = [
        (method.upper(), path)
        for method in ("get", "post", "put", "delete")  # what is to be deleted is there until then
        for path, operations in sorted(paths.items())
        if method in operations and not path.startswith(("/v1/users/password", "/v1/session"))
    ]
    refused = set()
    async with browser(console) as opened:
        for method, path in calls:
            is_let_in = await lets_in(opened, free, method, path)
            there = about(path, FOREIGN, foreign)
            if there is None:
                if is_let_in and not await lets_in(opened, limited, method, path):
                    refused.add((method, path))
                continue
            reply = await opened.request(method, there, json=None if method == "GET" else {}, headers=limited)
            hidden = (404, 403) if "action_uid" in path else (403,)
            assert reply.status_code in hidden, (method, there, reply.text)
            assert SECRET not in reply.text
            here = about(path, OWN, own)
            assert here is not None
            assert await lets_in(opened, limited, method, here) == is_let_in, (method, here)
    readable = {(method, path) for method, path in NOT_FOR_THEM if management == "db_member" or method == "GET"}
    assert refused == {each for each in readable if management == "db_member" or "incidents" not in each[1]}


@pytest.mark.parametrize("management", ["db_member", "db_viewer"])
async def test_no_reply_tells_of_another_database(client: httpx.AsyncClient, console: Console, management: str) -> None:
    limited = await login(client, "limited", role_uids=[await role(client, management)])
    own = await named(console, OWN)
    answered = 0
    async with browser(console) as opened:
        for path, operations in sorted(app_of(console).openapi()["paths"].items()):
            if "get" not in operations or path == "/v1/stream":
                continue
            url = about(path, OWN, own) or path.replace("{uid}", "1")
            query = {"topic": "bdbs", "metrics": "total_req", "from": 0, "bdb": 1, "uids": "1,1", "object": "bdb"}
            reply = await opened.get(url, params=query, headers=limited)
            assert SECRET not in reply.text, url
            answered += reply.status_code == 200
        assert answered > 60
        everything = await opened.get("/v1/bdbs", headers=limited)
        assert [bdb["uid"] for bdb in everything.json()] == [OWN]
        assert {each["bdb_uid"] for each in (await opened.get("/v1/shards", headers=limited)).json()} == {OWN}
        assert [run["bdb_uid"] for run in (await opened.get("/v1/benchmarks", headers=limited)).json()] == [OWN]
        assert (await opened.get("/v1/cluster", headers=limited)).json()["databases"] == [OWN]
        alarms = (await opened.get("/v1/cluster/health", headers=limited)).json()["alarms"]
        assert [alarm["description"] for alarm in alarms] == ["shop is large."]
        if management == "db_member":
            log = (await opened.get("/v1/logs", headers=limited)).json()
            assert {event["bdb_uid"] for event in log} == {OWN}


async def test_bodies_and_queries_that_name_another_database(client: httpx.AsyncClient, console: Console) -> None:
    limited = await login(client, "limited", role_uids=[await role(client)])
    own, foreign = await named(console, OWN), await named(console, FOREIGN)
    both = [own["/shards/"], foreign["/shards/"]]
    order = {"name": "run", "bdb_uid": FOREIGN, "workload": {"test_time": 10}}
    async with browser(console) as opened:
        for method, path, given in (
            ("POST", "/v1/shards/actions/failover", {"json": {"shard_uids": both}}),
            ("POST", "/v1/shards/actions/migrate", {"json": {"shard_uids": both, "target_node_uid": 1}}),
            ("POST", "/v1/benchmarks", {"json": order}),
            ("POST", "/v1/benchmarks/preflight", {"json": order}),
            ("GET", "/v1/benchmarks", {"params": {"bdb_uid": FOREIGN}}),
            ("GET", "/v1/benchmarks/compare", {"params": {"uids": "1,2"}}),
            ("GET", "/v1/history/latency", {"params": {"bdb": FOREIGN, "from": 0}}),
            ("GET", "/v1/history/latency", {"params": {"endpoint": f"{FOREIGN}:1:1", "from": 0}}),
            ("GET", "/v1/history", {"params": {"topic": f"shards:{FOREIGN}", "metrics": "total_req", "from": 0}}),
            ("GET", "/v1/stream", {"params": {"topics": f"shards:{FOREIGN}"}}),
            ("GET", "/v1/stream", {"params": {"topics": "benchmark:2"}}),
            ("GET", "/v1/stream", {"params": {"topics": "benchmark:77"}}),
        ):
            reply = await opened.request(method, path, headers=limited, **given)  # type: ignore[arg-type]
            assert (reply.status_code, reply.json()["description"]) == (403, "The role is limited to database 1."), path
        for path in ("/v1/bdbs/77", "/v1/shards/77", "/v1/benchmarks/77"):
            refusal = (await opened.get(path, headers=limited)).json()["description"]
            assert refusal == "The role is limited to database 1.", "whether it exists is not told"
        shown = await opened.get("/v1/shards/stats", params={"parent_uid": FOREIGN}, headers=limited)
        assert shown.json() == []
    async with console.store.read() as session:
        assert await session.get(Bdb, FOREIGN)


async def test_actions_of_others_do_not_crowd_out_the_own_ones(client: httpx.AsyncClient, console: Console) -> None:
    limited = await login(client, "limited", role_uids=[await role(client)])
    async with console.store.begin() as session:
        await cluster.load_for_update(session)
        for _ in range(actions.MOST):
            queue.start(
                session, "x", object_type="bdb", object_uid=FOREIGN, description=SECRET, originator="x",
                deadline=timedelta(hours=1),
            )  # fmt: skip
    async with browser(console) as opened:
        found = (await opened.get("/v2/actions", headers=limited)).json()
    assert (len(found), SECRET in json.dumps(found)) == (2, False), "the creation and the run"


async def test_alarms_of_nodes_are_heard(client: httpx.AsyncClient, console: Console) -> None:
    limited = await login(client, "limited", role_uids=[await role(client)])
    async with console.store.begin() as session:
        for type_, text in (("alarm_storage_full", "Node 1 is full."), (events.LOOP_FAILED, f"{SECRET} fails.")):
            events.record(session, type_, text, node_uid=1, source="node", severity="ERROR", details={"open": True})
    async with browser(console) as opened:
        alarms = (await opened.get("/v1/cluster/health", headers=limited)).json()["alarms"]
        health = await opened.get("/v4/cluster/health", headers=limited)
    assert [alarm["description"] for alarm in alarms] == ["Node 1 is full.", "shop is large."]
    assert (health.json()["status"], SECRET in health.text) == ("error", False)


async def test_metrics_are_for_who_reaches_all(client: httpx.AsyncClient, console: Console) -> None:
    limited = await login(client, "limited", role_uids=[await role(client)])
    transport = httpx.ASGITransport(app=app_of(console), client=("10.0.0.9", 1))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as away:
        assert (await away.get("/metrics", headers=limited)).status_code == 403
