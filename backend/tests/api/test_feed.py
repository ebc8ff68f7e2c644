"""What readers of the stream are told, and in which order."""

import asyncio

import pytest
from backend.tests.shards import until

from shardboard.api import feed
from shardboard.console import Console
from shardboard.state.nodes import Node


@pytest.mark.parametrize("kinds", [("bdb", "shard", "node"), ("node", "bdb", "shard")])
async def test_parts_are_told_before_what_they_are_parts_of(
    console: Console, nodes: list[Node], kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "GATHER_SECONDS", 0.01)
    task = asyncio.create_task(feed.Feed(console).run())
    try:
        with console.bus.listen("object") as told:
            await asyncio.sleep(0)
            for kind in kinds:
                console.bus.publish("change", (kind, 1))
            heard: list[str] = []
            await until(lambda: heard.extend(content["kind"] for _, content in told.drain()) or len(heard) == 3)
        assert heard == ["shard", "node", "bdb"]
    finally:
        task.cancel()
