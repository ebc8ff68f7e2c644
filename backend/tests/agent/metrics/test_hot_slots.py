"""Tests of reading the slots with the highest counts from real engines."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backend.tests.support.real_shards import (
    DISTRIBUTION_SERVER,
    ENGINE,
    HAS_VALKEY_8,
    LocalNodes,
    execute_as_admin,
    local_nodes,
    plan_shards,
    standalone_shard,
    start_database,
    start_request,
)

from shardboard.agent.metrics.hot_slots import SETTING, read_hot_slots
from shardboard.contract import ReadHotSlots
from shardboard.domain.placement.slots import slot_of


def hot_slots_request(*uids: int, **changes: object) -> ReadHotSlots:
    fields: dict[str, object] = {"uids": list(uids), "by": "cpu_usec", "limit": 3}
    return ReadHotSlots.model_validate(fields | changes)


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[LocalNodes]:
    """Run one node with shard 1, the only primary of a cluster."""
    async with local_nodes(tmp_path) as nodes:
        await start_database(nodes, ENGINE, plan_shards(nodes.nodes, 1, replication=False))
        yield nodes


async def test_slots_are_ordered_by_usage(node: LocalNodes) -> None:
    shard = node[1].shards[1]
    for number in range(20):
        await execute_as_admin(shard, "SET", f"{{hot}}{number}", "x" * 100)
    await execute_as_admin(shard, "SET", "{other}", "x")
    [slot_counts] = await read_hot_slots(node[1], hot_slots_request(1, by="network_bytes_in"))
    assert (slot_counts.uid, slot_counts.reason, slot_counts.run_id) == (1, "", shard.record.run_id)
    assert slot_counts.started_at == shard.record.started_at
    assert slot_counts.at > (slot_counts.started_at or 0)
    (slot, keys, micros, bytes_in, bytes_out), (second, *_), _ = slot_counts.slots
    assert (slot, keys, second) == (slot_of("hot"), 20, slot_of("other"))
    assert ((micros or 0) > 0, (bytes_in or 0) > 2000, (bytes_out or 0) > 0) == (True, True, True)


async def test_counting_is_enabled_on_request_and_kept_after_a_restart(node: LocalNodes) -> None:
    shard = node[1].shards[1]
    await execute_as_admin(shard, "CONFIG", "SET", SETTING, "no")
    [slot_counts] = await read_hot_slots(node[1], hot_slots_request(1))
    assert (slot_counts.reason, len(slot_counts.slots)) == ("", 3)
    assert f"{SETTING} yes" in (shard.directory / "valkey.conf").read_text()


async def test_shards_without_counts_report_a_reason(node: LocalNodes) -> None:
    await node[1].start(start_request(standalone_shard(7)))
    slot_counts = {each.uid: each.reason for each in await read_hot_slots(node[1], hot_slots_request(7, 9))}
    assert "cluster support disabled" in slot_counts[7]
    assert slot_counts[9] == "shard 9 does not run on this node"


@pytest.mark.skipif(not HAS_VALKEY_8, reason=f"{DISTRIBUTION_SERVER} is not Valkey 8")
async def test_valkey_8_counts_only_keys_and_keeps_its_settings(tmp_path: Path) -> None:
    async with local_nodes(tmp_path) as nodes:
        supervisor = await nodes.restart_agent(engine=DISTRIBUTION_SERVER)
        await start_database(nodes, ENGINE, plan_shards(nodes.nodes, 1, replication=False))
        shard = supervisor.shards[1]
        await execute_as_admin(shard, "SET", "{hot}", "x")
        [slot_counts] = await read_hot_slots(supervisor, hot_slots_request(1))
        assert slot_counts.reason.endswith("counts only keys; CPU time and bytes need Valkey 9")
        [slot_counts] = await read_hot_slots(supervisor, hot_slots_request(1, by="key_count"))
        assert slot_counts.slots[0] == (slot_of("hot"), 1, None, None, None)
        assert await execute_as_admin(shard, "CONFIG", "GET", SETTING) == [SETTING, "no"]
        assert SETTING not in (shard.directory / "valkey.conf").read_text()
