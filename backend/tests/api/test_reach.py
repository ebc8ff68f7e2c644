"""Roles that reach some databases only: every operation of the API, with a database of the role's and with another one."""

import asyncio
import base64
import json
import time
from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
from backend.tests.api.test_roles import lets_in
from backend.tests.api.test_stream import Frames, opened
from backend.tests.application import app_of
from backend.tests.collectors.samples import sample, shard
from starlette.requests import Request

from shardboard.api import stream
from shardboard.api.feed import Feed
from shardboard.collectors.archive import Archive
from shardboard.collectors.live import members
from shardboard.console import Console
from shardboard.domain import endpoints
from shardboard.domain.rollup import TOPICS, Frame, columns_of
from shardboard.frames import told
from shardboard.orders import queue
from shardboard.services.users import Principal
from shardboard.state import actions, cluster, events, metrics, shards
from shardboard.state.bdbs import Bdb

__all__ = ["opened"]
pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]

PASSWORD = "correct horse"
OWN, FOREIGN = 1, 2
SECRET = "zebra"
"""In all that has to do with the other database, and in nothing else."""
OF_DATABASES = ("/bdbs/", "/bdb/", "/db/")
NOT_FOR_THEM = {
    ("POST", "/v1/bdbs"),
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


@pytest.fixture(autouse=True)
async def databases(client: httpx.AsyncClient, console: Console, nodes: Any) -> None:
    """Two that are alike, each with a run and an event."""
    for uid, name in ((OWN, "shop"), (FOREIGN, SECRET)):
        body = {
            "name": name,
            "memory_size": 2**30,
            "sharding": True,
            "shards_count": 2,
            "tags": [{"key": "of", "value": name}],
        }
        assert (await client.post("/v1/bdbs", json=body)).status_code == 200
        async with console.store.begin() as session:
            row = await session.get_one(Bdb, uid)
            row.status, row.action_uid = "active", None
            events.record(session, "bdb_updated", f"{name} was changed.", bdb_uid=uid)
            events.record(
                session, "alarm_bdb_size", f"{name} is large.", bdb_uid=uid, severity="WARNING", details={"open": True}
            )
        order = {"name": f"run of {name}", "bdb_uid": uid, "workload": {"test_time": 10}}
        assert (await client.post("/v1/benchmarks", json=order)).status_code == 200


async def role(client: httpx.AsyncClient, management: str = "db_member", uids: list[int] | None = None) -> int:
    resources = [{"type": "db", "uids": [OWN] if uids is None else uids}] if uids != [] else []
    reply = await client.post(
        "/v1/roles", json={"name": f"of {uids}", "management": management, "resources": resources}
    )
    assert reply.status_code == 200, reply.text
    assert reply.json()["resources"] == resources
    uid: int = reply.json()["uid"]
    return uid


async def login(client: httpx.AsyncClient, name: str, **given: Any) -> dict[str, str]:
    reply = await client.post("/v1/users", json={"email": name, "password": PASSWORD, **given})
    assert reply.status_code == 200, reply.text
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()}


@asynccontextmanager
async def browser(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=app_of(console))
    async with httpx.AsyncClient(transport=transport, base_url="https://console") as made:
        yield made


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
            if "get" not in operations or path in ("/v1/stream", "/metrics"):  # the machine itself may see all metrics
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
            assert (reply.status_code, reply.json()["description"]) == (403, "The role reaches database 1 only."), path
        for path in ("/v1/bdbs/77", "/v1/shards/77", "/v1/benchmarks/77"):
            refusal = (await opened.get(path, headers=limited)).json()["description"]
            assert refusal == "The role reaches database 1 only.", "whether it exists is not told"
        shown = await opened.get("/v1/shards/stats", params={"parent_uid": FOREIGN}, headers=limited)
        assert shown.json() == []
    async with console.store.read() as session:
        assert await session.get(Bdb, FOREIGN)


def reader(bdbs: set[int] | None, management: str = "db_member") -> stream.Reader:
    request = Request({"type": "http", "method": "GET", "path": "/v1/stream", "headers": [], "client": ("h", 1)})
    return stream.Reader(request, Principal("x", management, frozenset(bdbs) if bdbs is not None else None))


