"""Parser that converts a pasted memtier_benchmark command line into a workload."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shardboard.domain.benchmarks.workload import OPTIONS, InvalidOption

TYPOGRAPHIC = "–—−"
"""Dashes that word processors insert instead of hyphens."""

_SHORT = {option.short: name for name, option in OPTIONS.items() if option.short}
_TARGET_OPTIONS = {
    **dict.fromkeys(
        ("host", "server", "port", "unix_socket", "uri", "authenticate", "sni", "cert", "key", "cacert"), True
    ),
    **dict.fromkeys(("tls_protocols", "seeds", "password_file"), True),
    **dict.fromkeys(("tls", "tls_skip_verify", "cluster_mode", "ipv4", "ipv6"), False),
}
"""Options that define the target, and whether they take a value. They are ignored, because the database defines the target."""
_OUTPUT_OPTIONS = {
    **dict.fromkeys(("out_file", "json_out_file", "client_stats", "hdr_file_prefix", "live_lines"), True),
    **dict.fromkeys(("show_config", "debug", "print_all_runs"), False),
}
"""Options for files and text output on the load node. They are ignored, because the console stores the results."""
_SHORT_OTHERS = {
    "h": "host",
    "s": "server",
    "p": "port",
    "S": "unix_socket",
    "u": "uri",
    "a": "authenticate",
    "4": "ipv4",
    "6": "ipv6",
    "o": "out_file",
    "D": "debug",
    "x": "run_count",
}


@dataclass(frozen=True)
class ParsedCommandLine:
    """A parsed command line. `ignored` contains the names of options without a meaning here. Their values are dropped, because they
    can be passwords."""

    workload: dict[str, Any]
    repetitions: int | None = None
    ignored: list[str] = field(default_factory=list)


class CommandLineError(Exception):
    """A command line cannot be parsed; `wrong` contains the option and the reason."""

    def __init__(self, wrong: InvalidOption) -> None:
        super().__init__(wrong.message)
        self.error = wrong


def parse(text: str) -> ParsedCommandLine:
    """Parse a command line. Raises NotUnderstood."""
    workload: dict[str, Any] = {}
    ignored: list[str] = []
    repetitions = None
    for name, value in _pairs(_words(text)):
        if name in _TARGET_OPTIONS or name in _OUTPUT_OPTIONS:
            ignored.append(name)
        elif name == "run_count":
            repetitions = _number(name, value)
        elif name == "command":
            workload.setdefault("command", []).append({"command": value})
        elif name in ("command_ratio", "command_key_pattern"):
            _set_command_option(workload, name, str(value))
        else:
            workload[name] = _parsed_value(name, value)
    return ParsedCommandLine(workload, repetitions, ignored)


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text.replace("\\\n", " "))
    except ValueError as error:
        raise CommandLineError(
            InvalidOption("command_line", f"The command line has an unclosed quotation mark: {error}.")
        ) from None
    if words and not words[0].startswith(("-", *TYPOGRAPHIC)):
        words = words[1:]  # the program
    return words


def _pairs(words: list[str]) -> Iterator[tuple[str, str | None]]:
    """Yield options with their values; None for options without a value."""
    word_iterator = iter(words)
    for word in word_iterator:
        name, value = _split_option(word)
        if not _takes_value(name):
            if value is not None:
                raise CommandLineError(InvalidOption(name, f"{_flag(name)} takes no value."))
        elif value is None:
            value = next(word_iterator, None)
            if value is None:
                raise CommandLineError(InvalidOption(name, f"{_flag(name)} needs a value."))
        yield name, value


def _split_option(word: str) -> tuple[str, str | None]:
    """Return the name, and the value if it is part of the same word."""
    if word.startswith(tuple(TYPOGRAPHIC)):
        option = "--" + word.lstrip("-" + TYPOGRAPHIC)
        raise CommandLineError(
            InvalidOption("command_line", f"{word} starts with a typographic dash. Write {option} with two hyphens.")
        )
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        return _known(name.replace("-", "_"), word), value if equals else None
    if word.startswith("-") and len(word) > 1:
        name = _SHORT.get(word[1]) or _SHORT_OTHERS.get(word[1]) or ""
        return _known(name, word), word[2:].removeprefix("=") or None
    raise CommandLineError(InvalidOption("command_line", f"{word} is not an option. Options start with two hyphens."))


def _known(name: str, word: str) -> str:
    other_names = ("run_count", "command_ratio", "command_key_pattern")
    if name in OPTIONS or name in _TARGET_OPTIONS or name in _OUTPUT_OPTIONS or name in other_names:
        return name
    raise CommandLineError(InvalidOption("command_line", f"{word.partition('=')[0]} is not supported."))


def _takes_value(name: str) -> bool:
    if name in OPTIONS:
        return OPTIONS[name].kind != "flag"
    return _TARGET_OPTIONS.get(name, _OUTPUT_OPTIONS.get(name, True))


def _parsed_value(name: str, value: str | None) -> Any:
    match OPTIONS[name].kind:
        case "flag":
            return True
        case "text":
            return value
        case "requests" if value == "allkeys":
            return value
        case "number":
            try:
                return float(value or "")
            except ValueError:
                raise CommandLineError(InvalidOption(name, f"{_flag(name)} needs a number.")) from None
    return _number(name, value)


def _number(name: str, value: str | None) -> int:
    if value is None or not value.isdecimal() or len(value) > 18:
        raise CommandLineError(InvalidOption(name, f"{_flag(name)} needs a whole number."))
    return int(value)


def _set_command_option(workload: Mapping[str, Any], name: str, value: str) -> None:
    if "command" not in workload:
        raise CommandLineError(InvalidOption(name, f"{_flag(name)} must follow the --command that it belongs to."))
    field_name = name.removeprefix("command_")
    workload["command"][-1][field_name] = _number(name, value) if field_name == "ratio" else value


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
