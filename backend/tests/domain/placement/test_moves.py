"""Tests of the steps of a shard move, and that no copy is removed too early for any sequence of failures."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.placement.moves import Move, NextStep, PairMember, first_of_pairs, next_step

MOVE = Move(bdb=1, pair=0, title="", removed=1, new_shard=9, to=3)
PRIMARY = PairMember(1, is_desired=True, answers=True, is_primary=True)
REPLICA = PairMember(4, is_desired=True, answers=True, in_sync=True, follows=1)
NEWCOMER = PairMember(9, is_desired=True, answers=True, in_sync=True, follows=1)


def step(move: Move, *members: PairMember) -> NextStep:
    return next_step(move, {member.uid: member for member in members})


def test_primary_moves_step_by_step() -> None:
    assert step(MOVE, PRIMARY, REPLICA) == NextStep("wait")
    assert step(MOVE, PRIMARY, REPLICA, replace(NEWCOMER, answers=False)) == NextStep("start")
    assert step(MOVE, PRIMARY, REPLICA, replace(NEWCOMER, in_sync=False)) == NextStep("copy")
    assert step(MOVE, PRIMARY, REPLICA, NEWCOMER) == NextStep("hand_over", 9)
    promoted_new_shard = PairMember(9, is_desired=True, answers=True, is_primary=True)
    demoted = replace(PRIMARY, is_primary=False, follows=9)
    assert step(MOVE, demoted, REPLICA, promoted_new_shard) == NextStep("follow")
    following_replica = replace(REPLICA, follows=9)
    assert step(MOVE, demoted, following_replica, promoted_new_shard) == NextStep("retire")
    assert step(MOVE, replace(demoted, is_desired=False), following_replica, promoted_new_shard) == NextStep("end")
    assert step(
        MOVE, replace(demoted, is_desired=False, is_unreachable=True), following_replica, promoted_new_shard
    ) == NextStep("done")
    assert step(MOVE, following_replica, promoted_new_shard) == NextStep("done")


def test_replica_moves_without_switchover() -> None:
    move = replace(MOVE, removed=4)
    assert step(move, PRIMARY, REPLICA, NEWCOMER) == NextStep("retire")
    assert step(move, PRIMARY, replace(REPLICA, answers=False, is_unreachable=True), NEWCOMER) == NextStep("retire"), (
        "a dead replica can be removed"
    )


def test_move_is_blocked_without_a_primary() -> None:
    dead = replace(PRIMARY, answers=False, is_primary=False)
    assert step(MOVE, dead).blocked
    assert step(MOVE, dead, NEWCOMER).blocked
    assert step(MOVE, dead, REPLICA, replace(NEWCOMER, answers=False)).blocked


def test_requested_switchover_happens_first() -> None:
    move = replace(MOVE, promote=4)
    assert step(move, PRIMARY, REPLICA) == NextStep("hand_over", 4)
    assert step(move, PRIMARY, replace(REPLICA, in_sync=False)).blocked
    switched_over = (
        replace(PRIMARY, is_primary=False, in_sync=True, follows=4),
        PairMember(4, is_desired=True, answers=True, is_primary=True),
    )
    assert step(move, *switched_over) == NextStep("wait")
    assert step(move, *switched_over, replace(NEWCOMER, follows=4)) == NextStep("retire")
    switchover_only = replace(move, removed=None, new_shard=None, to=None)
    assert step(switchover_only, PRIMARY, REPLICA) == NextStep("hand_over", 4)
    assert step(switchover_only, *switched_over) == NextStep("done")


def test_copies_are_added_and_removed() -> None:
    addition = replace(MOVE, removed=None)
    assert step(addition, PRIMARY) == NextStep("wait")
    assert step(addition, PRIMARY, NEWCOMER) == NextStep("done")
    removal = Move(bdb=1, pair=0, title="", removed=4)
    assert step(removal, PRIMARY, REPLICA) == NextStep("retire")
    assert step(replace(removal, removed=1), PRIMARY, REPLICA).blocked, "a primary is not removed without a switchover"


def test_moves_of_a_pair_run_one_after_another() -> None:
    moves = [MOVE, replace(MOVE, removed=4), replace(MOVE, pair=1), replace(MOVE, bdb=2)]
    assert list(first_of_pairs(enumerate(moves))) == [0, 2, 3]


@pytest.mark.parametrize("leaves", [1, 4])
@given(st.lists(st.sampled_from(("act", "primary dies", "promote 4", "promote 9", "new shard dies")), max_size=25))
def test_a_complete_copy_always_remains(leaves: int, events: list[str]) -> None:
    """A removed copy is never the primary and never the last complete copy."""
    move = replace(MOVE, removed=leaves)
    members = {1: PRIMARY, 4: REPLICA}
    for event in events:
        leader = next((each.uid for each in members.values() if each.is_primary), None)
        if event == "act":
            planned_step = next_step(move, members)
            if planned_step.step == "retire" and not planned_step.blocked:
                assert not members[leaves].is_primary
                assert [each for each in members.values() if each.uid != leaves and (each.is_primary or each.in_sync)]
            members = _apply_step(members, move, planned_step, leader)
        elif event == "primary dies" and leader is not None:
            members[leader] = replace(members[leader], answers=False, is_primary=False, in_sync=False)
        elif event == "new shard dies" and 9 in members and leader != 9:
            members[9] = replace(members[9], answers=False, in_sync=False)
        elif event.startswith("promote") and leader is None:
            members = _promote(members, int(event[-1]))


def _apply_step(
    members: dict[int, PairMember], move: Move, found: NextStep, leader: int | None
) -> dict[int, PairMember]:
    if found.blocked:
        return members
    if found.step == "wait":
        return members | {9: PairMember(9, is_desired=True)}
    if found.step == "start":
        return members | {9: replace(members[9], answers=True, follows=leader)}
    if found.step == "copy":
        return members | {9: replace(members[9], in_sync=True, follows=leader)}
    if found.step == "hand_over" and found.promoted is not None:
        return _promote(members, found.promoted)
    if found.step == "follow":
        return {uid: each if each.is_primary else replace(each, follows=leader) for uid, each in members.items()}
    if found.step == "retire" and move.removed is not None:
        return {uid: each for uid, each in members.items() if uid != move.removed}
    return members


def _promote(members: dict[int, PairMember], promoted: int) -> dict[int, PairMember]:
    if promoted not in members or not members[promoted].in_sync:
        return members
    return {
        uid: replace(
            each,
            is_primary=uid == promoted,
            in_sync=each.answers and uid != promoted,
            follows=None if uid == promoted else promoted,
        )
        for uid, each in members.items()
    }
