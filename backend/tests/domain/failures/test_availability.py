"""Tests of the availability of databases for clients."""

import pytest

from shardboard.domain.failures.availability import AvailabilityFault, CopyStatus, faults, pairs_out_of_sync

PRIMARIES = [CopyStatus(pair, True, True) for pair in range(3)]


@pytest.mark.parametrize(
    ("copies", "bound", "expected"),
    [
        (PRIMARIES, True, []),
        (PRIMARIES, False, ["port_unbound"]),
        ([*PRIMARIES[:2], CopyStatus(2, True, False), CopyStatus(2, False, True)], True, ["shard_unreachable"]),
        ([*PRIMARIES[:2], CopyStatus(2, True, False), CopyStatus(2, True, True)], True, []),
        ([*PRIMARIES[:2], CopyStatus(2, False, True)], True, ["shard_unreachable"]),
        ([], False, ["shard_unreachable", "port_unbound"]),
    ],
    ids=["healthy", "no proxy", "primary down", "promoted", "no primary", "no shards"],
)
def test_faults_of_a_database_are_reported(
    copies: list[CopyStatus], bound: bool, expected: list[AvailabilityFault]
) -> None:
    assert faults(copies, bound=bound) == expected


def test_pairs_with_replicas_out_of_sync_are_reported() -> None:
    assert pairs_out_of_sync(
        [*PRIMARIES, CopyStatus(0, False, True), CopyStatus(2, False, False), CopyStatus(1, False, False)]
    ) == [1, 2]
