"""Tests of the choice of copies."""

from shardboard.domain.cluster.recovery_copies import Candidate, Version, candidates, is_deleted


def test_newest_copy_of_all_nodes_comes_first() -> None:
    held = {
        2: {"cluster": Version(3, 1), "bdb-1": Version(3, 9)},
        1: {"cluster": Version(2, 50), "bdb-1": Version(3, 9)},
        3: {"cluster": Version(3, 2)},
    }
    assert candidates(held) == {
        "cluster": [Candidate(Version(3, 2), 3), Candidate(Version(3, 1), 2), Candidate(Version(2, 50), 1)],
        "bdb-1": [Candidate(Version(3, 9), 1), Candidate(Version(3, 9), 2)],
    }


def test_copies_of_deleted_databases_are_recognized() -> None:
    cluster = Version(3, 5)
    assert is_deleted(Version(3, 4), cluster, 1, {2})
    assert not is_deleted(Version(3, 4), cluster, 2, {2})
    assert not is_deleted(Version(3, 6), cluster, 1, {2}), "created after the copy of the cluster"
