"""`shardboard apply` and `shardboard diff`: change a console so that it has the objects of a file."""

import json
from collections.abc import Iterator
from typing import Any

import click

from shardboard.cli.client import declaration
from shardboard.cli.client.connection import Connection
from shardboard.cli.client.declaration import Change, Plan, PlannedChange
from shardboard.cli.client.fields import read_document
from shardboard.cli.client.options import (
    confirm,
    context_option,
    open_console,
    timeout_option,
    wait_for,
    yes_option,
)

DIFFERENT = 1
"""Exit status of `diff` if the console differs from the file."""

_file_option = click.option(
    "-f", "--file", "file", required=True, metavar="FILE", help="YAML or JSON file; - for the standard input."
)
_prune_option = click.option(
    "--prune", is_flag=True, help="Delete objects of the declared kinds that are not in the file."
)
_SIGNS = {Change.CREATE: "+", Change.UPDATE: "~", Change.DELETE: "-"}


@click.command("diff")
@_file_option
@_prune_option
@context_option
def diff(file: str, prune: bool, context: str | None) -> int:
    """Show what `apply` would change. The exit status is 1 if there are changes, and 0 if there are none."""
    with open_console(context) as console:
        planned = declaration.plan(console, declaration.read_declaration(read_document(file)), prune=prune)
    _print(planned)
    return DIFFERENT if planned.changes else 0


@click.command("apply")
@_file_option
@_prune_option
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@yes_option
@timeout_option
@context_option
def apply(file: str, prune: bool, dry_run: bool, yes: bool, timeout: float, context: str | None) -> None:
    """Create, change, and with --prune delete objects, so that the console has those of a file.

    Fields that are not in the file are not changed. Passwords are sent only when an object is created.
    """
    with open_console(context) as console:
        planned = declaration.plan(console, declaration.read_declaration(read_document(file)), prune=prune)
        _print(planned)
        if dry_run or not planned.changes:
            return
        confirm("Apply these changes?", is_confirmed=yes)
        for change in planned.changes:
            _execute(console, change, timeout)
            click.echo(f"{change.resource.title} {change.name}: {_DONE[change.change]}")


_DONE = {Change.CREATE: "created", Change.UPDATE: "changed", Change.DELETE: "deleted"}


def _print(planned: Plan) -> None:
    for change in planned.changes:
        for line in _lines(change):
            click.echo(line)
    click.echo(f"Plan: {planned.summary()}.")


def _lines(change: PlannedChange) -> Iterator[str]:
    yield f"{_SIGNS[change.change]} {change.resource.title} {change.name}"
    for name, value in change.fields.items():
        if name == change.resource.name:
            continue
        if name in declaration.WRITE_ONLY:
            yield f"    {name}: (not shown)"
        elif change.change is Change.UPDATE:
            yield f"    {name}: {_text(change.before.get(name))} -> {_text(value)}"
        else:
            yield f"    {name}: {_text(value)}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _execute(console: Connection, change: PlannedChange, timeout: float) -> None:
    path = change.resource.path if change.uid is None else f"{change.resource.path}/{change.uid}"
    if change.change is Change.DELETE:
        reply = console.send("DELETE", path)
    else:
        method = "POST" if change.change is Change.CREATE else "PUT"
        reply = console.send(method, path, declaration.resolved(console, change.fields))
    if isinstance(reply, dict) and (action_uid := reply.get("action_uid")):
        wait_for(console, action_uid, timeout)
