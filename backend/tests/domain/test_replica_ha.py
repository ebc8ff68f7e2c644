"""When lost replicas are rebuilt."""

from shardboard.domain.replica_ha import Candidate, Rebuilt, Rules, due

RULES = Rules(grace=10, cooldown=100, bdb_cooldown=200)


def candidate(bdb: int = 1, *nodes: int, priority: int = 0) -> Candidate:
    return Candidate(bdb, priority, frozenset(nodes or (2,)))


def test_a_node_gets_time_to_come_back() -> None:
    assert due([candidate()], {2: 9.9}, [], RULES) == []
    assert due([candidate()], {2: 10.0}, [], RULES) == [(1, 2)]
    assert due([candidate()], {}, [], RULES) == []
    assert due([candidate()], {2: 99}, [], Rules(enabled=False)) == []


def test_priority_comes_first() -> None:
    wanted = [candidate(1), candidate(2, priority=5), candidate(3, 2, 3)]
    assert due(wanted, {2: 50, 3: 50}, [], RULES) == [(2, 2), (1, 2), (3, 2), (3, 3)]


def test_after_a_rebuild_another_nodes_failure_waits() -> None:
    down = {2: 50.0, 3: 50.0}
    assert due([candidate(1, 3)], down, [Rebuilt(9, 2, 99)], RULES) == []
    assert due([candidate(1, 3)], down, [Rebuilt(9, 2, 100)], RULES) == [(1, 3)]
    assert due([candidate(1, 3)], down, [Rebuilt(1, 2, 199)], RULES) == []
    assert due([candidate(1, 3)], down, [Rebuilt(1, 2, 200)], RULES) == [(1, 3)]


def test_the_same_nodes_other_databases_do_not_wait() -> None:
    assert due([candidate(1), candidate(2)], {2: 50}, [Rebuilt(1, 2, 1)], RULES) == [(1, 2), (2, 2)]
