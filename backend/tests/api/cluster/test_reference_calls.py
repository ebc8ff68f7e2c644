"""Tests of the tables of calls of the Redis Enterprise REST API in docs/reference-calls.md."""

import json
import re
from collections import Counter
from pathlib import Path

from shardboard.api.cluster.unsupported_features import REFUSALS, REPLIES
from shardboard.services.cluster.feature_settings import FEATURES

DOCS = Path(__file__).parents[4] / "docs"
ROW = re.compile(r"\| `(?P<method>[A-Z]+) (?P<path>/\S+)` \| (?P<answer>\w+) \|")
CATCH_ALL = {"POST /v1/bootstrap/{}", "POST /v1/nodes/{}/actions/{}"}
"""Calls of the reference whose last segment names an action. Here, each action is an operation."""


def tables() -> list[list[tuple[str, str]]]:
    """Return call and answer of each row of both tables. Parameters of paths have no name."""
    _, reference, other = (DOCS / "reference-calls.md").read_text().split("\n## ")
    return [
        [(f"{row['method']} {without_names(row['path'])}", row["answer"]) for row in ROW.finditer(table)]
        for table in (reference, other)
    ]


def without_names(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path)


def operations() -> set[str]:
    paths = json.loads((DOCS / "openapi.json").read_text())["paths"]
    return {f"{method.upper()} {without_names(path)}" for path, methods in paths.items() for method in methods}


def test_every_call_of_the_reference_is_an_operation() -> None:
    calls = {call for table in tables() for call, _ in table}
    found = operations()
    missing = calls - found
    assert missing <= CATCH_ALL
    for call in missing:
        assert any(each.startswith(call.removesuffix("{}")) for each in found), call


def test_the_numbers_of_answered_calls_are_correct() -> None:
    reference, other = tables()
    assert (len({call for call, _ in reference}), len(reference)) == (204, 204)
    assert {answer for _, answer in reference + other} == {"yes", "partly", "none", "refused"}
    refused = Counter(answer for _, answer in reference)["refused"]
    assert len(reference) - refused == 195
    assert "204\ncalls of the reference pages" in (DOCS / "reference-calls.md").read_text()


def test_calls_without_a_feature_are_not_listed_as_working() -> None:
    answers = dict(call for table in tables() for call in table)
    without_feature = {f"GET {path}" for path in REPLIES} | {without_names(call) for call in REFUSALS}
    for call in without_feature & answers.keys():
        assert answers[call] in ("none", "refused"), call
    for path, feature in FEATURES.items():
        assert (answers[f"PUT /v1/{path}"] == "refused") is not bool(feature.writable), path
