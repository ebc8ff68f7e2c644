"""The demo's traffic against a real cluster: it finds every primary, keeps its pace, and survives a change of owners."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from backend.tests.shards import ENGINE, Farm, ask, bring_up, farm, layout, until

from shardboard.agent.shard import Shard
from shardboard.demo_traffic import MIX, PROFILES, SLOTS, TICK, Traffic
from shardboard.driver.cluster import ShardRef


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[Farm]:
    async with farm(tmp_path, 3) as opened:
        yield opened


@pytest.fixture
async def shards(nodes: Farm) -> list[ShardRef]:
    """Three primaries and their replicas."""
    made = layout(nodes.nodes, 3, replication=True)
    await bring_up(nodes, ENGINE, made)
    return made


@pytest.fixture
async def traffic(shards: list[ShardRef]) -> AsyncIterator[Traffic]:
    made = Traffic(shards[0].node.addr, shards[0].port, 2000)
    task = asyncio.create_task(made.run())
    yield made
    assert not task.done(), "it goes on until it is killed"
    task.cancel()


async def sizes(nodes: Farm, shards: list[ShardRef]) -> list[int]:
    return [int(await ask(nodes[shard.node.uid].shards[shard.uid], "DBSIZE")) for shard in shards]


async def test_every_primary_gets_its_share_and_no_redirection(
    nodes: Farm, shards: list[ShardRef], traffic: Traffic
) -> None:
    async def all_have_keys() -> bool:
        return min(await sizes(nodes, shards[:3])) > 20

    await until(all_have_keys)
    assert len(traffic._owner) == SLOTS
    assert set(traffic._owner) == {(shard.node.addr, shard.port) for shard in shards[:3]}
    for shard in shards[:3]:
        await until(lambda shard=shard: has_seen_the_mix(nodes, shard))
        assert "errorstat_MOVED" not in await ask(nodes[shard.node.uid].shards[shard.uid], "INFO", "errorstats")


async def has_seen_the_mix(nodes: Farm, shard: ShardRef) -> bool:
    stats = await ask(nodes[shard.node.uid].shards[shard.uid], "INFO", "commandstats")
    seen = {line[8:].partition(":")[0].upper() for line in stats.splitlines() if line.startswith("cmdstat_")}
    return {name for name, _ in MIX} <= seen


async def test_it_keeps_its_pace(traffic: Traffic, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[int] = []
    send = traffic._send

    async def counted(owner: tuple[str, int], batch: list[tuple[str, ...]]) -> list[object]:
        batches.append(len(batch))
        return await send(owner, batch)

    monkeypatch.setattr(traffic, "_send", counted)
    await until(lambda: len(batches) >= 9)
    per_tick = sum(batches[:9]) / 3
    assert 0.5 * 2000 * TICK <= per_tick <= 1.5 * 2000 * TICK


async def test_a_database_on_flash_is_filled_once(nodes: Farm, shards: list[ShardRef]) -> None:
    profile = replace(PROFILES["flash"], keys=300)
    made = Traffic(shards[0].node.addr, shards[0].port, 1000, profile)
    task = asyncio.create_task(made.run())

    async def all_are_there() -> bool:
        return sum(await sizes(nodes, shards[:3])) == profile.keys

    try:
        await until(all_are_there)
        assert made._loaded == profile.keys
    finally:
        task.cancel()


async def lead(replica: Shard) -> None:
    """Have it take over. The engine gives a handover up after 5 s, as on a machine that stands still; then it is ordered again."""

    async def follows() -> bool:
        return "role:slave" in await ask(replica, "INFO", "replication")

    async def leads() -> bool:
        return not await follows()

    while await follows():
        assert await ask(replica, "CLUSTER", "FAILOVER") == "OK"
        with suppress(TimeoutError):
            await until(leads, 8)


async def test_a_failover_is_followed(nodes: Farm, shards: list[ShardRef], traffic: Traffic) -> None:
    old, new = shards[0], shards[3]
    await until(lambda: (old.node.addr, old.port) in traffic._owner)
    await lead(nodes[new.node.uid].shards[new.uid])
    await until(lambda: (new.node.addr, new.port) in traffic._owner)
    assert (old.node.addr, old.port) not in traffic._owner


async def test_a_dead_primary_does_not_end_it(nodes: Farm, shards: list[ShardRef], traffic: Traffic) -> None:
    await until(lambda: traffic._owner)
    heir = shards[3]
    await nodes[shards[0].node.uid].remove([shards[0].uid])
    assert await ask(nodes[heir.node.uid].shards[heir.uid], "CLUSTER", "FAILOVER", "TAKEOVER") == "OK"
    await until(lambda: (heir.node.addr, heir.port) in traffic._owner)
