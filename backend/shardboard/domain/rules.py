"""Rules for the values of settings, one per field next to its default, for requests and for stored values.

A request with an invalid value is refused with the message of the rule. An invalid stored value, for example from an earlier
release, is replaced by the nearest allowed value or by the default, so that it cannot stop a background loop.
"""

import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from ipaddress import ip_address
from typing import Any, Literal, Protocol, TypeVar


class Rule(Protocol):
    """A rule for the values of one field."""

    def validation_error(self, value: Any) -> str:
        """Return what the value must be if it is invalid, otherwise an empty string."""
        ...

    def coerced(self, value: Any, default: Any) -> Any:
        """Return the allowed value nearest to a stored one."""
        ...


@dataclass(frozen=True)
class ValidationError:
    """Error in a requested object. Rules return it as a value; services raise the corresponding error.

    `kind` determines the HTTP status: schema 400, invalid 406, conflict 409. `code` is stable."""

    kind: Literal["schema", "invalid", "conflict"]
    code: str
    message: str
    field: str


@dataclass(frozen=True)
class _StrictRule:
    """Invalid stored values are replaced by the default."""

    def validation_error(self, value: Any) -> str:
        raise NotImplementedError

    def coerced(self, value: Any, default: Any) -> Any:
        return default if self.validation_error(value) else value


@dataclass(frozen=True)
class FlagRule(_StrictRule):
    def validation_error(self, value: Any) -> str:
        return "" if isinstance(value, bool) else "must be true or false"


@dataclass(frozen=True)
class IntegerRule(_StrictRule):
    """An integer from `low` to `high`, inclusive."""

    low: int
    high: int

    def validation_error(self, value: Any) -> str:
        if isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high:
            return ""
        return f"must be a whole number from {self.low} to {self.high}"

    def coerced(self, value: Any, default: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return min(max(value, self.low), self.high)
        return default


@dataclass(frozen=True)
class ChoiceRule(_StrictRule):
    choices: tuple[str, ...]

    def validation_error(self, value: Any) -> str:
        return "" if isinstance(value, str) and value in self.choices else f"must be one of {', '.join(self.choices)}"


@dataclass(frozen=True)
class TextRule(_StrictRule):
    """Printable text that matches a pattern completely; `what` describes the pattern."""

    what: str
    pattern: str = ".*"
    max_length: int = 254

    def validation_error(self, value: Any) -> str:
        if isinstance(value, str) and len(value) <= self.max_length and value.isprintable():
            match = re.fullmatch(self.pattern, value, re.ASCII)
        else:
            match = None
        if match is not None:
            return ""
        return f"must be {self.what} of at most {self.max_length} characters"


@dataclass(frozen=True)
class AddressRule(_StrictRule):
    def validation_error(self, value: Any) -> str:
        try:
            return "" if isinstance(value, str) and ip_address(value) else "must be an IP address"
        except ValueError:
            return "must be an IP address"


@dataclass(frozen=True)
class ListRule(_StrictRule):
    """A list of at most `longest` values with one rule; invalid values of a stored list are dropped."""

    each: Rule
    max_length: int

    def validation_error(self, value: Any) -> str:
        if not isinstance(value, list) or len(value) > self.max_length:
            return f"must be a list of at most {self.max_length}"
        first_error = next(filter(None, map(self.each.validation_error, value)), "")
        return first_error and f"must be a list in which each item {first_error}"

    def coerced(self, value: Any, default: Any) -> Any:
        if not isinstance(value, list):
            return default
        return [each for each in value if not self.each.validation_error(each)][: self.max_length]


@dataclass(frozen=True)
class ObjectRule(_StrictRule):
    """An object in which each member has its own rule. A request can contain some of the members; the others keep their values."""

    rules: Mapping[str, Rule]

    def validation_error(self, value: Any) -> str:
        if not isinstance(value, dict) or value.keys() - self.rules.keys():
            return f"must be an object with some of the members {', '.join(self.rules)}"
        field_errors = ((name, self.rules[name].validation_error(each)) for name, each in value.items())
        return next((f"{name} {error}" for name, error in field_errors if error), "")

    def coerced(self, value: Any, default: Any) -> Any:
        stored_value = value if isinstance(value, dict) else {}
        coerced = dict(default)
        for name, rule in self.rules.items():
            if name in stored_value and (
                name in default or isinstance(stored_value[name], dict) or not rule.validation_error(stored_value[name])
            ):
                coerced[name] = rule.coerced(stored_value[name], default.get(name, {}))
        return coerced


def merged(stored: Any, changes: Any) -> Any:
    """Return the value to store after a request with some members of an object; the others keep their values."""
    if isinstance(stored, dict) and isinstance(changes, dict):
        return {**stored, **{name: merged(stored.get(name), value) for name, value in changes.items()}}
    return changes


T = TypeVar("T")


def setting(default: T, rule: Rule) -> T:
    """Return a dataclass field with a default and a rule."""
    field_definition: T = field(default=default, metadata={"rule": rule})
    return field_definition


def rule_of(known: "Field[Any]") -> Rule:
    rule: Rule = known.metadata["rule"]
    return rule


def field_errors(table: type, payload: Mapping[str, Any]) -> dict[str, str]:
    """Return by name what is wrong with values of a table's fields. Other names are ignored."""
    rules = {each.name: rule_of(each) for each in fields(table)}
    errors = {name: rules[name].validation_error(value) for name, value in payload.items() if name in rules}
    return {name: error for name, error in errors.items() if error}


def coerced_fields(table: type, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored fields of a table, each with an allowed value."""
    values = {}
    for each in fields(table):
        if each.name in stored:
            default = each.default_factory() if callable(each.default_factory) else each.default
            values[each.name] = rule_of(each).coerced(stored[each.name], default)
    return values
