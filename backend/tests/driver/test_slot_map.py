"""Tests of the slot map from the views of all engines: owners, open slots, lost slots and differing views."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from backend.tests.support.real_shards import plan_shards

from shardboard.contract import CommandResult, ShardCommand
from shardboard.driver import slot_map
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.driver.slot_map import OpenSlot
from shardboard.errors import AgentRefused
from shardboard.valkey import replies

NODES = [NodeRef(uid, f"10.0.0.{uid}", 9700) for uid in (1, 2, 3)]
SHARDS = plan_shards(NODES, 3, replication=True)
"""Primaries 1, 2, 3 and their replicas 4, 5, 6."""
A, B, C, D, E, F = (shard.engine_id for shard in SHARDS)
EVEN_SLOTS = {0: ((0, 5460),), 1: ((5461, 10922),), 2: ((10923, 16383),)}


class FakeViews:
    """Simulated agents that answer CLUSTER NODES by shard. Shards without a view do not answer."""

    def __init__(self, views: Mapping[int, str]) -> None:
        self._views = views

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]:
        return [
            CommandResult(uid=each.uid, ok=each.uid in self._views, reply=self._views.get(each.uid, "gone"))
            for each in commands
        ]


def line(engine_id: str, epoch: int, *slots: str, flags: str = "master") -> str:
    return " ".join([engine_id, "10.0.0.1:1@2,,shard-id=x", flags, "-", "0", "0", str(epoch), "connected", *slots])


def text(*lines: str) -> str:
    return "".join(f"{each}\n" for each in lines)


ALL = text(line(A, 1, "0-5460"), line(B, 2, "5461-10922"), line(C, 3, "10923-16383"))


async def read_slot_map(views: Mapping[int, str], shard_uids: Sequence[int] = (1, 2, 3)) -> slot_map.SlotMap:
    agents = cast(Agents, FakeViews(views))
    return await slot_map.read_slot_map(agents, SHARDS, [shard for shard in SHARDS if shard.uid in shard_uids])


async def test_identical_views_have_no_differences() -> None:
    slot_view = await read_slot_map(dict.fromkeys(range(1, 7), ALL), range(1, 7))
    assert (slot_view.slots_by_pair, slot_view.open, slot_view.lost, slot_view.disagreeing) == (EVEN_SLOTS, [], [], [])


async def test_newest_claim_of_a_shard_about_its_own_slots_wins() -> None:
    first_view = text(line(A, 1, "0-5460"), line(B, 2, "5461-10922"), line(C, 9, "10923-16383"))
    second_view = text(line(A, 1, "0-5459"), line(B, 10, "5460-10922"), line(C, 9, "10923-16383"))
    slot_view = await read_slot_map({1: first_view, 2: second_view, 3: first_view})
    assert slot_view.slots_by_pair == {0: ((0, 5459),), 1: ((5460, 10922),), 2: ((10923, 16383),)}
    assert slot_view.disagreeing == [1, 3]


async def test_slots_of_an_unreachable_shard_come_from_other_views() -> None:
    assert (await read_slot_map({1: ALL, 3: ALL})).slots_by_pair == EVEN_SLOTS
    assert (await read_slot_map({1: ALL, 3: ALL})).disagreeing == [2]


async def test_promoted_replica_represents_its_pair() -> None:
    promoted_view = text(
        line(A, 1, flags="master,fail"), line(D, 4, "0-5460"), line(B, 2, "5461-10922"), line(C, 3, "10923-16383")
    )
    assert (await read_slot_map(dict.fromkeys((2, 3, 4), promoted_view), (2, 3, 4))).slots_by_pair == EVEN_SLOTS


async def test_open_slots_are_reported() -> None:
    source = text(line(A, 1, "0-5460", f"[7->-{B}]", f"[8->-{B}]"), line(B, 2, "5461-10922"), line(C, 3, "10923-16383"))
    target = text(line(A, 1, "0-5460"), line(B, 2, "5461-10922", f"[8-<-{A}]", f"[9-<-{A}]"), line(C, 3, "10923-16383"))
    slot_view = await read_slot_map({1: source, 2: target, 3: ALL})
    assert slot_view.open == [OpenSlot(7, 0, 1), OpenSlot(8, 0, 1), OpenSlot(9, 0, 1)]
    assert slot_view.slots_by_pair == EVEN_SLOTS


async def test_slot_is_open_while_the_source_still_marks_it_as_migrating() -> None:
    source = text(line(A, 1, "0-5460", f"[5460->-{B}]"), line(B, 2, "5461-10922"), line(C, 3, "10923-16383"))
    target = text(line(A, 1, "0-5459"), line(B, 4, "5460-10922"), line(C, 3, "10923-16383"))
    slot_view = await read_slot_map({1: source, 2: target, 3: target})
    assert slot_view.open == [OpenSlot(5460, 0, 1)]
    assert slot_view.slots_by_pair[1] == ((5460, 10922),)


async def test_slots_without_a_known_owner_are_lost() -> None:
    unrelated = text(
        line(A, 1, "0-5459"), line(B, 2, "5461-10922"), line(C, 3, "10923-16382"), line("f" * 40, 8, "16383")
    )
    assert (await read_slot_map(dict.fromkeys((1, 2, 3), unrelated))).lost == [5460, 16383]


async def test_slot_map_without_any_view_raises_an_error() -> None:
    with pytest.raises(AgentRefused, match="no shard returned"):
        await read_slot_map({})


async def test_shards_unaware_of_new_shards_are_found() -> None:
    unaware_view = text(line(A, 1), line(D, 1, flags="handshake"))
    agents = cast(Agents, FakeViews({1: text(line(A, 1), line(D, 1)), 2: unaware_view}))
    hosts = await slot_map.unaware_hosts(agents, SHARDS[:3], [SHARDS[3]])
    assert [shard.uid for shard in hosts] == [2, 3]


@pytest.mark.parametrize(
    ("jobs", "busy"),
    [
        ([], []),
        ([["name", "x", "state", "success"]], []),
        ([["name", "x", "state", "failed"], ["name", "y", "state", "replicating"]], [1]),
    ],
)
async def test_engines_with_running_slot_migrations_are_found(jobs: list[Any], busy: list[int]) -> None:
    agents = cast(Agents, FakeViews({1: repr(jobs)}))
    assert await slot_map.moving(agents, SHARDS[:2]) == busy


async def test_views_are_parsed_in_a_thread_and_each_line_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing hundreds of large views takes seconds. If it blocked the event loop, agents would be reported as lost."""
    parsed_lines: list[tuple[str, bool]] = []
    original_line = replies._line

    def recording_line(engine_id: str, *others: str) -> replies.ClusterLine:
        parsed_lines.append((engine_id, threading.current_thread() is threading.main_thread()))
        return original_line(engine_id, *others)

    monkeypatch.setattr(replies, "_line", recording_line)
    slot_view = await read_slot_map(dict.fromkeys(range(1, 7), ALL), range(1, 7))
    assert (slot_view.slots_by_pair, slot_view.disagreeing) == (EVEN_SLOTS, [])
    assert sorted(parsed_lines) == sorted((each, False) for each in (A, B, C))
    parsed_lines.clear()
    agents = cast(Agents, FakeViews(dict.fromkeys(range(1, 7), ALL)))
    assert await slot_map.unaware_hosts(agents, SHARDS[:3], SHARDS[:3]) == []
    assert sorted(parsed_lines) == sorted((each, False) for each in (A, B, C))
