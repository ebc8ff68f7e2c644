"""Tests for the search for fields of a body without effect."""

import time
from typing import Annotated, ClassVar

from pydantic import AliasChoices, BaseModel, Field

from shardboard.schemas.unknown_fields import MAX_WARNINGS, find_warnings


class Inner(BaseModel):
    size: int = 0


class Outer(BaseModel):
    KNOWN_FIELDS: ClassVar = ("status",)
    WITHOUT_EFFECT: ClassVar = {"ignored": 0, "rack": ""}

    rack: str = ""
    target: int = Field(default=0, validation_alias=AliasChoices("target_uid", "target"))
    inner: Inner | None = None
    several: list[Annotated[Inner, Field()]] = []
    by_name: dict[str, Inner] = {}


def paths(body: object, annotation: object = Outer) -> list[str]:
    return [each.field for each in find_warnings(annotation, body).unknown]


def test_fields_in_nested_objects_and_lists_are_found() -> None:
    body = {"inner": {"siz": 1}, "several": [{"size": 1}, {"x": 1}], "by_name": {"a": {"y": 1}}, "z": {"size": 1}}
    assert paths(body) == ["inner.siz", "several.1.x", "by_name.a.y", "z"]


def test_known_names_and_aliases_are_not_reported() -> None:
    assert paths({"status": "ok", "target_uid": 1, "target": 2, "inner": None}) == []
    assert paths({"inner": 5, "several": {"x": 1}}) == []
    assert paths(None) == paths([{"x": 1}]) == paths("x") == []
    assert paths({"x": 1}, Outer | None) == ["x"]


def test_fields_without_effect_are_reported_unless_they_have_the_usual_value() -> None:
    found = find_warnings(Outer, {"ignored": 1, "rack": "r1"})
    assert (found.unknown, [each.field for each in found.without_effect]) == ([], ["ignored", "rack"])
    assert find_warnings(Outer, {"ignored": 0, "rack": ""}).all == []


def test_read_only_fields_are_known_at_the_top_level_only() -> None:
    body = {"uid": 1, "inner": {"uid": 1}}
    assert [each.field for each in find_warnings(Outer, body, frozenset({"uid"})).unknown] == ["inner.uid"]


def test_the_number_of_warnings_and_their_cost_are_limited() -> None:
    body = {f"inne{number:060}": 1 for number in range(50_000)}
    started = time.process_time()
    found = find_warnings(Outer, body).all
    assert time.process_time() - started < 1
    assert len(found) == MAX_WARNINGS + 1
    assert found[-1].field == ""
