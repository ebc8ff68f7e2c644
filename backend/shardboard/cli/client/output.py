"""Output of objects: as a table for people, and as JSON, YAML, names, or a JSONPath for scripts."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from jsonpath import JSONPathError
from jsonpath import compile as compile_path

from shardboard.domain.text import number_text, size_text
from shardboard.errors import CommandError

Object = Mapping[str, Any]
JSONPATH = "jsonpath="


@dataclass(frozen=True)
class Column:
    """A column of a table. `show` returns the text of a value."""

    title: str
    field: str
    show: Callable[[Any], str] = str

    def cell(self, item: Object) -> str:
        value = item.get(self.field)
        return "–" if value is None or value == "" else self.show(value)


def yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def size(title: str, field: str) -> Column:
    return Column(title, field, lambda value: size_text(int(value)))


def number(title: str, field: str) -> Column:
    return Column(title, field, number_text)


def flag(title: str, field: str) -> Column:
    return Column(title, field, yes_or_no)


def render(found: Object | Sequence[Object], columns: Sequence[Column], name: str, output: str) -> str:
    """Return objects in the format `output`: table, json, yaml, name, or `jsonpath=EXPRESSION`.

    A table of one object has a row for each field. Raises CommandError for an invalid expression.
    """
    if output == "json":
        return json.dumps(found, indent=2, ensure_ascii=False)
    if output == "yaml":
        return yaml.safe_dump(found, sort_keys=False, allow_unicode=True).rstrip()
    if output.startswith(JSONPATH):
        return _matches(found, output.removeprefix(JSONPATH))
    items = [found] if isinstance(found, Mapping) else found
    if output == "name":
        return "\n".join(str(item.get(name) or item.get("uid")) for item in items)
    if isinstance(found, Mapping):
        return table(["FIELD", "VALUE"], [[key, _compact(value)] for key, value in found.items()])
    return table([column.title for column in columns], [[column.cell(item) for column in columns] for item in items])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with aligned columns, which is never cut, so that scripts can read it."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _matches(found: Object | Sequence[Object], expression: str) -> str:
    try:
        matches = compile_path(expression).findall(found)
    except JSONPathError as error:
        raise CommandError(f"the JSONPath {expression} is not valid: {error}") from error
    return "\n".join(_compact(match) for match in matches)


def _compact(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
