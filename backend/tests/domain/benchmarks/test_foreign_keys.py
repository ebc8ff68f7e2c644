"""Tests of the detection of keys that no benchmark wrote."""

from types import SimpleNamespace

import pytest

from shardboard.domain.benchmarks import benchmark_cost, foreign_keys
from shardboard.domain.benchmarks.foreign_keys import KeySample

COST = benchmark_cost.Cost(keys=1000, memory=10, is_certain=True, seconds=None)


@pytest.mark.parametrize(
    ("key", "prefixes", "own"),
    [
        ("memtier-7", {"memtier-"}, True),
        ("memtier-x", {"memtier-"}, False),
        ("cart:7", {"memtier-"}, False),
        ("cart:7", {"memtier-", ""}, False),
        ("7", {"memtier-", ""}, True),
        ("7", {"memtier-"}, False),
    ],
)
def test_a_benchmark_key_is_a_known_prefix_and_a_number(key: str, prefixes: set[str], own: bool) -> None:
    assert foreign_keys.is_benchmark_key(key, prefixes) is own


def test_prefixes_are_those_of_writing_phases_and_the_default() -> None:
    spec = {
        "phases": [
            {"name": "populate", "workload": {"ratio": "1:0", "key_prefix": "a:"}},
            {"name": "read", "workload": {"ratio": "0:1", "key_prefix": "b:"}},
        ]
    }
    assert foreign_keys.known_prefixes([spec]) == {"memtier-", "a:"}
    assert foreign_keys.known_prefixes([]) == {"memtier-"}


def test_keys_are_read_from_replies_as_formatted_by_the_agent() -> None:
    texts = ["None", "", "b'user:1'", 'b"it\'s"', "plain"]
    replies = [SimpleNamespace(ok=True, reply=text) for text in texts] + [SimpleNamespace(ok=False, reply="ERR")]
    assert foreign_keys.sampled_keys(replies) == ["user:1", "it's", "plain"]


def test_the_warning_states_share_keys_and_consequence() -> None:
    sample = foreign_keys.examine(["memtier-1", "user:1", "user:2", "memtier-2"], {"memtier-"})
    assert sample == KeySample(sampled=4, foreign=2)
    [warning] = foreign_keys.preflight_warnings(sample, COST, evicts=True)
    assert (warning.code, warning.blocks, warning.agree) == ("benchmark_foreign_keys", True, "overwrite")
    assert "(50% of 4 sampled keys)" in warning.description
    assert "up to 1,000 keys" in warning.description
    assert "can be evicted" in warning.description
    [warning] = foreign_keys.preflight_warnings(sample, COST, evicts=False)
    assert "are rejected" in warning.description


@pytest.mark.parametrize("sample", [None, KeySample(0, 0), KeySample(20, 0)])
def test_no_warning_without_foreign_keys(sample: KeySample | None) -> None:
    assert foreign_keys.preflight_warnings(sample, COST, evicts=True) == []


def test_runs_that_only_read_need_no_agreement() -> None:
    read_only = benchmark_cost.Cost(keys=0, memory=0, is_certain=False, seconds=10)
    assert foreign_keys.preflight_warnings(KeySample(20, 20), read_only, evicts=True) == []
