"""Tests of the validation of requests for a search."""

from typing import Any

import pytest

from shardboard.errors import NotAcceptable
from shardboard.services.benchmarks import find_max_phase

FIND_MAX = {"limit": "p99_ms", "ms": 1.0, "confirmations": 3}


def add_to(
    workload: dict[str, Any], *, repetitions: int = 1, phases: list[dict[str, Any]] | None = None, **payload: Any
) -> list[dict[str, Any]]:
    request = {"phases": phases or [], "find_max": FIND_MAX, "tool": "shardboard-load", "drill": None, **payload}
    complete = [{"name": "fill", "workload": {}}] * (len(phases or [None]) - 1)
    complete += [{"name": "measure", "workload": workload}]
    find_max_phase.add_to(complete, request, repetitions)
    return complete


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"workload": {"requests": 5}}, "requires test_time"),
        ({"workload": {"test_time": 5, "rate": 10.0}}, "combined with rate"),
        ({"workload": {"test_time": 5, "rate_limiting": 10}}, "combined with rate_limiting"),
        ({"workload": {"test_time": 5, "clients_start": 1}}, "combined with clients_start"),
        ({"workload": {"test_time": 5}, "repetitions": 2}, "Set its confirmations instead"),
        ({"workload": {"test_time": 5}, "drill": {"kind": "reboot"}}, "combined with a drill"),
        ({"workload": {"test_time": 5}, "tool": "memtier_benchmark"}, "Use the tool shardboard-load"),
    ],
)
def test_settings_that_contradict_a_search_are_rejected(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(NotAcceptable, match=message) as raised:
        add_to(**request_)
    assert (raised.value.code, raised.value.field) == ("invalid_find_max", "find_max")


def test_search_is_a_setting_of_the_last_phase() -> None:
    assert add_to({"test_time": 5})[0]["find_max"] == FIND_MAX
    assert "find_max" not in add_to({"requests": 5}, find_max=None)[0]
    phases: list[dict[str, Any]] = [{"find_max": None}, {"find_max": {**FIND_MAX, "ms": 2.0}}]
    fill, measure = add_to({"test_time": 5}, phases=phases)
    assert "find_max" not in fill
    assert measure["find_max"]["ms"] == 2.0, "that of the phase has priority"
    with pytest.raises(NotAcceptable, match="Only the last phase") as raised:
        add_to({"test_time": 5}, phases=[{"find_max": FIND_MAX}, {}])
    assert raised.value.field == "phases.0.find_max"
    with pytest.raises(NotAcceptable) as raised:
        add_to({"requests": 5}, phases=phases)
    assert raised.value.field == "phases.1.find_max"
