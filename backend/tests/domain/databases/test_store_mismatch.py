"""Repair plans: engines decide which shard owns a slot, and only pairs without any copy start empty."""

from dataclasses import replace
from typing import NamedTuple

from shardboard.domain.databases.store_mismatch import (
    Member,
    StoreMismatch,
    describe,
    describe_repair,
    differing_slots,
    plan_repair,
)


class Row(NamedTuple):
    uid: int
    node_uid: int
    pair: int
    engine_id: str
    slots: str


THIRDS = ("0-5460", "5461-10922", "10923-16383")
ROWS = [Row(uid, uid, uid - 1, f"e{uid}", text) for uid, text in enumerate(THIRDS, 1)]
REPLICAS = [Row(uid + 3, uid % 3 + 1, uid - 1, f"e{uid + 3}", text) for uid, text in enumerate(THIRDS, 1)]
HALVES = {0: "0-8191", 1: "8192-16383"}


def member(uid: int, slots: str = "", *, primary: str = "") -> Member:
    role = "slave" if primary else "master"
    return Member(uid, 1, f"e{uid}", 20000 + uid, 25000 + uid, role, primary, slots)


def test_an_up_to_date_store_needs_no_repair() -> None:
    repair = plan_repair(ROWS, StoreMismatch(), 1)
    assert not repair.is_needed
    assert repair.slots_by_pair == dict(enumerate(THIRDS))
    assert describe(ROWS, StoreMismatch()) == ""
    assert describe_repair(ROWS, repair) == []
    assert StoreMismatch().stored() == {}


def test_shards_of_a_deleted_database_start_empty() -> None:
    mismatch = StoreMismatch(missing=(1, 2, 3, 4, 5, 6))
    repair = plan_repair([*ROWS, *REPLICAS], mismatch, 2)
    assert repair.empty == (1, 2, 3, 4, 5, 6)
    assert (repair.removed, repair.recovered, repair.adopted) == ((), (), ())
    [sentence] = describe_repair([*ROWS, *REPLICAS], repair)
    assert sentence == (
        "The console starts 6 shards (redis:1, redis:6 on node 1; redis:2, redis:4 on node 2; redis:3, redis:5 on node 3) "
        "without data, because no copy exists: all keys of all slots are lost."
    )


def test_a_pair_with_another_copy_is_not_started_empty() -> None:
    repair = plan_repair([*ROWS, *REPLICAS], StoreMismatch(missing=(1, 5)), 2)
    assert repair.recovered == (1, 5)
    assert not repair.is_needed, "missing replicas are recovered without a request"


def test_a_removed_shard_whose_slots_are_served_leaves_the_store() -> None:
    """The database had three primaries at the time of the backup and has two now."""
    mismatch = StoreMismatch(missing=(3,), slots_by_pair={**HALVES, 2: ""})
    repair = plan_repair(ROWS, mismatch, 1)
    assert (repair.removed, repair.empty) == ((3,), ())
    assert repair.slots_by_pair == HALVES
    assert describe(ROWS, mismatch) == (
        "Agents did not have 1 shard (redis:3 on node 3). Its shards served different slots than the store contains."
    )
    assert describe_repair(ROWS, repair) == [
        "The store no longer contains 1 shard (redis:3 on node 3): other shards replaced them.",
        "The store and the endpoints use the slots that the shards serve.",
    ]


def test_an_added_shard_is_taken_over_with_its_slots() -> None:
    """The database had two primaries at the time of the backup and has three now."""
    rows = [row._replace(slots=HALVES[row.pair]) for row in ROWS[:2]]
    mismatch = StoreMismatch(members=(member(3, THIRDS[2]),), slots_by_pair={0: THIRDS[0], 1: THIRDS[1]})
    repair = plan_repair(rows, mismatch, 1)
    assert [(each.uid, pair) for each, pair in repair.adopted] == [(3, 2)]
    assert repair.slots_by_pair == dict(enumerate(THIRDS))
    assert (repair.removed, repair.empty) == ((), ())


def test_a_moved_primary_and_its_replica_keep_their_pair() -> None:
    rows = [ROWS[0], REPLICAS[0]]
    moved = StoreMismatch(members=(member(9, THIRDS[0]),), missing=(1,), followed={4: "e9"}, slots_by_pair={0: ""})
    repair = plan_repair(rows, moved, 2)
    assert [(each.uid, pair) for each, pair in repair.adopted] == [(9, 0)]
    assert repair.removed == (1,)
    assert repair.slots_by_pair == {0: THIRDS[0]}


def test_a_moved_replica_replaces_the_missing_one() -> None:
    rows = [ROWS[0], REPLICAS[0]]
    repair = plan_repair(rows, StoreMismatch(members=(member(9, primary="e1"),), missing=(4,)), 2)
    assert [(each.uid, pair) for each, pair in repair.adopted] == [(9, 0)]
    assert (repair.removed, repair.recovered) == ((4,), ())


def test_a_pair_whose_shards_all_moved_is_replaced() -> None:
    rows = [ROWS[0], REPLICAS[0]]
    members = (member(10, primary="e9"), member(9, THIRDS[0]))
    repair = plan_repair(rows, StoreMismatch(members=members, missing=(1, 4)), 2)
    assert {each.uid: pair for each, pair in repair.adopted} == {9: 0, 10: 0}
    assert (repair.removed, repair.empty) == ((1, 4), ())


def test_a_missing_primary_keeps_the_slots_that_no_shard_owns() -> None:
    """The other shards have forgotten it, so that its slots have no owner."""
    mismatch = StoreMismatch(missing=(3,), slots_by_pair={0: "0-6000", 1: "6001-10922", 2: ""}, unowned="10923-16383")
    repair = plan_repair(ROWS, mismatch, 1)
    assert repair.empty == (3,)
    assert repair.slots_by_pair == {0: "0-6000", 1: "6001-10922", 2: "10923-16383"}
    assert describe_repair(ROWS, repair)[-1].endswith("all keys of slots 10923–16383 are lost.")


def test_mismatches_are_stored_and_parsed() -> None:
    mismatch = StoreMismatch(
        missing=(3,),
        members=(member(9, "0-7"),),
        unresolved=((1, 8),),
        slots_by_pair={0: "0-7"},
        unowned="8",
        followed={4: "e9"},
    )
    assert StoreMismatch.parse(mismatch.stored()) == mismatch
    assert StoreMismatch.parse({}) == StoreMismatch()
    assert bool(replace(mismatch, missing=(), members=(), slots_by_pair={}))
    assert describe(ROWS, mismatch).startswith(
        "Agents did not have 1 shard (redis:3 on node 3). The store did not contain 2 "
    )


def test_slots_of_all_pairs_are_compared() -> None:
    assert differing_slots({0: "0-8191", 1: "8192-16383"}, {0: ((0, 8191),), 1: ((8192, 16383),)}) == {}
    assert differing_slots({0: "0-8191", 1: "8192-16383"}, {0: ((0, 16383),)}) == {0: "0-16383", 1: ""}
