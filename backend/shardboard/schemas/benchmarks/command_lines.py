"""Parsed command lines of benchmark tools in the format of replies."""

import shlex
from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain.benchmarks import memtier_command_line, workload
from shardboard.domain.benchmarks.memtier_command_line import CommandLineError
from shardboard.schemas.benchmarks.benchmark_requests import Workload


class CommandLineErrorOut(BaseModel):
    """A part of a command line that cannot be used."""

    option: str = Field(description="Name of the option; `command_line` if it is not known.")
    description: str


class ParsedCommandLineOut(BaseModel):
    """A memtier_benchmark command line, converted to a workload."""

    workload: Workload
    repetitions: int | None
    read_as: str = Field(
        description="The command line without corrected mistakes and ignored options; empty on errors."
    )
    corrections: list[str] = Field(
        description="Sentences about changed or omitted parts, for example typographic dashes."
    )
    ignored: list[str] = Field(
        description="Ignored options about the target or about files, which the console defines."
    )
    errors: list[CommandLineErrorOut] = Field(description="If not empty, `workload` is empty.")
    suggestion: str = Field(
        description="For a line of redis-benchmark or valkey-benchmark: a line of memtier_benchmark with the same load, "
        "if there is one."
    )


def render(text: str) -> dict[str, Any]:
    """Parse a memtier_benchmark command line."""
    reply: dict[str, Any] = {"workload": {}, "repetitions": None, "read_as": "", "corrections": [], "ignored": []}
    try:
        parsed = memtier_command_line.parse(text)
    except CommandLineError as error:
        return reply | {"errors": [_error(each) for each in error.errors], "suggestion": error.suggestion}
    reply |= {"corrections": parsed.corrections, "ignored": parsed.ignored, "errors": [], "suggestion": ""}
    if invalid := workload.check(parsed.workload):
        return reply | {"errors": [_error(invalid)]}
    repetitions = [] if parsed.repetitions is None else [f"--run-count={parsed.repetitions}"]
    words = ["memtier_benchmark", *workload.arguments(parsed.workload), *repetitions]
    return reply | {"workload": parsed.workload, "repetitions": parsed.repetitions, "read_as": shlex.join(words)}


def _error(error: workload.InvalidOption) -> dict[str, str]:
    return {"option": error.option, "description": error.message}
