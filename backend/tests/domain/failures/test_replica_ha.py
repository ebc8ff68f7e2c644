"""Tests of when lost replicas are rebuilt."""

from shardboard.domain.failures.replica_ha import PastRebuild, RebuildCandidate, ReplicaHaPolicy, due

RULES = ReplicaHaPolicy(grace=10, cooldown=100, bdb_cooldown=200)


def candidate(bdb: int = 1, *nodes: int, priority: int = 0) -> RebuildCandidate:
    return RebuildCandidate(bdb, priority, frozenset(nodes or (2,)))


def test_rebuild_waits_for_the_grace_period() -> None:
    assert due([candidate()], {2: 9.9}, [], RULES) == []
    assert due([candidate()], {2: 10.0}, [], RULES) == [(1, 2)]
    assert due([candidate()], {}, [], RULES) == []
    assert due([candidate()], {2: 99}, [], ReplicaHaPolicy(enabled=False)) == []


def test_databases_with_higher_priority_come_first() -> None:
    candidates = [candidate(1), candidate(2, priority=5), candidate(3, 2, 3)]
    assert due(candidates, {2: 50, 3: 50}, [], RULES) == [(2, 2), (1, 2), (3, 2), (3, 3)]


def test_failure_of_another_node_waits_for_the_cooldown() -> None:
    down = {2: 50.0, 3: 50.0}
    assert due([candidate(1, 3)], down, [PastRebuild(9, 2, 99)], RULES) == []
    assert due([candidate(1, 3)], down, [PastRebuild(9, 2, 100)], RULES) == [(1, 3)]
    assert due([candidate(1, 3)], down, [PastRebuild(1, 2, 199)], RULES) == []
    assert due([candidate(1, 3)], down, [PastRebuild(1, 2, 200)], RULES) == [(1, 3)]


def test_other_databases_of_the_same_node_do_not_wait() -> None:
    assert due([candidate(1), candidate(2)], {2: 50}, [PastRebuild(1, 2, 1)], RULES) == [(1, 2), (2, 2)]
