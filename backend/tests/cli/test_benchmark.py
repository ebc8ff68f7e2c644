"""Tests of `shardboard bench run`: the choice of databases, and the result of a search."""

import pytest
from backend.tests.domain.benchmarks.test_find_max_report import run

from shardboard.cli.benchmark import SLA_MET, SLA_MISSED, RunError, _print_result, _uid_of

DATABASES = [
    {"uid": 1, "name": "shop"},
    {"uid": 2, "name": "carts"},
    {"uid": 3, "name": "shop"},
    {"uid": 4, "name": "2"},
]


def test_databases_are_identified_by_uid_or_name() -> None:
    assert _uid_of("carts", DATABASES) == 2
    assert _uid_of("3", DATABASES) == 3
    assert _uid_of("2", DATABASES) == 2


@pytest.mark.parametrize(("target", "message"), [("x", "does not exist"), ("shop", "use one of the uids 1, 3")])
def test_unknown_and_ambiguous_names_are_refused(target: str, message: str) -> None:
    with pytest.raises(RunError, match=message):
        _uid_of(target, DATABASES)


def test_result_of_a_search_is_printed_and_decides_the_exit_status() -> None:
    output: list[str] = []
    assert _print_result(run(), output.append) == SLA_MET
    assert output[-1].startswith("  Highest rate with an average latency of at most 1 ms: 6,")
    nothing = {"results": [], "find_max": {"rate": None, "text": "No measured rate had it."}}
    assert _print_result(run(summary=nothing), output.append) == SLA_MISSED
    assert output[-1] == "  No measured rate had it."
