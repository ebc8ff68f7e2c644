"""Tests of streams and history for users with access to some databases only."""

import asyncio
import json
import time
from array import array
from typing import Any

import httpx
import pytest
from backend.tests.api.stream.test_event_stream import Frames, open_stream
from backend.tests.collectors.samples import sample, shard
from backend.tests.support.database_scope import (
    FOREIGN,
    OWN,
    SECRET,
    browser_client,
    create_role,
    create_user,
    databases,
)
from starlette.requests import Request

from shardboard.api.stream import event_stream as stream
from shardboard.api.stream.change_feed import Feed
from shardboard.collectors.metrics.live_metrics import shard_places
from shardboard.collectors.metrics.metric_history import Archive
from shardboard.console import Console
from shardboard.domain.metrics import endpoint_metrics
from shardboard.domain.metrics.rollup import TOPICS, TopicFrame, columns_of
from shardboard.domain.placement.moves import Move
from shardboard.kit.sse_frames import make_frame
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.databases import shards
from shardboard.state.metrics import metric_history

__all__ = ["databases", "open_stream"]
pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("databases")]


def reader(bdbs: set[int] | None, management: str = "db_member") -> stream.StreamSubscriber:
    request = Request({"type": "http", "method": "GET", "path": "/v1/stream", "headers": [], "client": ("h", 1)})
    return stream.StreamSubscriber(request, Principal("x", management, frozenset(bdbs) if bdbs is not None else None))


async def test_stream_contains_only_accessible_databases(console: Console, open_stream: Any) -> None:
    async with console.store.read() as session:
        rows = await shards.list_all(session)
    console.live.set_members(shard_places(rows))
    for node in {row.node_uid for row in rows}:
        shards_of_node = {row.uid: shard() for row in rows if row.node_uid == node}
        console.live.ingest(node, sample(100, shards_of_node, seq=100))
    console.live._publish(100, console.live._seconds[100])
    limited_frames: Frames = await open_stream(reader({OWN}), ("bdbs", "nodes"))
    free: Frames = await open_stream(reader(None), ("bdbs", "nodes"))
    for frames, expected in ((limited_frames, {"1"}), (free, {"1", "2"})):
        assert (await frames.next())[0] == "hello"  # type: ignore[index]
        _, history = await frames.next()  # type: ignore[misc]
        assert (history["topic"], set(history["series"])) == ("bdbs", expected)
        _, history = await frames.next()  # type: ignore[misc]
        assert len(history["series"]) == len({row.node_uid for row in rows}), "all nodes are included"
    tasks = [asyncio.create_task(frames.next()) for frames in (limited_frames, free)]
    await asyncio.sleep(0)
    for node in {row.node_uid for row in rows}:
        shards_of_node = {row.uid: shard() for row in rows if row.node_uid == node}
        console.live.ingest(node, sample(101, shards_of_node, seq=101))
    console.live._publish(101, console.live._seconds[101])
    for task, expected in zip(tasks, ({"1"}, {"1", "2"}), strict=True):
        event, data = await task
        assert (event, data["t"], set(data["series"])) == ("sample", 101, expected)


async def test_late_history_contains_only_accessible_databases(console: Console, open_stream: Any) -> None:
    limited_frames: Frames = await open_stream(reader({OWN}), ("endpoints",))
    assert [(await limited_frames.next())[0] for _ in range(2)] == ["hello", "history"]  # type: ignore[index]
    task = asyncio.create_task(limited_frames.next())
    await asyncio.sleep(0)
    for topic, uids in (("endpoints", ("1:1:1", "2:1:1")),):
        late = {"topic": topic, "metrics": ["x"], "from": 1, "count": 1, "series": {uid: [[1]] for uid in uids}}
        console.bus.publish(f"frame:{topic}", make_frame("history", late, 7))
    event, data = await task  # type: ignore[misc]
    assert (event, data["series"]) == ("history", {"1:1:1": [[1]]})


