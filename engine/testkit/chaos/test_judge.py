"""The checks of the chaos run find the flaws that they are made for."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from judge import Judge, Verdict


def verdict_of(lines: list[str], held: dict[str, list[str]], kind: str = "plain", kill: float | None = None) -> Verdict:
    judge = Judge("client", kind, [(kill, "kill")] if kill is not None else [(0.0, "failover")])
    judge.read([line.replace(" ", "\t") for line in lines])
    return judge.lists(held)


def write_record(number: int, outcome: str = "ok", at: float = 50.0) -> str:
    return f"w c:0:1 {number} {at} {at} {outcome}"


def test_writes_that_are_present_once_are_correct() -> None:
    lines = [write_record(1), "r c:0:1 1 50 50 ok", write_record(2, "lost"), "r c:0:1 2 50 50 ok", write_record(3), "r c:0:1 3 50 50 ok"]
    verdict = verdict_of(lines, {"c:0:1": ["1", "2", "3"]})
    assert (verdict.flaws, verdict.acknowledged, verdict.unconfirmed) == ([], 2, 1)
    assert verdict_of(lines[:1] + lines[4:], {"c:0:1": ["1", "3"]}).flaws == []


@pytest.mark.parametrize(
    ("lines", "held", "flaw"),
    [
        ([write_record(1), write_record(2)], ["1"], "acknowledged 2 is lost"),
        ([write_record(1)], ["1", "1"], "written more than once"),
        ([write_record(1)], ["1", "7"], "never written"),
        ([write_record(1), write_record(2)], ["2", "1"], "out of order"),
        ([write_record(1), write_record(2), "r c:0:1 1 50 50 ok"], ["1", "2"], "ends with 1 instead of 2"),
        (["w c:0:1 1 10 30 ok"], ["1"], "stuck for 20.0 s"),
        ([write_record(1, "lost", 10), write_record(2, "lost", 15), write_record(3, "ok", 20)], ["3"], "could not be written for 10.0 s"),
        (["m c:0 5 50 50 ok", "g c:0 5,4 50 50 ok"], [], "MGET returned"),
        (["t {c:0:t} 1 2 3 50 50 ok"], [], "half a transaction"),
    ],
)
def test_flaws_are_reported(lines: list[str], held: list[str], flaw: str) -> None:
    assert any(flaw in text for text in verdict_of(lines, {"c:0:1": held}).flaws)


def test_a_killed_primary_excuses_unconfirmed_writes() -> None:
    lines = [write_record(1), "s c:0 1 50 50 ok", write_record(2)]
    assert verdict_of(lines, {"c:0:1": ["1"]}, kill=50.5).excused == 1
    assert "although WAIT confirmed it" in verdict_of(lines, {"c:0:1": ["2"]}, kill=50.5).flaws[0]
    assert "acknowledged 2 is lost" in verdict_of(lines, {"c:0:1": ["1"]}, kill=90).flaws[0]


def test_writes_repeated_by_a_library_are_not_attributed_to_the_proxy() -> None:
    verdict = verdict_of([write_record(1)], {"c:0:1": ["1", "1"]}, kind="cluster")
    assert (verdict.flaws, verdict.repeated) == ([], 1)
