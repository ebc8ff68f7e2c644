"""Parser that converts a pasted memtier_benchmark command line into a workload."""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shardboard.domain.benchmarks import command_line_text, redis_benchmark_command_line
from shardboard.domain.benchmarks.command_line_text import DASHES
from shardboard.domain.benchmarks.workload import OPTIONS, InvalidOption

_TO_HYPHENS = dict.fromkeys(map(ord, DASHES), "-")
_RANGE = re.compile(rf"^(\d+)[{DASHES}](\d+)$")
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
    """A parsed command line. It contains no values of options about the target, because they can be passwords."""

    workload: dict[str, Any]
    repetitions: int | None = None
    ignored: list[str] = field(default_factory=list)
    """Names of options without a meaning here."""
    corrections: list[str] = field(default_factory=list)
    """Sentences for users: what was changed or left out."""


class CommandLineError(Exception):
    """A command line cannot be parsed. `errors` contains at least one option with the reason; `suggestion` a line with the same
    load, if the line is one of another program."""

    def __init__(self, errors: list[InvalidOption], suggestion: str = "") -> None:
        super().__init__(errors[0].message)
        self.errors = errors
        self.suggestion = suggestion


class _InvalidArgument(Exception):
    def __init__(self, option: str, message: str) -> None:
        super().__init__(message)
        self.error = InvalidOption(option, message)


def parse(text: str) -> ParsedCommandLine:
    """Parse a command line. Raises CommandLineError with all errors."""
    try:
        command = command_line_text.read(text)
    except command_line_text.UnreadableText as error:
        raise CommandLineError([InvalidOption("command_line", str(error))]) from None
    if command.program not in ("", "memtier_benchmark"):
        raise _other_program(command)
    return _Parser(command).parse()


def _other_program(command: command_line_text.CommandWords) -> CommandLineError:
    suggestion = redis_benchmark_command_line.translation(command.arguments)
    advice = "The suggested line creates the same load." if suggestion else "No line creates exactly the same load."
    message = f"{command.program} has other options than memtier_benchmark, which runs use. {advice}"
    return CommandLineError([InvalidOption("command_line", message)], suggestion)


class _Parser:
    """Parses the arguments of one command line."""

    def __init__(self, command: command_line_text.CommandWords) -> None:
        self._words = deque(command.arguments)
        self._parsed = ParsedCommandLine({}, corrections=list(command.corrections))
        self._repetitions: int | None = None

    def parse(self) -> ParsedCommandLine:
        errors = []
        while self._words:
            try:
                self._parse_option()
            except _InvalidArgument as error:
                errors.append(error.error)
        if errors:
            raise CommandLineError(errors)
        return replace(self._parsed, repetitions=self._repetitions)

    def _parse_option(self) -> None:
        name, value = self._split_option(self._words.popleft())
        if not _takes_value(name):
            if value is not None:
                raise _InvalidArgument(name, f"{_flag(name)} takes no value.")
        elif not value:
            value = self._next_value(name)
        self._set(name, _RANGE.sub(r"\1-\2", value) if value else value)

    def _next_value(self, name: str) -> str:
        """Return the next word, unless it is an option: examples often leave out host and port."""
        if self._words and not self._is_option(self._words[0]):
            return self._words.popleft()
        if name not in _TARGET_OPTIONS:
            raise _InvalidArgument(name, f"{_flag(name)} needs a value.")
        self._parsed.corrections.append(f"{_flag(name)} has no value. The run uses the selected database.")
        return ""

    def _set(self, name: str, value: str | None) -> None:
        workload = self._parsed.workload
        if name in _TARGET_OPTIONS or name in _OUTPUT_OPTIONS:
            self._parsed.ignored.append(name)
        elif name == "run_count":
            self._repetitions = _number(name, value)
        elif name == "command":
            workload.setdefault("command", []).append({"command": value})
        elif name in ("command_ratio", "command_key_pattern"):
            _set_command_option(workload, name, str(value))
        else:
            workload[name] = _parsed_value(name, value)

    def _is_option(self, word: str) -> bool:
        try:
            _option(word)
        except _InvalidArgument:
            return False
        return True

    def _split_option(self, word: str) -> tuple[str, str | None]:
        """Return the name, and the value if it is part of the same word."""
        name, value, written = _option(word)
        plain = written.translate(_TO_HYPHENS).lstrip("-")
        expected = f"-{plain}" if len(plain) == 1 else f"--{plain}"
        if written != expected:
            self._parsed.corrections.append(f"Read {written} as {expected}.")
        return name, value


def _option(word: str) -> tuple[str, str | None, str]:
    """Return the name of an option, its value if it is part of the same word, and the option as it is written.

    A known long name is accepted after any number of dashes, because documents join two hyphens into one dash.
    """
    stripped = word.lstrip(DASHES)
    if stripped == word or not stripped:
        raise _InvalidArgument("command_line", f"{word} is not an option. Options start with two hyphens.")
    dashes = word[: len(word) - len(stripped)]
    written, equals, value = stripped.partition("=")
    name = written.translate(_TO_HYPHENS).replace("-", "_")
    if len(name) > 1 and _is_known(name):
        return name, value if equals else None, dashes + written
    short = _SHORT.get(stripped[0]) or _SHORT_OTHERS.get(stripped[0])
    if len(dashes) == 1 and short is not None:
        return short, stripped[1:].removeprefix("=") or None, dashes + stripped[0]
    raise _InvalidArgument("command_line", f"{dashes}{written} is not supported.")


def _is_known(name: str) -> bool:
    other_names = ("run_count", "command", "command_ratio", "command_key_pattern")
    return name in OPTIONS or name in _TARGET_OPTIONS or name in _OUTPUT_OPTIONS or name in other_names


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
                raise _InvalidArgument(name, f"{_flag(name)} needs a number.") from None
    return _number(name, value)


def _number(name: str, value: str | None) -> int:
    if value is None or not value.isdecimal() or len(value) > 18:
        raise _InvalidArgument(name, f"{_flag(name)} needs a whole number.")
    return int(value)


def _set_command_option(workload: Mapping[str, Any], name: str, value: str) -> None:
    if "command" not in workload:
        raise _InvalidArgument(name, f"{_flag(name)} must follow the --command that it belongs to.")
    field_name = name.removeprefix("command_")
    workload["command"][-1][field_name] = _number(name, value) if field_name == "ratio" else value


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