async def test_stream_reports_only_changes_to_accessible_objects(console: Console, open_stream: Any) -> None:
    limited_frames: Frames = await open_stream(reader({OWN}), ("nodes",))
    assert [(await limited_frames.next())[0] for _ in range(2)] == ["hello", "history"]  # type: ignore[index]
    async with console.store.read() as session:
        own = (await shards.list_for_bdb(session, OWN))[0].uid
        foreign = (await shards.list_for_bdb(session, FOREIGN))[0].uid
        log = {event.bdb_uid: event.uid for event in await events.page(session, newest_first=False)}
        action_uids = {
            each.object_uid: each.uid for each in await actions.list_recent(session) if each.object_type == "bdb"
        }
    first = asyncio.create_task(limited_frames.next_change())
    await asyncio.sleep(0)
    keys: list[tuple[str, Any]] = [("node", 1), ("cluster", 1), ("shard", 999)]
    for shard_uid, bdb_uid in ((own, OWN), (foreign, FOREIGN)):
        keys += [
            ("shard", shard_uid),
            ("bdb", bdb_uid),
            ("benchmark", bdb_uid),
            ("event", log[bdb_uid]),
            ("action", action_uids[bdb_uid]),
        ]
    await Feed(console)._publish(keys)
    changes = [await first, *[await limited_frames.next_change() for _ in range(7)]]
    assert SECRET not in json.dumps(changes)
    assert [(change["kind"], str(change["uid"])) for change in changes] == [
        ("shard", str(own)),
        ("shard", "999"),
        ("node", "1"),
        ("action", action_uids[OWN]),
        ("bdb", str(OWN)),
        ("benchmark", str(OWN)),
        ("cluster", "1"),
        ("event", str(log[OWN])),
    ]


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
async def test_history_contains_only_accessible_databases(
    client: httpx.AsyncClient, console: Console, topic: str, uids: str, expected: set[str]
) -> None:
    headers = await create_user(client, "limited", role_uids=[await create_role(client)])
    now, names = int(time.time()) - 5, TOPICS[topic]
    stored = {
        "cluster": [0],
        "flash": [0, 1, 2],
        "endpoints": [endpoint_metrics.number(bdb, 1) for bdb in (OWN, FOREIGN)],
    }
    numbers = stored.get(topic, [1, 2])
    columns = {name: array("f", [1.0] * len(numbers)) for name in names}
    await Archive(console.store, console.bus, console.live).prepare()
    async with console.store.begin() as session:
        layout = (await metric_history.layouts(session))[columns_of(topic, 1)]
        await metric_history.write(session, [(topic, 1, layout, TopicFrame(now, array("i", numbers), columns))])
    query = {"topic": topic, "metrics": names[0], "from": now - 1, "uids": uids}
    async with browser_client(console) as open_stream:
        reply = await open_stream.get("/v1/history", params=query, headers=headers)
        assert set(reply.json()["series"]) == expected, reply.text
        full = await client.get("/v1/history", params={**query, "uids": ""})
        assert len(full.json()["series"]) == len(numbers)


async def test_action_requires_access_to_all_its_databases(
    client: httpx.AsyncClient, console: Console, open_stream: Any
) -> None:
    async with console.store.begin() as session:
        move = next(each for each in await actions.list_recent(session) if each.object_type == "bdb")
        move.name, move.object_type, move.object_uid, move.originator = "SMMigrateShards", "node", 1, "narrow"
        move.params = {"moves": [Move(uid, 0, "").stored() for uid in (OWN, FOREIGN)], "cancellable": True}
        uid = move.uid
    roles = {"narrow": [OWN], "wide": [OWN, FOREIGN]}
    for name, uids in roles.items():
        headers = await create_user(client, name, role_uids=[await create_role(client, uids=uids)])
        stream: Frames = await open_stream(reader(set(uids)), ("nodes",))
        assert [(await stream.next())[0] for _ in range(2)] == ["hello", "history"]  # type: ignore[index]
        first = asyncio.create_task(stream.next_change())
        await asyncio.sleep(0)
        await Feed(console)._publish([("action", uid), ("cluster", 1)])
        assert (await first)["kind"] == ("action" if name == "wide" else "cluster")
        async with browser_client(console) as limited_client:
            code = (await limited_client.get(f"/v2/actions/{uid}", headers=headers)).status_code
            action_uids = [
                each["action_uid"] for each in (await limited_client.get("/v2/actions", headers=headers)).json()
            ]
            status = (await limited_client.delete(f"/v1/actions/{uid}", headers=headers)).status_code
        assert (code, uid in action_uids) == ((200, True) if name == "wide" else (404, False)), (
            "even if the user requested it"
        )
        assert status in ((200, 409) if name == "wide" else (404,))
