"""Workloads of load generators in terms of memtier_benchmark: options, their validation, and their requirements for a database.

A workload is a mapping of option names (with underscores) to values. It does not contain the target or credentials; the console
adds these.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

OptionKind = Literal["integer", "number", "flag", "text", "requests", "commands"]


@dataclass(frozen=True)
class Option:
    """An option. `least` and `most` are limits of numbers, `pattern` describes text."""

    kind: OptionKind
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    pattern: str = ""
    short: str = ""
    description: str = ""


_PAIR = r"\d{1,9}:\d{1,9}"
_RANGE = r"\d{1,12}-\d{1,12}"
_KEY_PATTERN = "[RSPGZ]"
MAX_KEY = 2**53
_SIZES = ("data_size", "data_size_range", "data_size_list")

OPTIONS: dict[str, Option] = {
    "requests": Option(
        "requests", 10_000, 1, 10**12, short="n", description='Per client; "allkeys" = once over the key range.'
    ),
    "test_time": Option("integer", None, 1, 7 * 86_400, description="Seconds; replaces requests."),
    "threads": Option("integer", 4, 1, 256, short="t"),
    "clients": Option("integer", 50, 1, 10_000, short="c", description="Connections per thread."),
    "clients_start": Option("integer", None, 1, 10_000, description="Staircase: initial number of clients per thread."),
    "clients_step": Option("integer", None, 1, 10_000),
    "step_duration": Option("integer", None, 1, 86_400, description="Seconds per step of the staircase."),
    "pipeline": Option("integer", 1, 1, 10_000, description="Concurrent requests per connection."),
    "ratio": Option("text", "1:10", pattern=_PAIR, description="Ratio of SETs to GETs."),
    "rate": Option(
        "number",
        None,
        0.1,
        10**9,
        description="Open loop: total requests per second, sent on schedule regardless of replies.",
    ),
    "rate_limiting": Option("integer", None, 1, 10**9, description="Requests per second and connection."),
    "protocol": Option("text", "redis", pattern="redis|resp2|resp3", short="P"),
    "reconnect_interval": Option("integer", None, 1, 10**12),
    "reconnect_on_error": Option("flag", False),
    "max_reconnect_attempts": Option("integer", None, 0, 10**9),
    "reconnect_backoff_factor": Option("number", None, 0, 1000),
    "connection_timeout": Option("integer", None, 0, 86_400),
    "multi_key_get": Option("integer", None, 0, 10_000),
    "select_db": Option("integer", None, 0, 10_000),
    "distinct_client_seed": Option(
        "flag", False, description="If false, all clients use the same keys in the same order."
    ),
    "randomize": Option("flag", False, description="If false, all runs use the same keys in the same order."),
    "command": Option(
        "commands", None, description="Commands that replace SET and GET; __key__ and __data__ are placeholders."
    ),
    "data_size": Option("integer", 32, 1, 512 * 2**20, short="d", description="Size of a value in bytes."),
    "data_offset": Option("integer", None, 0, 512 * 2**20),
    "random_data": Option("flag", False, short="R"),
    "data_verify": Option(
        "flag",
        False,
        description="Write values that are derived from the name of their key and their size, and check the value that each GET "
        "returns. Values that differ are errors of the type `mismatch`.",
    ),
    "verify_only": Option(
        "flag", False, description="Only read and check the keys that SETs of this workload would have written."
    ),
    "data_size_range": Option("text", None, pattern=_RANGE),
    "data_size_list": Option("text", None, pattern=r"\d{1,9}:\d{1,9}(,\d{1,9}:\d{1,9}){0,99}"),
    "data_size_pattern": Option("text", None, pattern="[RS]"),
    "expiry_range": Option("text", None, pattern=_RANGE),
    "key_prefix": Option("text", "memtier-", pattern=r"[^\s\0]{0,200}"),
    "key_minimum": Option("integer", 0, 0, MAX_KEY),
    "key_maximum": Option("integer", 10_000_000, 1, MAX_KEY),
    "key_pattern": Option(
        "text",
        "R:R",
        pattern=f"{_KEY_PATTERN}:{_KEY_PATTERN}",
        description="For SETs and GETs: R random, S sequential, P sequential and divided among clients, G Gaussian, Z Zipfian.",
    ),
    "key_stddev": Option("number", None, 0.000_001, MAX_KEY),
    "key_median": Option("number", None, 0, MAX_KEY),
    "key_zipf_exp": Option("number", None, 0.000_001, 4.999_999),
    "wait_ratio": Option("text", None, pattern=_PAIR),
    "num_slaves": Option("text", None, pattern=_RANGE),
    "wait_timeout": Option("text", None, pattern=_RANGE),
    "print_percentiles": Option("text", None, pattern=r"\d{1,3}(\.\d{1,6})?(,\d{1,3}(\.\d{1,6})?){0,19}"),
    "hide_histogram": Option("flag", False),
}

_NOT_VERIFIABLE = {
    "random_data": "verified values are derived from the names of their keys",
    "data_offset": "only complete values are verified",
    "command": "only values of SET and GET are verified",
}
_COMMAND_FIELDS = {"command", "ratio", "key_pattern"}


@dataclass(frozen=True)
class InvalidOption:
    """An invalid option, with a message that states what it must be."""

    option: str
    message: str


def check(workload: Mapping[str, Any]) -> InvalidOption | None:
    """Return the first error that prevents load generators from executing the workload, or None."""
    return next(_validation_errors(workload), None)


def _validation_errors(workload: Mapping[str, Any]) -> Iterator[InvalidOption]:
    for name, value in workload.items():
        option = OPTIONS.get(name)
        if option is None:
            yield InvalidOption(name, f"{name} is not an option of a workload.")
        elif value is not None and (message := _validation_error(name, option, value)):
            yield InvalidOption(name, message)
    yield from _contradictions(workload)


def _validation_error(name: str, option: Option, value: Any) -> str:
    match option.kind:
        case "flag":
            return "" if isinstance(value, bool) else f"{name} must be true or false."
        case "text":
            is_valid = (
                isinstance(value, str)
                and re.fullmatch(option.pattern, value, re.ASCII) is not None
                and value.isprintable()
            )
            return "" if is_valid else f"{name} has an invalid format. Expected: {_format(option)}."
        case "commands":
            return _commands_error(value)
        case "requests" if value == "allkeys":
            return ""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if not (is_integer or (option.kind == "number" and isinstance(value, float))):
        return f"{name} must be a number{' or allkeys' if option.kind == 'requests' else ''}."
    minimum, maximum = option.minimum or 0, option.maximum or float("inf")
    return "" if minimum <= value <= maximum else f"{name} must be between {_plain(minimum)} and {_plain(maximum)}."


def _commands_error(value: Any) -> str:
    if not isinstance(value, list) or not 1 <= len(value) <= 100:
        return "command must be a list of 1 to 100 commands."
    for each in value:
        if not isinstance(each, Mapping) or not each.get("command") or each.keys() - _COMMAND_FIELDS:
            return "Each command must have the field command, and can have the fields ratio and key_pattern."
        if not isinstance(each["command"], str) or len(each["command"]) > 10_000 or "\0" in each["command"]:
            return "The field command of a command must be text."
        ratio = each.get("ratio", 1)
        if not isinstance(ratio, int) or isinstance(ratio, bool) or not 0 <= ratio <= 10**9:
            return "The ratio of a command must be an integer."
        if not re.fullmatch(_KEY_PATTERN, str(each.get("key_pattern", "R"))):
            return "The key_pattern of a command must be R, S, P, G or Z."
    return ""


def _contradictions(workload: Mapping[str, Any]) -> Iterator[InvalidOption]:
    options = {name: value for name, value in workload.items() if value not in (None, False)}
    for names in (("test_time", "requests"), ("rate", "rate_limiting"), _SIZES):
        contradicting = [name for name in names if name in options]
        if len(contradicting) > 1:
            yield InvalidOption(contradicting[1], f"{contradicting[0]} and {contradicting[1]} cannot be combined.")
    for name in ("data_size_range", "expiry_range", "num_slaves", "wait_timeout"):
        if name in options and _is_empty_range(options[name]):
            yield InvalidOption(name, f"The end of {name} must not be below its start.")
    step_options = [name for name in ("clients_start", "clients_step", "step_duration") if name in options]
    if step_options and (len(step_options) < 3 or "test_time" not in options):
        yield InvalidOption(
            step_options[0], "A staircase requires clients_start, clients_step, step_duration and test_time."
        )
    if options.get("ratio") == "0:0":
        yield InvalidOption("ratio", "A ratio of 0:0 results in no requests.")
    yield from _verification_contradictions(options)
    yield from _key_contradictions(options)


def _verification_contradictions(options: Mapping[str, Any]) -> Iterator[InvalidOption]:
    for name in ("data_verify", "verify_only"):
        for other, reason in _NOT_VERIFIABLE.items():
            if name in options and other in options:
                yield InvalidOption(name, f"{name} and {other} cannot be combined: {reason}.")


def _key_contradictions(workload: Mapping[str, Any]) -> Iterator[InvalidOption]:
    first, last = key_range(workload)
    if first > last:
        yield InvalidOption("key_minimum", "key_minimum must not be above key_maximum.")
    pattern = str(workload.get("key_pattern", OPTIONS["key_pattern"].default))
    if "P" in pattern and pattern != "P:P":
        yield InvalidOption("key_pattern", "P must be used for both SETs and GETs: P:P.")
    for name, required_pattern in (("key_stddev", "G"), ("key_median", "G"), ("key_zipf_exp", "Z")):
        if name in workload and required_pattern not in pattern:
            yield InvalidOption(name, f"{name} requires the key pattern {required_pattern} on at least one side.")


def _is_empty_range(text: Any) -> bool:
    first, _, last = str(text).partition("-")
    return first.isdigit() and last.isdigit() and int(first) > int(last)


def _format(option: Option) -> str:
    descriptions = {
        _PAIR: "two numbers separated by a colon, such as 1:10",
        _RANGE: "two numbers separated by a hyphen, such as 10-20",
    }
    return descriptions.get(option.pattern, option.description.rstrip(".") or option.pattern)


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def arguments(workload: Mapping[str, Any]) -> list[str]:
    """Return the arguments of the load generator."""
    options: list[str] = []
    for name, value in workload.items():
        if value is None or value is False:
            continue
        if name == "command":
            options += [word for each in value for word in _command(each)]
        elif value is True:
            options.append(_long(name))
        else:
            options.append(f"{_long(name)}={value}")
    return options


def _command(each: Mapping[str, Any]) -> Iterator[str]:
    yield f"--command={each['command']}"
    for name in ("ratio", "key_pattern"):
        if each.get(name) is not None:
            yield f"--command-{name.replace('_', '-')}={each[name]}"


def _long(name: str) -> str:
    return "--" + name.replace("_", "-")


def key_range(workload: Mapping[str, Any]) -> tuple[int, int]:
    """Return the first and the last key, both inclusive."""
    first, last = workload.get("key_minimum"), workload.get("key_maximum")
    return (0 if first is None else first), (OPTIONS["key_maximum"].default if last is None else last)


def keys(workload: Mapping[str, Any]) -> int:
    """Return the maximum number of different keys."""
    first, last = key_range(workload)
    return last - first + 1


def prefix(workload: Mapping[str, Any]) -> str:
    """Return the prefix of its keys."""
    key_prefix = workload.get("key_prefix")
    return str(OPTIONS["key_prefix"].default if key_prefix is None else key_prefix)


def writes(workload: Mapping[str, Any]) -> bool:
    """Return whether it can change data; unknown commands count as changes."""
    if workload.get("command"):
        return True
    if workload.get("verify_only"):
        return False
    return not str(workload.get("ratio") or OPTIONS["ratio"].default).startswith("0:")


def value_bytes(workload: Mapping[str, Any]) -> float:
    """Return the average size of a value."""
    if span := workload.get("data_size_range"):
        first, _, last = span.partition("-")
        return (int(first) + int(last)) / 2
    if sizes := workload.get("data_size_list"):
        pairs = [(int(size), int(weight)) for size, _, weight in (item.partition(":") for item in sizes.split(","))]
        return sum(size * weight for size, weight in pairs) / max(1, sum(weight for _, weight in pairs))
    return float(workload.get("data_size") or OPTIONS["data_size"].default)


def outstanding(workload: Mapping[str, Any]) -> int:
    """Return the maximum number of outstanding requests of one generator."""
    return prod(int(workload.get(name) or OPTIONS[name].default) for name in ("threads", "clients", "pipeline"))


def seconds(workload: Mapping[str, Any]) -> int | None:
    """Return the duration; None if it depends on a number of requests."""
    duration: int | None = workload.get("test_time")
    return duration
