"""Tests of moving slots between real primaries with all keys, including after an interrupted attempt."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from backend.tests.support.real_shards import (
    ENGINE,
    PASSWORD,
    LocalNodes,
    execute_as_admin,
    local_nodes,
    plan_shards,
    start_database,
    wait_until,
)

from shardboard.agent.placement import native_slot_migration, slot_transfer
from shardboard.agent.placement.slot_moves import SlotMovers
from shardboard.contract import MoveSlots, SlotsMoved
from shardboard.domain.placement import slots
from shardboard.driver import slot_map
from shardboard.driver.valkey_cluster import ShardRef

FIRST, SECOND = 0, 1
TAG = next(tag for tag in "abcdefgh" if slots.slot_of(tag) < 8192)
SLOT = slots.slot_of(TAG)
"""A slot of the first primary, and the hash tag of its keys."""
LIBRARY = "#!lua name=lib\nserver.register_function('twice', function(keys, args) return args[1] * 2 end)"


class TwoPrimaries:
    """Two primaries on two nodes, each with a replica on the other node. Slots move from the first to the second."""

    def __init__(self, nodes: LocalNodes, shards: list[ShardRef]) -> None:
        self.nodes = nodes
        self.shards = shards
        self.movers = SlotMovers(nodes[1])

    async def execute(self, index: int, *argv: str) -> Any:
        shard = self.shards[index]
        return await execute_as_admin(self.nodes[shard.node.uid].shards[shard.uid], *argv)

    async def move(self, *ranges: tuple[int, int], seconds: float = 20, **changes: Any) -> SlotsMoved:
        target = self.shards[SECOND]
        move_request = MoveSlots(
            uid=self.shards[FIRST].uid,
            target_engine_id=target.engine_id,
            address=target.node.addr,
            port=target.port,
            slots=list(ranges),
            seconds=seconds,
        )
        return await self.movers.move(move_request.model_copy(update=changes))

    async def wait_for_agreement(self) -> slot_map.SlotMap:
        """Return the slot map when all four shards agree on it."""

        async def agreed_map() -> slot_map.SlotMap | None:
            slot_view = await slot_map.read_slot_map(self.nodes, self.shards, self.shards)
            return None if slot_view.disagreeing or slot_view.open else slot_view

        agreed: slot_map.SlotMap = await wait_until(agreed_map)
        return agreed


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[TwoPrimaries]:
    async with local_nodes(tmp_path, 2) as nodes:
        shards = plan_shards(nodes.nodes, 2, replication=True)
        await start_database(nodes, ENGINE, shards)
        yield TwoPrimaries(nodes, shards)


@pytest.fixture
def by_migrate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Move keys with MIGRATE, as on Valkey 8, even if the engine supports native slot migration."""

    async def unsupported(_: slot_transfer.MigrationEndpoints) -> bool:
        return False

    monkeypatch.setattr(native_slot_migration, "is_supported", unsupported)


@pytest.mark.parametrize("method", ["native", "MIGRATE"])
async def test_keys_of_all_types_move_with_their_slots(
    pair: TwoPrimaries, method: str, request: pytest.FixtureRequest
) -> None:
    if method == "MIGRATE":
        request.getfixturevalue("by_migrate")
    await pair.execute(FIRST, "FUNCTION", "LOAD", LIBRARY)
    for number in range(300):
        await pair.execute(FIRST, "SET", f"{{{TAG}}}:{number}", "x" * number)
    await pair.execute(FIRST, "SET", f"{{{TAG}}}:soon", "gone", "EX", "1000")
    await pair.execute(FIRST, "EVAL", "return redis.call('SET', KEYS[1]..'\\255\\0', 'raw')", "1", f"{{{TAG}}}")
    await pair.execute(FIRST, "HSET", f"{{{TAG}}}:large", *[f"{n}" * 50 for n in range(2000)])
    result = await pair.move((SLOT, SLOT))
    assert result == SlotsMoved(count=1, keys=303, pause=result.pause)
    assert await pair.execute(FIRST, "DBSIZE") == 0
    assert await pair.execute(SECOND, "DBSIZE") == 303
    assert await pair.execute(SECOND, "GET", f"{{{TAG}}}:299") == "x" * 299
    assert 900 < await pair.execute(SECOND, "TTL", f"{{{TAG}}}:soon") <= 1000
    assert await pair.execute(SECOND, "HLEN", f"{{{TAG}}}:large") == 1000
    assert (
        await pair.execute(SECOND, "EVAL", "return redis.call('GET', KEYS[1]..'\\255\\0')", "1", f"{{{TAG}}}") == "raw"
    )
    assert await pair.execute(SECOND, "FCALL", "twice", "0", "21") == 42
    agreed = await pair.wait_for_agreement()
    assert SLOT not in slots.each(agreed.slots_by_pair[0])
    assert SLOT in slots.each(agreed.slots_by_pair[1])
    await wait_until(lambda: _size(pair, 2, 0))  # the replica of the source is in sync


