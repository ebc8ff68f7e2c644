"""Tests of converting validation rules to JSON Schema."""

import re

import pytest

from shardboard.domain import rule_schemas
from shardboard.domain.cluster.cluster_settings import ClusterSettings
from shardboard.domain.rules import AddressRule, ChoiceRule, FlagRule, IntegerRule, ListRule, ObjectRule, Rule, TextRule


@pytest.mark.parametrize(
    ("rule", "schema"),
    [
        (FlagRule(), {"type": "boolean"}),
        (IntegerRule(1, 5), {"type": "integer", "minimum": 1, "maximum": 5}),
        (ChoiceRule(("a", "b")), {"type": "string", "enum": ["a", "b"]}),
        (
            ListRule(IntegerRule(1, 5), 9),
            {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 5}, "maxItems": 9},
        ),
        (
            ObjectRule({"on": FlagRule()}),
            {"type": "object", "properties": {"on": {"type": "boolean"}}, "additionalProperties": False},
        ),
    ],
)
def test_rule_is_converted_to_json_schema(rule: Rule, schema: dict[str, object]) -> None:
    assert rule_schemas.rule_schema(rule) == schema


def test_text_pattern_matches_the_complete_value() -> None:
    generated = rule_schemas.rule_schema(TextRule("a letter", "a|b", 3))
    assert re.search(generated["pattern"], "a")
    assert not re.search(generated["pattern"], "ab")
    assert generated["maxLength"] == 3
    assert "anyOf" in rule_schemas.rule_schema(AddressRule())


def test_every_setting_has_a_schema_and_a_default() -> None:
    generated = rule_schemas.table_schema(ClusterSettings)["properties"]
    assert generated["logrotate_settings"]["default"] == {"maxage": 7, "maxsize": "200M", "rotate": 10}
    assert all("default" in each for each in generated.values())
