"""Tests of the feed: what is sent to readers of the stream, and in which order."""

import asyncio
import json
from datetime import UTC, datetime

import httpx
import pytest
from backend.tests.support.database_scope import OWN, databases
from backend.tests.support.real_shards import wait_until

from shardboard.api.stream import change_feed
from shardboard.console import Console
from shardboard.state.cluster.nodes import Node
from shardboard.state.failures.outages import Outage

__all__ = ["databases"]


@pytest.mark.parametrize("kinds", [("bdb", "shard", "node"), ("node", "bdb", "shard")])
async def test_parts_are_sent_before_the_objects_that_contain_them(
    console: Console, nodes: list[Node], kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "BATCH_SECONDS", 0.01)
    task = asyncio.create_task(change_feed.Feed(console).run())
    try:
        with console.bus.listen("object") as messages:
            await asyncio.sleep(0)
            for kind in kinds:
                console.bus.publish("change", (kind, 1))
            received: list[str] = []
            await wait_until(
                lambda: received.extend(content.kind for _, content in messages.drain()) or len(received) == 3
            )
        assert received == ["shard", "node", "bdb"]
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_changes_do_not_contain_the_password(
    console: Console, nodes: list[Node], client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"name": "closed", "memory_size": 1 << 30, "authentication_redis_pass": "s3cret"}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200
    with console.bus.listen("object") as messages:
        await change_feed.Feed(console)._publish([("bdb", 1)])
        [(_, frame)] = messages.drain()
    changed_object = json.loads(frame.text.partition(b"data: ")[2])["object"]
    assert (changed_object["authentication"], changed_object["authentication_redis_pass"]) == (True, "")


async def test_outage_is_sent_so_that_readers_fetch_incidents(console: Console) -> None:
    counts = {"noticed_ms": 1, "waited": 0, "failed": 0, "lost": 0}
    async with console.store.begin() as session:
        session.add(
            Outage(
                uid=1,
                bdb_uid=7,
                reported_by=1,
                node_uid=2,
                address="10.0.0.2",
                port=20000,
                slots="",
                noticed_at=datetime.now(UTC),
                **counts,
            )
        )
    with console.bus.listen("object") as messages:
        await change_feed.Feed(console)._publish([("outage", 1)])
        [(_, frame)] = messages.drain()
    outage = json.loads(frame.text.partition(b"data: ")[2])
    assert outage == {"kind": "outage", "uid": 1, "object": {"uid": 1, "bdb_uid": 7, "node_uid": 2}}


@pytest.mark.usefixtures("databases")
async def test_backups_and_restores_are_sent_to_readers_of_their_database(console: Console) -> None:
    with console.bus.listen("object") as messages:
        await change_feed.Feed(console)._publish([("restore", OWN), ("backup", OWN), ("backup", 999)])
        frames = [frame for _, frame in messages.drain()]
    sent = [(frame.kind, frame.bdb_uids, frame.is_gone) for frame in frames]
    assert sent == [
        ("backup", frozenset({OWN}), False),
        ("backup", frozenset(), True),
        ("restore", frozenset({OWN}), False),
    ]
    backup = json.loads(frames[0].text.partition(b"data: ")[2])["object"]
    assert (backup["bdb_name"], backup["status"]) == ("shop", "succeeded")


@pytest.mark.parametrize("error", [ConnectionRefusedError("no store"), RuntimeError("a bug")])
async def test_changes_that_could_not_be_sent_are_not_lost(
    console: Console, nodes: list[Node], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change is sent later, or readers are disconnected so that they fetch everything again."""
    for name in ("BATCH_SECONDS", "RETRY_SECONDS"):
        monkeypatch.setattr(change_feed, name, 0.01)
    failures, original = [error], change_feed.Feed._publish

    async def failing(self: change_feed.Feed, keys: set[tuple[str, int]]) -> None:
        if failures:
            raise failures.pop()
        await original(self, keys)

    monkeypatch.setattr(change_feed.Feed, "_publish", failing)
    task = asyncio.create_task(change_feed.Feed(console).run())
    try:
        with console.bus.listen("object", "closing") as messages:
            await asyncio.sleep(0)
            console.bus.publish("change", ("node", 1))
            source, _ = await messages.get() or ("", None)
        assert source == ("object" if isinstance(error, OSError) else "closing")
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_changes_without_readers_do_not_block_others(console: Console, client: httpx.AsyncClient) -> None:
    """Users, roles and ACLs have their own loops that listen; browsers fetch them."""
    user = {"email": "ann", "password": "correct horse", "role": "db_viewer"}
    with console.bus.listen("change") as changes:
        assert (await client.post("/v1/users", json=user)).status_code == 200
        keys = {message[1] for message in changes.drain()}
    assert {kind for kind, _ in keys} >= {"user", "event"}
    with console.bus.listen("object") as messages:
        await change_feed.Feed(console)._publish({*keys, ("role", 17), ("redis_acl", 17)})
        assert {content.kind for _, content in messages.drain()} == {"event"}
