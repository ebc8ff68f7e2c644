"""Tests that results have the form of the guide to memory drives."""

from typing import Any

from shardboard.domain.benchmarks import memory_drive_guide


def run() -> dict[str, Any]:
    def result(phase: int, reads: int, writes: int, seconds: float) -> dict[str, Any]:
        counts = {"reads": reads, "writes": writes, "ops": reads + writes}
        return {"phase": phase, "repetition": 0, "seconds": seconds, **counts}

    spec = {"key_minimum": 1, "key_maximum": 2_000, "data_size": 1_000}
    return {
        "uid": 7,
        "load_nodes": [1, 2],
        "facts": {"bdb": {"sharding": True, "shards_count": 4}},
        "phases": [{"name": name, "workload": spec} for name in ("SET 1", "GET 1", "SET 2", "mix", "failed")],
        "summary": {
            "results": [
                result(0, 0, 2_000, 594.9),
                result(1, 2_000, 0, 585.0),
                result(2, 0, 2_000, 593.0),
                result(3, 10, 10, 1.0),
                result(4, 0, 0, 1.0),
            ]
        },
    }


def test_csv_of_a_run_has_the_columns_of_the_guide() -> None:
    assert memory_drive_guide.table(memory_drive_guide.rows(run())).splitlines() == [
        '"filename", "clients", "len", "servers", "keys", "max_time", "operation"',
        '"benchmark-7.1.1", "2", "1000", "4", "500", "594", "set"',
        '"benchmark-7.2.1", "2", "1000", "4", "500", "585", "get"',
        '"benchmark-7.3.1", "2", "1000", "4", "500", "593", "set"',
        '"benchmark-7.4.1", "2", "1000", "4", "500", "1", "mixed"',
    ]


def test_a_run_without_results_has_no_rows() -> None:
    assert memory_drive_guide.rows({**run(), "summary": None}) == []