async def test_a_stream_shows_what_is_reached(console: Console, opened: Any) -> None:
    async with console.store.read() as session:
        rows = await shards.every(session)
    console.live.set_members(members(rows))
    for node in {row.node_uid for row in rows}:
        there = {row.uid: shard() for row in rows if row.node_uid == node}
        console.live.ingest(node, sample(100, there, seq=100))
    console.live._tell(100, console.live._seconds[100])
    limited: Frames = await opened(reader({OWN}), ("bdbs", "nodes"))
    free: Frames = await opened(reader(None), ("bdbs", "nodes"))
    for frames, expected in ((limited, {"1"}), (free, {"1", "2"})):
        assert (await frames.next())[0] == "hello"  # type: ignore[index]
        _, history = await frames.next()  # type: ignore[misc]
        assert (history["topic"], set(history["series"])) == ("bdbs", expected)
        _, history = await frames.next()  # type: ignore[misc]
        assert len(history["series"]) == len({row.node_uid for row in rows}), "nodes are seen"
    waiting = [asyncio.create_task(frames.next()) for frames in (limited, free)]
    await asyncio.sleep(0)
    for node in {row.node_uid for row in rows}:
        there = {row.uid: shard() for row in rows if row.node_uid == node}
        console.live.ingest(node, sample(101, there, seq=101))
    console.live._tell(101, console.live._seconds[101])
    for task, expected in zip(waiting, ({"1"}, {"1", "2"}), strict=True):
        event, data = await task
        assert (event, data["t"], set(data["series"])) == ("sample", 101, expected)


async def test_what_comes_late_shows_what_is_reached(console: Console, opened: Any) -> None:
    limited: Frames = await opened(reader({OWN}), ("endpoints",))
    assert [(await limited.next())[0] for _ in range(2)] == ["hello", "history"]  # type: ignore[index]
    waiting = asyncio.create_task(limited.next())
    await asyncio.sleep(0)
    for topic, uids in (("endpoints", ("1:1:1", "2:1:1")),):
        late = {"topic": topic, "metrics": ["x"], "from": 1, "count": 1, "series": {uid: [[1]] for uid in uids}}
        console.bus.publish(f"frame:{topic}", told("history", late, 7))
    event, data = await waiting  # type: ignore[misc]
    assert (event, data["series"]) == ("history", {"1:1:1": [[1]]})


async def test_a_stream_tells_of_changes_to_what_is_reached(console: Console, opened: Any) -> None:
    limited: Frames = await opened(reader({OWN}), ("nodes",))
    assert [(await limited.next())[0] for _ in range(2)] == ["hello", "history"]  # type: ignore[index]
    async with console.store.read() as session:
        own = (await shards.of_bdb(session, OWN))[0].uid
        foreign = (await shards.of_bdb(session, FOREIGN))[0].uid
        log = {event.bdb_uid: event.uid for event in await events.page(session, newest_first=False)}
        acts = {each.object_uid: each.uid for each in await actions.recent(session) if each.object_type == "bdb"}
    first = asyncio.create_task(limited.next_change())
    await asyncio.sleep(0)
    keys: list[tuple[str, Any]] = [("node", 1), ("cluster", 1), ("shard", 999)]
    for shard_uid, bdb_uid in ((own, OWN), (foreign, FOREIGN)):
        keys += [
            ("shard", shard_uid),
            ("bdb", bdb_uid),
            ("benchmark", bdb_uid),
            ("event", log[bdb_uid]),
            ("action", acts[bdb_uid]),
        ]
    await Feed(console)._tell(keys)
    changes = [await first, *[await limited.next_change() for _ in range(7)]]
    assert SECRET not in json.dumps(changes)
    assert [(change["kind"], str(change["uid"])) for change in changes] == [
        ("shard", str(own)),
        ("shard", "999"),
        ("node", "1"),
        ("action", acts[OWN]),
        ("bdb", str(OWN)),
        ("benchmark", str(OWN)),
        ("cluster", "1"),
        ("event", str(log[OWN])),
    ]


async def test_a_role_of_another_reach_counts_at_once(client: httpx.AsyncClient, console: Console) -> None:
    uid = await role(client)
    limited = await login(client, "limited", role_uids=[uid])
    made = await client.post("/v1/service_tokens", json={"name": "robot", "role_uids": [uid]})
    token = {"Authorization": f"Bearer {made.json()['token']}"}
    assert (made.json()["role"], made.json()["role_uids"]) == ("db_member", [uid])
    async with browser(console) as opened:

        async def seen(path: str = "/v1/bdbs/2") -> list[int]:
            return [(await opened.get(path, headers=each)).status_code for each in (limited, token)]

        assert await seen() == [403, 403]
        change = {"resources": [{"type": "db", "uids": [FOREIGN]}]}
        assert (await client.put(f"/v1/roles/{uid}", json=change)).status_code == 200
        assert (await seen(), await seen("/v1/bdbs/1")) == ([200, 200], [403, 403])
        assert (await client.put(f"/v1/roles/{uid}", json={"resources": []})).json()["resources"] == []
        assert (await seen(), await seen("/v1/bdbs/1")) == ([200, 200], [200, 200])
        assert (await client.put(f"/v1/roles/{uid}", json={"management": "cluster_viewer"})).status_code == 200
        [shown] = (await client.get("/v1/service_tokens")).json()
        assert shown["role"] == "cluster_viewer"
    reply = await client.delete(f"/v1/roles/{uid}")
    assert reply.status_code == 409
    assert "service token robot" in (await client.delete(f"/v1/roles/{await token_role(client)}")).text


