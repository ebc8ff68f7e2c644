"""Detection of keys that benchmarks wrote."""

import pytest

from shardboard.reconcilers.benchmarks.benchmark_target import _own


@pytest.mark.parametrize(
    ("key", "prefixes", "own"),
    [
        ("memtier-7", {"memtier-"}, True),
        ("cart:7", {"memtier-"}, False),
        ("cart:7", {"memtier-", ""}, False),
        ("7", {"memtier-", ""}, True),
        ("7", {"memtier-"}, False),
    ],
)
def test_a_benchmark_key_is_a_known_prefix_and_a_number(key: str, prefixes: set[str], own: bool) -> None:
    assert bool(_own(key, prefixes)) is own
