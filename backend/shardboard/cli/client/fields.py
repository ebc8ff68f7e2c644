"""Fields of objects on the command line and in files: `--set memory_size=1GiB`, and YAML or JSON."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from shardboard.cli.sizes import parse_size
from shardboard.errors import CommandError

MAX_FILE_BYTES = 10_000_000


def parse_fields(values: Iterable[str], texts: Iterable[str]) -> dict[str, Any]:
    """Return the fields of `--set NAME=VALUE` and `--set-string NAME=TEXT`. Raises CommandError.

    A value is JSON (`3`, `true`, `["a"]`), a size such as `1GiB`, or a text.
    """
    return {
        **{name: parse_value(text) for name, text in map(_split, values)},
        **dict(map(_split, texts)),
    }


def _split(field: str) -> tuple[str, str]:
    name, equals, text = field.partition("=")
    if not equals or not name:
        raise CommandError(f"{field} is not a field such as memory_size=1GiB")
    return name.strip(), text


def parse_value(text: str) -> Any:
    if (size := parse_size(text, needs_unit=True)) is not None:
        return size
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_document(file: str) -> Any:
    """Return the content of a YAML or JSON file; `-` is the standard input. Raises CommandError.

    In mappings, `{from_env: NAME}` and `{from_file: PATH}` are replaced by a secret, and sizes such as `1GiB` by bytes.
    """
    try:
        text = sys.stdin.read(MAX_FILE_BYTES) if file == "-" else _read(Path(file))
        return _resolved(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise CommandError(f"{file} is not valid YAML or JSON: {error}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise CommandError(f"{file} is not valid YAML or JSON") from error


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(MAX_FILE_BYTES)
    except OSError as error:
        raise CommandError(f"{path} is not readable: {error.strerror}") from error


def _resolved(value: Any) -> Any:
    if isinstance(value, list):
        return [_resolved(item) for item in value]
    if isinstance(value, str):
        return value if (size := parse_size(value, needs_unit=True)) is None else size
    if not isinstance(value, dict):
        return value
    if set(value) == {"from_env"}:
        return _from_environment(str(value["from_env"]))
    if set(value) == {"from_file"}:
        return _read(Path(str(value["from_file"]))).removesuffix("\n")
    return {str(key): _resolved(item) for key, item in value.items()}


def _from_environment(name: str) -> str:
    if name not in os.environ:
        raise CommandError(f"the environment variable {name} is not set")
    return os.environ[name]
