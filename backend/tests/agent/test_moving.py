"""Slots go from one real primary to another with all their keys, also from the middle of an earlier attempt."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from backend.tests.shards import ENGINE, PASSWORD, Farm, ask, bring_up, farm, layout, until

from shardboard.agent import atomic, slot_transfer
from shardboard.agent.contract import MoveSlots, SlotsMoved
from shardboard.agent.moving import Movers
from shardboard.domain import slots
from shardboard.driver import slotmap
from shardboard.driver.cluster import ShardRef

FIRST, SECOND = 0, 1
TAG = next(tag for tag in "abcdefgh" if slots.slot_of(tag) < 8192)
SLOT = slots.slot_of(TAG)
"""One of the first pair's slots, and what its keys have in braces."""
LIBRARY = "#!lua name=lib\nserver.register_function('twice', function(keys, args) return args[1] * 2 end)"


class Pair:
    """Two primaries on two nodes, each with a replica on the other; slots move from the first to the second."""

    def __init__(self, nodes: Farm, shards: list[ShardRef]) -> None:
        self.nodes = nodes
        self.shards = shards
        self.movers = Movers(nodes[1])

    async def tell(self, place: int, *argv: str) -> Any:
        shard = self.shards[place]
        return await ask(self.nodes[shard.node.uid].shards[shard.uid], *argv)

    async def move(self, *ranges: tuple[int, int], seconds: float = 20, **changes: Any) -> SlotsMoved:
        target = self.shards[SECOND]
        order = MoveSlots(
            uid=self.shards[FIRST].uid,
            target_engine_id=target.engine_id,
            address=target.node.addr,
            port=target.port,
            slots=list(ranges),
            seconds=seconds,
        )
        return await self.movers.move(order.model_copy(update=changes))

    async def settled(self) -> slotmap.SlotMap:
        """The slots, once all four shards agree on them."""

        async def agreed() -> slotmap.SlotMap | None:
            found = await slotmap.look(self.nodes, self.shards, self.shards)
            return None if found.astray or found.open else found

        found: slotmap.SlotMap = await until(agreed)
        return found


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with farm(tmp_path, 2) as nodes:
        shards = layout(nodes.nodes, 2, replication=True)
        await bring_up(nodes, ENGINE, shards)
        yield Pair(nodes, shards)


