"""Commands of nodes beyond those of all objects: `shardboard node maintenance`, `switch-over`, and `remove`."""

from typing import Any

import click

from shardboard.cli.client import resources
from shardboard.cli.client.alias_words import UnknownWords, identifier
from shardboard.cli.client.object_commands import group_of
from shardboard.cli.client.options import confirm, context_option, open_console, wait_for, wait_options, yes_option
from shardboard.cli.client.resources import NODE

_ALIASES = {"maintenance_mode": "maintenance", "enslave": "switch-over", "remove": "remove"}


class _NodeGroup(click.Group):
    """Accepts the words of `rladmin` as well, in which the node precedes the verb: `node 1 maintenance_mode on`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, *others = args
        if name in self.commands or not others:
            return super().resolve_command(ctx, args)
        verb, *values = others
        if verb not in _ALIASES:
            raise UnknownWords(f"the words are not known: {' '.join(args)}", f"node update {name} --set FIELD=VALUE")
        return super().resolve_command(ctx, [_ALIASES[verb], identifier(name), *values])


@click.command("maintenance")
@click.argument("name")
@click.argument("state", type=click.Choice(["on", "off"]))
@wait_options
@context_option
def maintenance(name: str, state: str, no_wait: bool, timeout: float, context: str | None) -> None:
    """Start or end the maintenance of a node. Its primaries are switched over first, and its replicas move."""
    _start(name, f"maintenance_{state}", no_wait, timeout, context)


@click.command("switch-over")
@click.argument("name")
@wait_options
@context_option
def switch_over(name: str, no_wait: bool, timeout: float, context: str | None) -> None:
    """Switch all primaries of a node over to their replicas on other nodes."""
    _start(name, "enslave_node", no_wait, timeout, context)


@click.command("remove")
@click.argument("name")
@yes_option
@wait_options
@context_option
def remove(name: str, yes: bool, no_wait: bool, timeout: float, context: str | None) -> None:
    """Remove a node from the cluster, after its shards have moved to other nodes."""
    _start(name, "remove", no_wait, timeout, context, question="Remove the node {}?", is_confirmed=yes)


def _start(
    name: str,
    action: str,
    no_wait: bool,
    timeout: float,
    context: str | None,
    *,
    question: str = "",
    is_confirmed: bool = True,
) -> None:
    with open_console(context) as console:
        found: dict[str, Any] = resources.find(console, NODE, name)
        confirm(question.format(f"{found['addr']} (uid {found['uid']})"), is_confirmed=is_confirmed)
        action_uid = console.send("POST", f"{resources.path_of(NODE, found)}/actions/{action}")["action_uid"]
        if no_wait:
            click.echo(action_uid)
        else:
            wait_for(console, action_uid, timeout)


node = group_of(NODE, _NodeGroup)
node.add_command(maintenance)
node.add_command(switch_over)
node.add_command(remove)
