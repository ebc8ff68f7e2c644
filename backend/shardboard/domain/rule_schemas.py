"""JSON Schema (draft 2020-12) of tables of settings, with allowed values and defaults."""

from dataclasses import fields
from typing import Any

from shardboard.domain.rules import (
    AddressRule,
    ChoiceRule,
    FlagRule,
    IntegerRule,
    ListRule,
    ObjectRule,
    Rule,
    TextRule,
    rule_of,
)


def table_schema(table: type) -> dict[str, Any]:
    """Return the schema of a dataclass whose fields have rules, with the default of each field."""
    properties = {}
    for each in fields(table):
        default = each.default_factory() if callable(each.default_factory) else each.default
        properties[each.name] = {**rule_schema(rule_of(each)), "default": default}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": table.__name__,
        "type": "object",
        "properties": properties,
    }


def rule_schema(rule: Rule) -> dict[str, Any]:
    """Return the schema of one rule."""
    match rule:
        case FlagRule():
            return {"type": "boolean"}
        case IntegerRule(low, high):
            return {"type": "integer", "minimum": low, "maximum": high}
        case ChoiceRule(choices):
            return {"type": "string", "enum": list(choices)}
        case TextRule(what, pattern, longest):
            return {"type": "string", "description": what, "pattern": f"^(?:{pattern})$", "maxLength": longest}
        case AddressRule():
            return {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}
        case ListRule(each, longest):
            return {"type": "array", "items": rule_schema(each), "maxItems": longest}
        case ObjectRule(rules):
            members = {name: rule_schema(member) for name, member in rules.items()}
            return {"type": "object", "properties": members, "additionalProperties": False}
    raise TypeError(f"{type(rule).__name__} is a rule without a schema")