async def test_open_slots_are_completed_and_the_source_copy_wins(pair: TwoPrimaries) -> None:
    source, target = pair.shards[:2]
    for name in ("kept", "sent", "both"):
        await pair.execute(FIRST, "SET", f"{{{TAG}}}:{name}", "source")
    await pair.execute(SECOND, "CLUSTER", "SETSLOT", str(SLOT), "IMPORTING", source.engine_id)
    await pair.execute(FIRST, "CLUSTER", "SETSLOT", str(SLOT), "MIGRATING", target.engine_id)
    target_arguments = (target.node.addr, str(target.port), "", "0", "1000")
    login = ("AUTH2", "shardboard", PASSWORD)
    await pair.execute(FIRST, "MIGRATE", *target_arguments, *login, "KEYS", f"{{{TAG}}}:sent")
    await pair.execute(FIRST, "MIGRATE", *target_arguments, "COPY", *login, "KEYS", f"{{{TAG}}}:both")
    await pair.execute(FIRST, "SET", f"{{{TAG}}}:both", "newer")
    slot_view = await slot_map.read_slot_map(pair.nodes, pair.shards, pair.shards[:2])
    assert list(slot_view.open) == [slot_map.OpenSlot(SLOT, 0, 1)]
    result = await pair.move((SLOT, SLOT))
    assert (result.count, result.keys, result.reason) == (1, 2, "")
    assert [await pair.execute(SECOND, "GET", f"{{{TAG}}}:{name}") for name in ("kept", "sent", "both")] == [
        "source",
        "source",
        "newer",
    ]
    await pair.wait_for_agreement()


async def test_slots_that_the_target_already_owns_count_as_moved(pair: TwoPrimaries) -> None:
    assert (await pair.move((0, 99))).count == 100
    repeated = await pair.move((50, 149))
    assert (repeated.count, repeated.reason) == (100, "")
    assert (await pair.wait_for_agreement()).slots_by_pair == {0: ((150, 8191),), 1: ((0, 149), (8192, 16383))}


@pytest.mark.usefixtures("by_migrate")
async def test_next_request_continues_with_a_large_slot(pair: TwoPrimaries) -> None:
    await pair.execute(FIRST, "EVAL", "for i=1,20000 do redis.call('SET', KEYS[1]..i, i) end", "1", f"{{{TAG}}}")
    results = [await pair.move((SLOT, SLOT), seconds=0.001)]
    assert results[0].count == 0
    assert await pair.execute(FIRST, "DBSIZE") > 0
    while not results[-1].count:
        results.append(await pair.move((SLOT, SLOT), seconds=1))
        assert not results[-1].reason
    assert sum(each.keys for each in results) == 20000
    assert await pair.execute(SECOND, "DBSIZE") == 20000


async def test_reason_of_a_failed_move_is_reported(pair: TwoPrimaries, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "does not run on this node" in (await pair.move((0, 0), uid=99)).reason
    assert "cannot connect" in (await pair.move((0, 0), port=24999)).reason
    unknown = await pair.move((0, 3), target_engine_id="f" * 40)
    assert any(words in unknown.reason for words in ("don't know about node", "Unknown node"))
    [process] = [
        shard.process for shard in pair.nodes[2].shards.values() if shard.record.spec.uid == pair.shards[SECOND].uid
    ]
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        with monkeypatch.context() as short_timeout:
            short_timeout.setattr(slot_transfer, "ANSWER_SECONDS", 0.5)
            assert "in time" in (await pair.move((0, 3))).reason
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert (await pair.move((0, 3))).count == 4


@pytest.mark.usefixtures("by_migrate")
async def test_replaced_source_is_not_treated_as_empty(pair: TwoPrimaries, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source is frozen and replaced. It returns as an empty replica that copies the data of the promoted replica."""
    for number in range(100):
        await pair.execute(FIRST, "SET", f"{{{TAG}}}:{number}", "x")
    await wait_until(lambda: _size(pair, 2, 100))

    async def replace_source(_: slot_transfer.SlotTransfer, slots: object) -> list[int]:
        await pair.execute(2, "CLUSTER", "FAILOVER", "TAKEOVER")
        await wait_until(lambda: _follows(pair, FIRST))
        return []

    monkeypatch.setattr(slot_transfer.SlotTransfer, "_filled", replace_source)
    result = await pair.move((SLOT, SLOT))
    assert (result.count, result.keys) == (0, 0)
    assert "replaced during the move" in result.reason
    assert await pair.execute(2, "DBSIZE") == 100
    assert await pair.execute(2, "GET", f"{{{TAG}}}:99") == "x"


async def _size(pair: TwoPrimaries, index: int, size: int) -> bool:
    return bool(await pair.execute(index, "DBSIZE") == size)


async def _follows(pair: TwoPrimaries, index: int) -> bool:
    return "role:slave" in await pair.execute(index, "INFO", "replication")


@pytest.mark.usefixtures("by_migrate")
async def test_passwords_do_not_appear_in_logs(pair: TwoPrimaries) -> None:
    await pair.execute(FIRST, "CONFIG", "SET", "slowlog-log-slower-than", "0")
    await pair.execute(FIRST, "SET", f"{{{TAG}}}", "1")
    assert (await pair.move((SLOT, SLOT))).keys == 1
    assert "migrate" in str(await pair.execute(FIRST, "INFO", "commandstats"))
    assert PASSWORD not in str(await pair.execute(FIRST, "SLOWLOG", "GET", "100"))
    for process in pair.nodes.engines():
        assert PASSWORD not in " ".join(process.cmdline())
        assert PASSWORD not in (Path(process.cwd()) / "valkey.log").read_text()