async def token_role(client: httpx.AsyncClient) -> int:
    uid = await role(client, "db_viewer", [FOREIGN])
    await client.post("/v1/service_tokens", json={"name": "robot 2", "role_uids": [uid]})
    return uid


async def test_a_role_never_reaches_more_because_a_database_is_gone(
    client: httpx.AsyncClient, console: Console
) -> None:
    uid = await role(client)
    whole = (await client.get(f"/v1/roles/{uid}")).json()
    limited = await login(client, "limited", role_uids=[uid])
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Bdb, OWN))
    assert (await client.put(f"/v1/roles/{uid}", json={"name": "renamed"})).json()["resources"] == [
        {"type": "db", "uids": [OWN]}
    ]
    again = await client.put(f"/v1/roles/{uid}", json={**whole, "name": "renamed"})
    assert (again.status_code, again.json()["resources"]) == (200, whole["resources"]), "as it was read"
    async with browser(console) as opened:
        assert (await opened.get("/v1/bdbs", headers=limited)).json() == []
        assert (await opened.get("/v1/bdbs/2", headers=limited)).status_code == 403


@pytest.mark.parametrize(
    "given",
    [
        {"management": "admin", "resources": [{"type": "db", "uids": [1]}]},
        {"management": "cluster_viewer", "resources": [{"type": "db", "uids": [1]}]},
        {"management": "db_member", "resources": [{"type": "db", "uids": [1, 77]}]},
        {"management": "db_member", "resources": [{"type": "db", "uids": []}]},
        {"management": "db_member", "resources": [{"type": "node", "uids": [1]}]},
        {"management": "db_member", "resources": [{"type": "db", "uids": ["1"]}]},
        {"management": "db_member", "resources": [{"type": "db", "uids": [0]}]},
        {"management": "db_member", "resources": {"type": "db", "uids": [1]}},
        {"management": "db_member", "resources": None},
    ],
)
async def test_what_no_role_reaches(client: httpx.AsyncClient, given: dict[str, Any]) -> None:
    before = (await client.get("/v1/roles")).json()
    assert (await client.post("/v1/roles", json={"name": "r", **given})).status_code in (400, 406)
    assert (await client.get("/v1/roles")).json() == before


async def test_a_role_of_some_databases_keeps_its_management(client: httpx.AsyncClient) -> None:
    uid = await role(client)
    reply = await client.put(f"/v1/roles/{uid}", json={"management": "cluster_member"})
    assert (reply.status_code, reply.json()["field"]) == (406, "resources")
    assert (await client.get(f"/v1/roles/{uid}")).json()["management"] == "db_member"
    reply = await client.put(f"/v1/roles/{uid}", json={"management": "cluster_member", "resources": []})
    assert reply.status_code == 200


async def test_the_session_says_what_is_reached(client: httpx.AsyncClient, console: Console) -> None:
    await login(client, "limited", role_uids=[await role(client)])
    async with browser(console) as opened:
        form = {"username": "limited", "password": PASSWORD}
        assert (await opened.post("/v1/session", json=form)).json()["bdbs"] == [OWN]
        assert (await opened.get("/v1/session")).json()["bdbs"] == [OWN]
    assert (await client.get("/v1/session")).json()["bdbs"] is None


@pytest.mark.parametrize(
    ("topic", "uids", "expected"),
    [
        ("bdbs", "", {"1"}),
        ("bdbs", "1,2", {"1"}),
        ("bdbs", "2", set()),
        ("flash", "", {"0", "1"}),
        ("endpoints", "", {"1:1:1"}),
        ("endpoints", "1:1:1,2:1:1", {"1:1:1"}),
        ("nodes", "", {"1", "2"}),
        ("cluster", "", {"cluster"}),
    ],
)
async def test_history_shows_what_is_reached(
    client: httpx.AsyncClient, console: Console, topic: str, uids: str, expected: set[str]
) -> None:
    limited = await login(client, "limited", role_uids=[await role(client)])
    now, names = int(time.time()) - 5, TOPICS[topic]
    stored = {"cluster": [0], "flash": [0, 1, 2], "endpoints": [endpoints.number(bdb, 1) for bdb in (OWN, FOREIGN)]}
    shown = stored.get(topic, [1, 2])
    columns = {name: array("f", [1.0] * len(shown)) for name in names}
    await Archive(console.store, console.bus, console.live).restore()
    async with console.store.begin() as session:
        layout = (await metrics.layouts(session))[columns_of(topic, 1)]
        await metrics.write(session, [(topic, 1, layout, Frame(now, array("i", shown), columns))])
    query = {"topic": topic, "metrics": names[0], "from": now - 1, "uids": uids}
    async with browser(console) as opened:
        reply = await opened.get("/v1/history", params=query, headers=limited)
        assert set(reply.json()["series"]) == expected, reply.text
        full = await client.get("/v1/history", params={**query, "uids": ""})
        assert len(full.json()["series"]) == len(shown)


