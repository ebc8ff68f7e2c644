"""Tests of the choice of copies for snapshots, and of the limits."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.data.backup_plan import (
    CLUSTER_LIMIT,
    MAX_ATTEMPTS,
    RETRY_SECONDS,
    Attempt,
    Copy,
    Limits,
    next_snapshots,
    ranked_copies,
)

UNLIMITED = Limits(0, {})


def copy(shard_uid: int, role: str = "slave", *, pair: int = 0, node: int = 1, in_sync: bool = True) -> Copy:
    return Copy(shard_uid, pair, node, role, in_sync, is_reachable=True)


def test_a_replica_in_sync_is_preferred() -> None:
    primary, replica = copy(1, "master"), copy(2)
    assert ranked_copies([primary, replica], []) == [replica, primary]
    assert ranked_copies([primary, copy(2, in_sync=False)], []) == [primary]


def test_another_copy_is_tried_after_a_failure() -> None:
    copies = [copy(1, "master"), copy(2)]
    attempts: list[Attempt] = []
    for expected in (2, 1, 2):
        plan = next_snapshots([0], copies, attempts, UNLIMITED)
        assert [each.shard_uid for each in plan.start] == [expected]
        attempts.append(Attempt(0, expected, "failed", "It is broken.", RETRY_SECONDS))
    plan = next_snapshots([0], copies, attempts, UNLIMITED)
    assert plan.start == ()
    assert plan.failed == f"No snapshot of replication pair 1 succeeded in {MAX_ATTEMPTS} attempts. It is broken."


def test_a_failed_copy_is_read_again_after_a_pause() -> None:
    for pause, expected in ((RETRY_SECONDS - 1, ()), (RETRY_SECONDS, [1])):
        plan = next_snapshots([0], [copy(1)], [Attempt(0, 1, "failed", "", pause)], UNLIMITED)
        assert [each.shard_uid for each in plan.start] == list(expected)
        assert (plan.failed, plan.unavailable, plan.done) == ("", "", False)


def test_a_pair_without_a_usable_copy_is_reported() -> None:
    plan = next_snapshots([0, 1], [copy(1, in_sync=False), copy(2, pair=1)], [], UNLIMITED)
    assert [each.shard_uid for each in plan.start] == [2]
    assert plan.unavailable == "Replication pair 1 has no available copy"


def test_running_and_completed_pairs_are_not_started_again() -> None:
    copies = [copy(1, pair=0), copy(2, pair=1)]
    running = next_snapshots([0, 1], copies, [Attempt(0, 1, "running"), Attempt(1, 2, "succeeded")], UNLIMITED)
    assert (running.start, running.done) == ((), False)
    done = next_snapshots([0, 1], copies, [Attempt(0, 1, "succeeded"), Attempt(1, 2, "succeeded")], UNLIMITED)
    assert done.done


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=60),
    st.integers(0, 6),
    st.dictionaries(st.integers(1, 5), st.integers(0, 6)),
)
def test_limits_are_kept(nodes: list[int], per_node: int, running: dict[int, int]) -> None:
    copies = [copy(number, pair=number, node=node) for number, node in enumerate(nodes)]
    plan = next_snapshots(range(len(nodes)), copies, [], Limits(per_node, running))
    total = sum(running.values()) + len(plan.start)
    assert not plan.start or total <= CLUSTER_LIMIT
    started = [each.node_uid for each in plan.start]
    for node in set(started):
        assert not per_node or running.get(node, 0) + started.count(node) <= per_node
    if len(plan.start) < len(nodes):  # as many as possible are started
        waiting = {each.node_uid for each in copies} - {
            node for node in nodes if per_node and running.get(node, 0) + started.count(node) >= per_node
        }
        left = [each.node_uid for each in copies if each not in plan.start]
        assert total >= CLUSTER_LIMIT or not waiting & set(left)
