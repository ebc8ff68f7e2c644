"""The slots with the highest counts, as real engines tell them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backend.tests.shards import DISTRIBUTION, ENGINE, OLDER, Farm, ask, bring_up, farm, layout, lone, request

from shardboard.agent.contract import HotSlots
from shardboard.agent.slot_counts import SETTING, hottest
from shardboard.domain.slots import slot_of


def order(*uids: int, **changes: object) -> HotSlots:
    fields: dict[str, object] = {"uids": list(uids), "by": "cpu_usec", "limit": 3}
    return HotSlots.model_validate(fields | changes)


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Farm]:
    """One node with one primary of a cluster, shard 1."""
    async with farm(tmp_path) as opened:
        await bring_up(opened, ENGINE, layout(opened.nodes, 1, replication=False))
        yield opened


async def test_the_slot_that_is_used_most_comes_first(node: Farm) -> None:
    shard = node[1].shards[1]
    for number in range(20):
        await ask(shard, "SET", f"{{hot}}{number}", "x" * 100)
    await ask(shard, "SET", "{other}", "x")
    [told] = await hottest(node[1], order(1, by="network_bytes_in"))
    assert (told.uid, told.reason, told.run_id) == (1, "", shard.record.run_id)
    assert told.started_at == shard.record.started_at
    assert told.at > (told.started_at or 0)
    (slot, keys, micros, came, went), (second, *_), _ = told.slots
    assert (slot, keys, second) == (slot_of("hot"), 20, slot_of("other"))
    assert ((micros or 0) > 0, (came or 0) > 2000, (went or 0) > 0) == (True, True, True)


async def test_a_shard_that_did_not_count_begins_when_it_is_asked_and_goes_on_after_a_restart(node: Farm) -> None:
    shard = node[1].shards[1]
    await ask(shard, "CONFIG", "SET", SETTING, "no")
    [told] = await hottest(node[1], order(1))
    assert (told.reason, len(told.slots)) == ("", 3)
    assert f"{SETTING} yes" in (shard.directory / "valkey.conf").read_text()


async def test_who_cannot_tell_says_why(node: Farm) -> None:
    await node[1].start(request(lone(7)))
    told = {each.uid: each.reason for each in await hottest(node[1], order(7, 9))}
    assert "cluster support disabled" in told[7]
    assert told[9] == "shard 9 does not run here"


@pytest.mark.skipif(not OLDER, reason=f"{DISTRIBUTION} is not Valkey 8")
async def test_valkey_8_counts_keys_only_and_is_never_told_to_count_more(tmp_path: Path) -> None:
    async with farm(tmp_path) as opened:
        supervisor = await opened.restart_agent(engine=DISTRIBUTION)
        await bring_up(opened, ENGINE, layout(opened.nodes, 1, replication=False))
        shard = supervisor.shards[1]
        await ask(shard, "SET", "{hot}", "x")
        [told] = await hottest(supervisor, order(1))
        assert told.reason.endswith("counts only keys; CPU time and bytes need Valkey 9")
        [told] = await hottest(supervisor, order(1, by="key_count"))
        assert told.slots[0] == (slot_of("hot"), 1, None, None, None)
        assert await ask(shard, "CONFIG", "GET", SETTING) == [SETTING, "no"]
        assert SETTING not in (shard.directory / "valkey.conf").read_text()
