"""What the engines' views add up to: owners, slots between two owners, slots of nobody, and who sees it differently."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from backend.tests.shards import layout

from shardboard import engine_text
from shardboard.agent.contract import CommandResult, ShardCommand
from shardboard.driver import slotmap
from shardboard.driver.ports import Agents, NodeRef
from shardboard.driver.slotmap import OpenSlot
from shardboard.errors import AgentRefused

NODES = [NodeRef(uid, f"10.0.0.{uid}", 9700) for uid in (1, 2, 3)]
SHARDS = layout(NODES, 3, replication=True)
"""Primaries 1, 2, 3 and their replicas 4, 5, 6."""
A, B, C, D, E, F = (shard.engine_id for shard in SHARDS)
EVEN = {0: ((0, 5460),), 1: ((5461, 10922),), 2: ((10923, 16383),)}


class Views:
    """Answers CLUSTER NODES by shard; who is missing does not answer."""

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


async def look(views: Mapping[int, str], asked: Sequence[int] = (1, 2, 3)) -> slotmap.SlotMap:
    agents = cast(Agents, Views(views))
    return await slotmap.look(agents, SHARDS, [shard for shard in SHARDS if shard.uid in asked])


async def test_all_agree() -> None:
    found = await look(dict.fromkeys(range(1, 7), ALL), range(1, 7))
    assert (found.held, found.open, found.lost, found.astray) == (EVEN, [], [], [])


async def test_who_says_of_itself_that_it_owns_a_slot_counts_and_the_newest_of_two() -> None:
    mine = text(line(A, 1, "0-5460"), line(B, 2, "5461-10922"), line(C, 9, "10923-16383"))
    theirs = text(line(A, 1, "0-5459"), line(B, 10, "5460-10922"), line(C, 9, "10923-16383"))
    found = await look({1: mine, 2: theirs, 3: mine})
    assert found.held == {0: ((0, 5459),), 1: ((5460, 10922),), 2: ((10923, 16383),)}
    assert found.astray == [1, 3]


async def test_of_who_does_not_answer_the_others_tell() -> None:
    assert (await look({1: ALL, 3: ALL})).held == EVEN
    assert (await look({1: ALL, 3: ALL})).astray == [2]


async def test_a_replica_that_took_over_speaks_for_its_pair() -> None:
    after = text(
        line(A, 1, flags="master,fail"), line(D, 4, "0-5460"), line(B, 2, "5461-10922"), line(C, 3, "10923-16383")
    )
    assert (await look(dict.fromkeys((2, 3, 4), after), (2, 3, 4))).held == EVEN


async def test_slots_between_two_pairs() -> None:
    source = text(line(A, 1, "0-5460", f"[7->-{B}]", f"[8->-{B}]"), line(B, 2, "5461-10922"), line(C, 3, "10923-16383"))
    target = text(line(A, 1, "0-5460"), line(B, 2, "5461-10922", f"[8-<-{A}]", f"[9-<-{A}]"), line(C, 3, "10923-16383"))
    found = await look({1: source, 2: target, 3: ALL})
    assert found.open == [OpenSlot(7, 0, 1), OpenSlot(8, 0, 1), OpenSlot(9, 0, 1)]
    assert found.held == EVEN


async def test_a_slot_that_the_target_owns_is_still_open_while_the_source_has_it_marked() -> None:
    source = text(line(A, 1, "0-5460", f"[5460->-{B}]"), line(B, 2, "5461-10922"), line(C, 3, "10923-16383"))
    target = text(line(A, 1, "0-5459"), line(B, 4, "5460-10922"), line(C, 3, "10923-16383"))
    found = await look({1: source, 2: target, 3: target})
    assert found.open == [OpenSlot(5460, 0, 1)]
    assert found.held[1] == ((5460, 10922),)


async def test_slots_of_nobody_and_of_unknown_shards() -> None:
    unrelated = text(
        line(A, 1, "0-5459"), line(B, 2, "5461-10922"), line(C, 3, "10923-16382"), line("f" * 40, 8, "16383")
    )
    assert (await look(dict.fromkeys((1, 2, 3), unrelated))).lost == [5460, 16383]


async def test_nobody_answers() -> None:
    with pytest.raises(AgentRefused, match="no shard returned"):
        await look({})


async def test_who_does_not_know_the_newcomers() -> None:
    shy = text(line(A, 1), line(D, 1, flags="handshake"))
    agents = cast(Agents, Views({1: text(line(A, 1), line(D, 1)), 2: shy}))
    found = await slotmap.unaware_hosts(agents, SHARDS[:3], [SHARDS[3]])
    assert [shard.uid for shard in found] == [2, 3]


@pytest.mark.parametrize(
    ("jobs", "busy"),
    [
        ([], []),
        ([["name", "x", "state", "success"]], []),
        ([["name", "x", "state", "failed"], ["name", "y", "state", "replicating"]], [1]),
    ],
)
async def test_engines_that_move_slots_in_their_own_way(jobs: list[Any], busy: list[int]) -> None:
    agents = cast(Agents, Views({1: repr(jobs)}))
    assert await slotmap.moving(agents, SHARDS[:2]) == busy


async def test_views_are_read_beside_the_event_loop_and_each_line_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of views of hundreds of lines take seconds to read, and agents that are not heard meanwhile are called lost."""
    read: list[tuple[str, bool]] = []
    understand = engine_text._line

    def noted(engine_id: str, *others: str) -> engine_text.ClusterLine:
        read.append((engine_id, threading.current_thread() is threading.main_thread()))
        return understand(engine_id, *others)

    monkeypatch.setattr(engine_text, "_line", noted)
    found = await look(dict.fromkeys(range(1, 7), ALL), range(1, 7))
    assert (found.held, found.astray) == (EVEN, [])
    assert sorted(read) == sorted((each, False) for each in (A, B, C))
    read.clear()
    agents = cast(Agents, Views(dict.fromkeys(range(1, 7), ALL)))
    assert await slotmap.unaware_hosts(agents, SHARDS[:3], SHARDS[:3]) == []
    assert sorted(read) == sorted((each, False) for each in (A, B, C))
