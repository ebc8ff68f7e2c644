"""JSON Schema (draft 2020-12) of tables of settings, with allowed values and defaults."""

from dataclasses import fields
from typing import Any

from shardboard.domain.rules import Address, Flag, ListOf, Members, OneOf, Rule, Text, Whole, rule_of


def of_table(table: type) -> dict[str, Any]:
    """Return the schema of a dataclass whose fields have rules, with the default of each field."""
    properties = {}
    for known in fields(table):
        default = known.default_factory() if callable(known.default_factory) else known.default
        properties[known.name] = {**of(rule_of(known)), "default": default}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": table.__name__,
        "type": "object",
        "properties": properties,
    }


def of(rule: Rule) -> dict[str, Any]:
    """Return the schema of one rule."""
    match rule:
        case Flag():
            return {"type": "boolean"}
        case Whole(low, high):
            return {"type": "integer", "minimum": low, "maximum": high}
        case OneOf(choices):
            return {"type": "string", "enum": list(choices)}
        case Text(what, pattern, longest):
            return {"type": "string", "description": what, "pattern": f"^(?:{pattern})$", "maxLength": longest}
        case Address():
            return {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}
        case ListOf(each, longest):
            return {"type": "array", "items": of(each), "maxItems": longest}
        case Members(rules):
            members = {name: of(member) for name, member in rules.items()}
            return {"type": "object", "properties": members, "additionalProperties": False}
    raise TypeError(f"{type(rule).__name__} is a rule without a schema")
