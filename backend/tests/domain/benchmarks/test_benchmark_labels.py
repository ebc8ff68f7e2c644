"""Tests of display names of settings."""

import pytest

from shardboard.domain.benchmarks.benchmark_labels import setting_label

RUN = {
    "phases": [{"name": "populate"}, {"name": "measure"}],
    "facts": {"nodes": [{"uid": 3}], "shards": [{"uid": 7}]},
    "drill": None,
}
OTHER = {"phases": [{"name": "fill"}, {"name": "measure"}], "facts": {"nodes": [{"uid": 4}]}}


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("phases.1.workload.test_time", "Phase 2, measure: test time"),
        ("phases.0.workload.rate", "Phase 1: rate"),
        ("phases.0.name", "Phase 1: name"),
        ("phases.1.workload.commands.0.command", "Phase 2, measure: commands, no. 1, command"),
        ("load_nodes.0", "Load node 1"),
        ("load_nodes", "Load node"),
        ("drill", "Drill"),
        ("drill.at_seconds", "Drill: start (second)"),
        ("facts.bdb.shards_count", "Database: number of shards"),
        ("facts.nodes.0.cores", "Node at position 1: cores"),
        ("facts.shards.0.role", "Shard 7: role"),
        ("facts.console_version", "Console version"),
    ],
)
def test_setting_paths_have_readable_names(path: str, words: str) -> None:
    assert setting_label(path, [RUN, OTHER]) == words
