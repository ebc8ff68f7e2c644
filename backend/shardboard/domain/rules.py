"""Which values a setting may have: a rule per field, kept beside its default, for requests and for what a store holds.

A request with a value that breaks its rule is refused with the rule's sentence. A stored one (an earlier release may have let
it in) is replaced by the nearest that is allowed, or by the default: no loop may end because of what somebody once wrote.
"""

import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from ipaddress import ip_address
from typing import Any, Literal, Protocol, TypeVar


class Rule(Protocol):
    """What the values of one field have in common."""

    def fault(self, value: Any) -> str:
        """What a value must be when it is not; else empty."""
        ...

    def mended(self, value: Any, default: Any) -> Any:
        """The allowed value that is nearest to a stored one."""
        ...


@dataclass(frozen=True)
class RequestFault:
    """What is wrong with a wanted object, as a value: rules return it, services raise what it stands for.

    `kind` decides the HTTP status: schema 400, invalid 406, conflict 409. `code` is stable."""

    kind: Literal["schema", "invalid", "conflict"]
    code: str
    sentence: str
    field: str


@dataclass(frozen=True)
class _Strict:
    """Stored values that break the rule give way to the default."""

    def fault(self, value: Any) -> str:
        raise NotImplementedError

    def mended(self, value: Any, default: Any) -> Any:
        return default if self.fault(value) else value


@dataclass(frozen=True)
class Flag(_Strict):
    def fault(self, value: Any) -> str:
        return "" if isinstance(value, bool) else "must be true or false"


@dataclass(frozen=True)
class Whole(_Strict):
    """A whole number from `low` to `high`, both included."""

    low: int
    high: int

    def fault(self, value: Any) -> str:
        if isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high:
            return ""
        return f"must be a whole number from {self.low} to {self.high}"

    def mended(self, value: Any, default: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return min(max(value, self.low), self.high)
        return default


@dataclass(frozen=True)
class OneOf(_Strict):
    choices: tuple[str, ...]

    def fault(self, value: Any) -> str:
        return "" if isinstance(value, str) and value in self.choices else f"must be one of {', '.join(self.choices)}"


@dataclass(frozen=True)
class Text(_Strict):
    """Printable text that matches a pattern as a whole; `what` says in words which."""

    what: str
    pattern: str = ".*"
    longest: int = 254

    def fault(self, value: Any) -> str:
        if isinstance(value, str) and len(value) <= self.longest and value.isprintable():
            found = re.fullmatch(self.pattern, value, re.ASCII)
        else:
            found = None
        if found is not None:
            return ""
        return f"must be {self.what} of at most {self.longest} characters"


@dataclass(frozen=True)
class Address(_Strict):
    def fault(self, value: Any) -> str:
        try:
            return "" if isinstance(value, str) and ip_address(value) else "must be an IP address"
        except ValueError:
            return "must be an IP address"


@dataclass(frozen=True)
class ListOf(_Strict):
    """At most `longest` values, each by one rule; of a stored list the ones that keep it stay."""

    each: Rule
    longest: int

    def fault(self, value: Any) -> str:
        if not isinstance(value, list) or len(value) > self.longest:
            return f"must be a list of at most {self.longest}"
        found = next(filter(None, map(self.each.fault, value)), "")
        return found and f"must be a list; each of it {found}"

    def mended(self, value: Any, default: Any) -> Any:
        if not isinstance(value, list):
            return default
        return [each for each in value if not self.each.fault(each)][: self.longest]


@dataclass(frozen=True)
class Members(_Strict):
    """An object of which each member has its own rule. A request may give some of them; the others stay as they are."""

    rules: Mapping[str, Rule]

    def fault(self, value: Any) -> str:
        if not isinstance(value, dict) or value.keys() - self.rules.keys():
            return f"must be an object with members of {', '.join(self.rules)}"
        found = ((name, self.rules[name].fault(each)) for name, each in value.items())
        return next((f"{name} {what}" for name, what in found if what), "")

    def mended(self, value: Any, default: Any) -> Any:
        given = value if isinstance(value, dict) else {}
        found = dict(default)
        for name, rule in self.rules.items():
            if name in given and (name in default or isinstance(given[name], dict) or not rule.fault(given[name])):
                found[name] = rule.mended(given[name], default.get(name, {}))
        return found


def merged(before: Any, given: Any) -> Any:
    """What is to be stored of an object of which a request gave some members: the others stay as they were."""
    if isinstance(before, dict) and isinstance(given, dict):
        return {**before, **{name: merged(before.get(name), value) for name, value in given.items()}}
    return given


T = TypeVar("T")


def ruled(default: T, rule: Rule) -> T:
    """A field of a dataclass, with its default and its rule."""
    made: T = field(default=default, metadata={"rule": rule})
    return made


def rule_of(known: "Field[Any]") -> Rule:
    found: Rule = known.metadata["rule"]
    return found


def faults(table: type, given: Mapping[str, Any]) -> dict[str, str]:
    """By name, what is wrong with the given values of the fields that a table has; others are not looked at."""
    rules = {known.name: rule_of(known) for known in fields(table)}
    found = {name: rules[name].fault(value) for name, value in given.items() if name in rules}
    return {name: what for name, what in found.items() if what}


def mended(table: type, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Of a table's fields those that are stored, each with a value that its rule allows."""
    found = {}
    for known in fields(table):
        if known.name in stored:
            default = known.default_factory() if callable(known.default_factory) else known.default
            found[known.name] = rule_of(known).mended(stored[known.name], default)
    return found
