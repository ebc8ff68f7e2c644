"""`shardboard cluster`: the settings of the cluster and its policy, which exist once."""

from collections.abc import Callable
from typing import Any

import click

from shardboard.cli.client.connection import Connection
from shardboard.cli.client.object_commands import require_fields, writing_command
from shardboard.cli.client.options import Command, context_option, open_console, output_option, print_objects
from shardboard.cli.client.output import Object
from shardboard.cli.client.resources import NAME, Resource

_CLUSTER = Resource("cluster", "cluster", "/v1/cluster", (NAME,))
_POLICY = Resource("policy", "policy of the cluster", "/v1/cluster/policy", ())


def _singleton_group(resource: Resource) -> click.Group:
    """Return the commands `get` and `update` of an object that exists once."""
    group = click.Group(resource.noun, help=f"Show and change the {resource.title}.")
    group.add_command(_get(resource))
    help_text = f"Change the {resource.title}. Fields are those of PUT {resource.path}."
    group.add_command(writing_command(resource, "update", help_text, _update(resource), _no_argument))
    return group


def _get(resource: Resource) -> click.Command:
    @click.command("get", help=f"Show the {resource.title}.")
    @context_option
    @output_option
    def command(context: str | None, output: str) -> None:
        with open_console(context) as console:
            print_objects(console.get(resource.path), resource.columns, resource.name, output)

    return command


def _update(resource: Resource) -> Callable[[Connection, str | None, dict[str, Any]], Object]:
    def update(console: Connection, _: str | None, body: dict[str, Any]) -> Object:
        require_fields(body)
        changed: Object = console.send("PUT", resource.path, body)
        return changed

    return update


def _no_argument(command: Command) -> Command:
    return command


cluster = _singleton_group(_CLUSTER)
cluster.add_command(_singleton_group(_POLICY))