@pytest.fixture
def by_migrate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the engine has of its own, keys go by MIGRATE, as on Valkey 8."""

    async def never(_: slot_transfer.Ends) -> bool:
        return False

    monkeypatch.setattr(atomic, "fits", never)


@pytest.mark.parametrize("way", ["the engine's", "MIGRATE"])
async def test_keys_of_every_kind_go_with_their_slots(pair: Pair, way: str, request: pytest.FixtureRequest) -> None:
    if way == "MIGRATE":
        request.getfixturevalue("by_migrate")
    await pair.tell(FIRST, "FUNCTION", "LOAD", LIBRARY)
    for number in range(300):
        await pair.tell(FIRST, "SET", f"{{{TAG}}}:{number}", "x" * number)
    await pair.tell(FIRST, "SET", f"{{{TAG}}}:soon", "gone", "EX", "1000")
    await pair.tell(FIRST, "EVAL", "return redis.call('SET', KEYS[1]..'\\255\\0', 'raw')", "1", f"{{{TAG}}}")
    await pair.tell(FIRST, "HSET", f"{{{TAG}}}:large", *[f"{n}" * 50 for n in range(2000)])
    moved = await pair.move((SLOT, SLOT))
    assert moved == SlotsMoved(count=1, keys=303, rest=moved.rest)
    assert await pair.tell(FIRST, "DBSIZE") == 0
    assert await pair.tell(SECOND, "DBSIZE") == 303
    assert await pair.tell(SECOND, "GET", f"{{{TAG}}}:299") == "x" * 299
    assert 900 < await pair.tell(SECOND, "TTL", f"{{{TAG}}}:soon") <= 1000
    assert await pair.tell(SECOND, "HLEN", f"{{{TAG}}}:large") == 1000
    assert await pair.tell(SECOND, "EVAL", "return redis.call('GET', KEYS[1]..'\\255\\0')", "1", f"{{{TAG}}}") == "raw"
    assert await pair.tell(SECOND, "FCALL", "twice", "0", "21") == 42
    seen = await pair.settled()
    assert SLOT not in slots.each(seen.held[0])
    assert SLOT in slots.each(seen.held[1])
    await until(lambda: _size(pair, 2, 0))  # the source's replica follows


async def test_slots_that_were_left_open_are_finished_and_the_sources_copy_counts(pair: Pair) -> None:
    source, target = pair.shards[:2]
    for name in ("kept", "sent", "both"):
        await pair.tell(FIRST, "SET", f"{{{TAG}}}:{name}", "source")
    await pair.tell(SECOND, "CLUSTER", "SETSLOT", str(SLOT), "IMPORTING", source.engine_id)
    await pair.tell(FIRST, "CLUSTER", "SETSLOT", str(SLOT), "MIGRATING", target.engine_id)
    where = (target.node.addr, str(target.port), "", "0", "1000")
    login = ("AUTH2", "shardboard", PASSWORD)
    await pair.tell(FIRST, "MIGRATE", *where, *login, "KEYS", f"{{{TAG}}}:sent")
    await pair.tell(FIRST, "MIGRATE", *where, "COPY", *login, "KEYS", f"{{{TAG}}}:both")
    await pair.tell(FIRST, "SET", f"{{{TAG}}}:both", "newer")
    seen = await slotmap.look(pair.nodes, pair.shards, pair.shards[:2])
    assert list(seen.open) == [slotmap.OpenSlot(SLOT, 0, 1)]
    moved = await pair.move((SLOT, SLOT))
    assert (moved.count, moved.keys, moved.reason) == (1, 2, "")
    assert [await pair.tell(SECOND, "GET", f"{{{TAG}}}:{name}") for name in ("kept", "sent", "both")] == [
        "source",
        "source",
        "newer",
    ]
    await pair.settled()


async def test_what_the_target_owns_already_counts_as_moved(pair: Pair) -> None:
    assert (await pair.move((0, 99))).count == 100
    again = await pair.move((50, 149))
    assert (again.count, again.reason) == (100, "")
    assert (await pair.settled()).held == {0: ((150, 8191),), 1: ((0, 149), (8192, 16383))}


@pytest.mark.usefixtures("by_migrate")
async def test_a_large_slot_is_gone_on_with_by_the_next_order(pair: Pair) -> None:
    await pair.tell(FIRST, "EVAL", "for i=1,20000 do redis.call('SET', KEYS[1]..i, i) end", "1", f"{{{TAG}}}")
    moved = [await pair.move((SLOT, SLOT), seconds=0.001)]
    assert moved[0].count == 0
    assert await pair.tell(FIRST, "DBSIZE") > 0
    while not moved[-1].count:
        moved.append(await pair.move((SLOT, SLOT), seconds=1))
        assert not moved[-1].reason
    assert sum(each.keys for each in moved) == 20000
    assert await pair.tell(SECOND, "DBSIZE") == 20000


async def test_what_is_in_the_way_is_told(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "does not run here" in (await pair.move((0, 0), uid=99)).reason
    assert "cannot connect" in (await pair.move((0, 0), port=24999)).reason
    unknown = await pair.move((0, 3), target_engine_id="f" * 40)
    assert any(words in unknown.reason for words in ("don't know about node", "Unknown node"))
    [process] = [
        shard.process for shard in pair.nodes[2].shards.values() if shard.record.spec.uid == pair.shards[SECOND].uid
    ]
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        with monkeypatch.context() as hurry:
            hurry.setattr(slot_transfer, "ANSWER_SECONDS", 0.5)
            assert "in time" in (await pair.move((0, 3))).reason
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert (await pair.move((0, 3))).count == 4


@pytest.mark.usefixtures("by_migrate")
async def test_a_source_that_is_replaced_meanwhile_is_not_believed_to_be_empty(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frozen, replaced, and back as a replica that has thrown its data away to copy those of its promoted replica."""
    for number in range(100):
        await pair.tell(FIRST, "SET", f"{{{TAG}}}:{number}", "x")
    await until(lambda: _size(pair, 2, 100))

    async def emptied(_: slot_transfer.SlotTransfer, slots: object) -> list[int]:
        await pair.tell(2, "CLUSTER", "FAILOVER", "TAKEOVER")
        await until(lambda: _follows(pair, FIRST))
        return []

    monkeypatch.setattr(slot_transfer.SlotTransfer, "_filled", emptied)
    moved = await pair.move((SLOT, SLOT))
    assert (moved.count, moved.keys) == (0, 0)
    assert "replaced meanwhile" in moved.reason
    assert await pair.tell(2, "DBSIZE") == 100
    assert await pair.tell(2, "GET", f"{{{TAG}}}:99") == "x"


async def _size(pair: Pair, place: int, size: int) -> bool:
    return bool(await pair.tell(place, "DBSIZE") == size)


async def _follows(pair: Pair, place: int) -> bool:
    return "role:slave" in await pair.tell(place, "INFO", "replication")


@pytest.mark.usefixtures("by_migrate")
async def test_passwords_stay_out_of_logs(pair: Pair) -> None:
    await pair.tell(FIRST, "CONFIG", "SET", "slowlog-log-slower-than", "0")
    await pair.tell(FIRST, "SET", f"{{{TAG}}}", "1")
    assert (await pair.move((SLOT, SLOT))).keys == 1
    assert "migrate" in str(await pair.tell(FIRST, "INFO", "commandstats"))
    assert PASSWORD not in str(await pair.tell(FIRST, "SLOWLOG", "GET", "100"))
    for process in pair.nodes.engines():
        assert PASSWORD not in " ".join(process.cmdline())
        assert PASSWORD not in (Path(process.cwd()) / "valkey.log").read_text()
