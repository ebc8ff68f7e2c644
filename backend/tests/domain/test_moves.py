"""What comes next for a moving shard; and, played to the end on any course of events, that no copy is given up too early."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.moves import Move, Next, PairMember, first_of_pairs, next_step

MOVE = Move(bdb=1, pair=0, title="", leaves=1, newcomer=9, to=3)
PRIMARY = PairMember(1, wanted=True, answers=True, leads=True)
REPLICA = PairMember(4, wanted=True, answers=True, in_sync=True, follows=1)
NEWCOMER = PairMember(9, wanted=True, answers=True, in_sync=True, follows=1)


def step(move: Move, *members: PairMember) -> Next:
    return next_step(move, {member.uid: member for member in members})


def test_a_primary_moves() -> None:
    assert step(MOVE, PRIMARY, REPLICA) == Next("wait")
    assert step(MOVE, PRIMARY, REPLICA, replace(NEWCOMER, answers=False)) == Next("start")
    assert step(MOVE, PRIMARY, REPLICA, replace(NEWCOMER, in_sync=False)) == Next("copy")
    assert step(MOVE, PRIMARY, REPLICA, NEWCOMER) == Next("hand_over", 9)
    leading = PairMember(9, wanted=True, answers=True, leads=True)
    demoted = replace(PRIMARY, leads=False, follows=9)
    assert step(MOVE, demoted, REPLICA, leading) == Next("follow")
    led = replace(REPLICA, follows=9)
    assert step(MOVE, demoted, led, leading) == Next("retire")
    assert step(MOVE, replace(demoted, wanted=False), led, leading) == Next("end")
    assert step(MOVE, replace(demoted, wanted=False, away=True), led, leading) == Next("done")
    assert step(MOVE, led, leading) == Next("done")


def test_a_replica_moves_without_a_handover() -> None:
    move = replace(MOVE, leaves=4)
    assert step(move, PRIMARY, REPLICA, NEWCOMER) == Next("retire")
    assert step(move, PRIMARY, replace(REPLICA, answers=False, away=True), NEWCOMER) == Next("retire"), "a dead one"


def test_without_a_primary_nothing_is_copied_and_nothing_let_go() -> None:
    dead = replace(PRIMARY, answers=False, leads=False)
    assert step(MOVE, dead).blocked
    assert step(MOVE, dead, NEWCOMER).blocked
    assert step(MOVE, dead, REPLICA, replace(NEWCOMER, answers=False)).blocked


def test_the_lead_is_handed_over_first_when_another_is_to_have_it() -> None:
    move = replace(MOVE, leads=4)
    assert step(move, PRIMARY, REPLICA) == Next("hand_over", 4)
    assert step(move, PRIMARY, replace(REPLICA, in_sync=False)).blocked
    led = replace(PRIMARY, leads=False, in_sync=True, follows=4), PairMember(4, wanted=True, answers=True, leads=True)
    assert step(move, *led) == Next("wait")
    assert step(move, *led, replace(NEWCOMER, follows=4)) == Next("retire")
    only = replace(move, leaves=None, newcomer=None, to=None)
    assert step(only, PRIMARY, REPLICA) == Next("hand_over", 4)
    assert step(only, *led) == Next("done")


def test_a_copy_is_added_or_taken_away() -> None:
    added = replace(MOVE, leaves=None)
    assert step(added, PRIMARY) == Next("wait")
    assert step(added, PRIMARY, NEWCOMER) == Next("done")
    taken = Move(bdb=1, pair=0, title="", leaves=4)
    assert step(taken, PRIMARY, REPLICA) == Next("retire")
    assert step(replace(taken, leaves=1), PRIMARY, REPLICA).blocked, "who leads is not simply taken away"


def test_a_pairs_moves_take_turns() -> None:
    moves = [MOVE, replace(MOVE, leaves=4), replace(MOVE, pair=1), replace(MOVE, bdb=2)]
    assert list(first_of_pairs(enumerate(moves))) == [0, 2, 3]


@pytest.mark.parametrize("leaves", [1, 4])
@given(st.lists(st.sampled_from(("act", "primary dies", "promote 4", "promote 9", "newcomer dies")), max_size=25))
def test_there_is_always_a_whole_copy(leaves: int, course: list[str]) -> None:
    """Whatever happens, who is let go never leads, and is never the last whole copy."""
    move = replace(MOVE, leaves=leaves)
    members = {1: PRIMARY, 4: REPLICA}
    for happening in course:
        leader = next((each.uid for each in members.values() if each.leads), None)
        if happening == "act":
            found = next_step(move, members)
            if found.step == "retire" and not found.blocked:
                assert not members[leaves].leads
                assert [each for each in members.values() if each.uid != leaves and (each.leads or each.in_sync)]
            members = _act(members, move, found, leader)
        elif happening == "primary dies" and leader is not None:
            members[leader] = replace(members[leader], answers=False, leads=False, in_sync=False)
        elif happening == "newcomer dies" and 9 in members and leader != 9:
            members[9] = replace(members[9], answers=False, in_sync=False)
        elif happening.startswith("promote") and leader is None:
            members = _lead(members, int(happening[-1]))


def _act(members: dict[int, PairMember], move: Move, found: Next, leader: int | None) -> dict[int, PairMember]:
    if found.blocked:
        return members
    if found.step == "wait":
        return members | {9: PairMember(9, wanted=True)}
    if found.step == "start":
        return members | {9: replace(members[9], answers=True, follows=leader)}
    if found.step == "copy":
        return members | {9: replace(members[9], in_sync=True, follows=leader)}
    if found.step == "hand_over" and found.promoted is not None:
        return _lead(members, found.promoted)
    if found.step == "follow":
        return {uid: each if each.leads else replace(each, follows=leader) for uid, each in members.items()}
    if found.step == "retire" and move.leaves is not None:
        return {uid: each for uid, each in members.items() if uid != move.leaves}
    return members


def _lead(members: dict[int, PairMember], promoted: int) -> dict[int, PairMember]:
    if promoted not in members or not members[promoted].in_sync:
        return members
    return {
        uid: replace(
            each,
            leads=uid == promoted,
            in_sync=each.answers and uid != promoted,
            follows=None if uid == promoted else promoted,
        )
        for uid, each in members.items()
    }