async def test_an_action_is_seen_by_who_reaches_all_that_it_is_about(
    client: httpx.AsyncClient, console: Console, opened: Any
) -> None:
    async with console.store.begin() as session:
        move = next(each for each in await actions.recent(session) if each.object_type == "bdb")
        move.name, move.object_type, move.object_uid, move.originator = "SMMigrate", "node", 1, "narrow"
        move.params = {"moves": [{"bdb": OWN}, {"bdb": FOREIGN}], "cancellable": True}
        uid = move.uid
    roles = {"narrow": [OWN], "wide": [OWN, FOREIGN]}
    for name, uids in roles.items():
        headers = await login(client, name, role_uids=[await role(client, uids=uids)])
        stream: Frames = await opened(reader(set(uids)), ("nodes",))
        assert [(await stream.next())[0] for _ in range(2)] == ["hello", "history"]  # type: ignore[index]
        first = asyncio.create_task(stream.next_change())
        await asyncio.sleep(0)
        await Feed(console)._tell([("action", uid), ("cluster", 1)])
        assert (await first)["kind"] == ("action" if name == "wide" else "cluster")
        async with browser(console) as opener:
            code = (await opener.get(f"/v2/actions/{uid}", headers=headers)).status_code
            listed = [each["action_uid"] for each in (await opener.get("/v2/actions", headers=headers)).json()]
            ended = (await opener.delete(f"/v1/actions/{uid}", headers=headers)).status_code
        assert (code, uid in listed) == ((200, True) if name == "wide" else (404, False)), "also of the own name"
        assert ended in ((200, 409) if name == "wide" else (404,))


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


async def test_by_its_management_role_alone_nobody_loses_the_limit(client: httpx.AsyncClient, console: Console) -> None:
    uid = await role(client)
    limited = await login(client, "limited", role_uids=[uid])
    user = next(each for each in (await client.get("/v1/users")).json() if each["email"] == "limited")
    reply = await client.put(f"/v1/users/{user['uid']}", json={"name": "x", "role": "db_member"})
    assert (reply.status_code, reply.json()["role_uids"]) == (200, [uid])
    async with browser(console) as opened:
        assert (await opened.get("/v1/bdbs/2", headers=limited)).status_code == 403
        reply = await client.put(f"/v1/users/{user['uid']}", json={"role_uids": [4]})
        assert (reply.status_code, reply.json()["role_uids"]) == (200, [4])
        assert (await opened.get("/v1/bdbs/2", headers=limited)).status_code == 200
    [*_, event] = (await client.get("/v1/logs")).json()
    assert "the role from of None (db_member) to db_member" in event["description"]


async def test_no_database_gets_the_uid_of_one_that_a_role_reaches(client: httpx.AsyncClient, console: Console) -> None:
    uid = await role(client)
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Bdb, OWN))
        for row in await shards.of_bdb(session, OWN):
            await session.delete(row)
    body = {"name": "again", "memory_size": 2**30, "uid": OWN}
    reply = await client.post("/v1/bdbs", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (409, "uid_exists")
    assert "role" in reply.json()["description"]
    assert (await client.delete(f"/v1/roles/{uid}")).status_code == 200
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200


async def test_roles_of_other_databases_are_not_shown(client: httpx.AsyncClient, console: Console) -> None:
    limited = await login(client, "limited", role_uids=[await role(client)])
    both, foreign = await role(client, uids=[OWN, FOREIGN]), await role(client, uids=[FOREIGN])
    async with browser(console) as opened:
        shown = {each["uid"]: each for each in (await opened.get("/v1/roles", headers=limited)).json()}
        assert foreign not in shown
        assert shown[both]["resources"] == [{"type": "db", "uids": [OWN]}]
        assert (await opened.get(f"/v1/roles/{foreign}", headers=limited)).status_code == 404


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
