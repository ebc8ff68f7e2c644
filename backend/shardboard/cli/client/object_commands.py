"""Commands of all kinds of objects: list, get, create, update, delete, and watch."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import click

from shardboard.cli.client import resources
from shardboard.cli.client.connection import Connection
from shardboard.cli.client.fields import parse_fields, parse_value, read_document
from shardboard.cli.client.options import (
    Command,
    confirm,
    context_option,
    open_console,
    output_option,
    print_objects,
    wait_for,
    wait_options,
    yes_option,
)
from shardboard.cli.client.output import Object, table
from shardboard.cli.client.resources import Resource
from shardboard.errors import CommandError

_VERBS = ("list", "get", "create", "update", "delete")


def group_of(resource: Resource, kind: type[click.Group] = click.Group) -> click.Group:
    """Return the command group of a kind of object, such as `shardboard db`."""
    group = kind(resource.noun, help=f"Manage {resource.title}s.")
    builders = {"list": _list, "get": _get, "create": _create, "update": _update, "delete": _delete}
    for verb in _VERBS:
        if verb in resource.verbs:
            group.add_command(builders[verb](resource))
    if "list" in resource.verbs:
        group.add_command(_watch(resource))
    return group


def _list(resource: Resource) -> click.Command:
    @click.command("list", help=f"List all {resource.title}s.")
    @context_option
    @output_option
    def command(context: str | None, output: str) -> None:
        with open_console(context) as console:
            print_objects(resources.list_all(console, resource), resource.columns, resource.name, output)

    return command


def _get(resource: Resource) -> click.Command:
    @click.command("get", help=f"Show one {resource.title}.")
    @click.argument("name")
    @context_option
    @output_option
    def command(name: str, context: str | None, output: str) -> None:
        with open_console(context) as console:
            print_objects(resources.find(console, resource, name), resource.columns, resource.name, output)

    return command


def _field_options(resource: Resource) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option, field in reversed(resource.shorthands.items()):
            command = click.option(f"--{option}", field, metavar="VALUE", help=f"Sets the field {field}.")(command)
        command = click.option("-f", "--file", metavar="FILE", help="YAML or JSON file with fields; - for stdin.")(
            command
        )
        command = click.option(
            "--set-string", "texts", multiple=True, metavar="FIELD=TEXT", help="Set a field to a text."
        )(command)
        return click.option(
            "--set", "values", multiple=True, metavar="FIELD=VALUE", help="Set a field to JSON, a size, or a text."
        )(command)

    return decorate


def _fields(
    resource: Resource,
    file: str | None,
    values: tuple[str, ...],
    texts: tuple[str, ...],
    others: Mapping[str, str | None],
) -> dict[str, Any]:
    """Return the fields of the options; those of the command line replace those of the file. Raises CommandError."""
    document = {} if file is None else read_document(file)
    if not isinstance(document, dict):
        raise CommandError(f"{file} does not contain the fields of one {resource.title}")
    shorthands = {name: parse_value(text) for name, text in others.items() if text is not None}
    return {**document, **shorthands, **parse_fields(values, texts)}


def _create(resource: Resource) -> click.Command:
    def create(console: Connection, name: str | None, body: dict[str, Any]) -> Object:
        created: Object = console.send("POST", resource.path, body if name is None else {**body, resource.name: name})
        return created

    help_text = f"Create a {resource.title}. Fields are those of POST {resource.path}."
    return writing_command(resource, "create", help_text, create, click.argument("name", required=False))


def _update(resource: Resource) -> click.Command:
    def update(console: Connection, name: str | None, body: dict[str, Any]) -> Object:
        require_fields(body)
        path = resources.path_of(resource, resources.find(console, resource, name or ""))
        changed: Object = console.send("PUT", path, body)
        return changed

    help_text = f"Change a {resource.title}. Fields are those of PUT {resource.path}/<uid>."
    return writing_command(resource, "update", help_text, update)


def require_fields(body: Object) -> None:
    """Check that a command has fields to change. Raises CommandError."""
    if not body:
        raise CommandError("nothing to change; set fields with --set FIELD=VALUE")


def writing_command(
    resource: Resource,
    verb: str,
    help_text: str,
    write: Callable[[Connection, str | None, dict[str, Any]], Object],
    argument: Callable[[Callable[..., Any]], Callable[..., Any]] = click.argument("name"),  # noqa: B008 - the decorator has no state
) -> click.Command:
    """Return a command that sends fields with `write(console, name, fields)`, waits for the action, and prints the object."""

    @click.command(verb, help=help_text)
    @argument
    @_field_options(resource)
    @wait_options
    @context_option
    @output_option
    def command(
        file: str | None,
        values: tuple[str, ...],
        texts: tuple[str, ...],
        no_wait: bool,
        timeout: float,
        context: str | None,
        output: str,
        name: str | None = None,
        **others: str | None,
    ) -> None:
        body = _fields(resource, file, values, texts, others)
        with open_console(context) as console:
            reply = write(console, name, body)
            _finish(console, resource, reply, timeout, output, is_waiting=not no_wait)

    return command


def _delete(resource: Resource) -> click.Command:
    @click.command("delete", help=f"Delete {resource.title}s.")
    @click.argument("names", nargs=-1, required=True, metavar="NAME...")
    @yes_option
    @wait_options
    @context_option
    def command(names: tuple[str, ...], yes: bool, no_wait: bool, timeout: float, context: str | None) -> None:
        with open_console(context) as console:
            found = [resources.find(console, resource, name) for name in names]
            titles = ", ".join(f"{item.get(resource.name)} (uid {resources.uid_of(item)})" for item in found)
            confirm(f"Delete the {resource.title} {titles}?", is_confirmed=yes)
            actions = [console.send("DELETE", resources.path_of(resource, item)) for item in found]
            for action_uid in filter(None, map(_action_of, actions)):
                if no_wait:
                    click.echo(action_uid)
                else:
                    wait_for(console, action_uid, timeout)

    return command


def _action_of(reply: Any) -> str | None:
    return reply.get("action_uid") if isinstance(reply, dict) else None


def _finish(
    console: Connection, resource: Resource, reply: Object, timeout: float, output: str, *, is_waiting: bool
) -> None:
    """Wait for the action that a request has started, and print the object."""
    for warning in reply.get("warnings", []):
        click.echo(
            f"warning: {warning.get('description', warning) if isinstance(warning, dict) else warning}", err=True
        )
    action_uid = _action_of(reply)
    if action_uid is not None and is_waiting:
        wait_for(console, action_uid, timeout)
        reply = console.get(resources.path_of(resource, reply))
    print_objects(reply if output != "table" else [dict(reply)], resource.columns, resource.name, output)
    if action_uid is not None and not is_waiting:
        click.echo(f"action {action_uid}", err=True)


def _watch(resource: Resource) -> click.Command:
    @click.command("watch", help=f"Print all {resource.title}s, and then each change until Ctrl-C.")
    @click.option("--interval", type=click.FloatRange(0.5, 3600), default=1.0, metavar="SECONDS", show_default=True)
    @context_option
    def command(interval: float, context: str | None) -> None:
        titles = [column.title for column in resource.columns]
        shown: dict[Any, list[str]] = {}
        with open_console(context) as console:
            while True:
                rows = {
                    resources.uid_of(item): [column.cell(item) for column in resource.columns]
                    for item in resources.list_all(console, resource)
                }
                changed = [row for uid, row in rows.items() if shown.get(uid) != row]
                removed = [[*row[:-1], f"{row[-1]} (deleted)"] for uid, row in shown.items() if uid not in rows]
                if changed or removed:
                    click.echo(table(titles, [*changed, *removed]))
                shown = rows
                time.sleep(interval)

    return command


shard = group_of(resources.SHARD)
user = group_of(resources.USER)
role = group_of(resources.ROLE)
acl = group_of(resources.ACL)
webhook = group_of(resources.WEBHOOK)
service_token = group_of(resources.SERVICE_TOKEN)
location = group_of(resources.LOCATION)
backup = group_of(resources.BACKUP)
run = group_of(resources.RUN)
scenario = group_of(resources.SCENARIO)
scenario_run = group_of(resources.SCENARIO_RUN)
incident = group_of(resources.INCIDENT)
action = group_of(resources.ACTION)
