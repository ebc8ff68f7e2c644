"""`shardboard drill`: failure drills. Each is an action, which `drill delete` ends early."""

from typing import Any
from urllib.parse import quote

import click

from shardboard.cli.client import resources
from shardboard.cli.client.connection import Connection
from shardboard.cli.client.object_commands import group_of
from shardboard.cli.client.options import confirm, context_option, open_console, wait_for, wait_options, yes_option
from shardboard.cli.client.output import Column, number
from shardboard.cli.client.resources import ACTION, NODE, STATUS, Resource
from shardboard.domain.cluster.actions import ActionName
from shardboard.errors import CommandError


def _read(console: Connection) -> list[dict[str, Any]]:
    drills = [each for each in console.get(ACTION.path) if each["name"] == ActionName.DRILL]
    return [{**each, "description": each["additional_info"]["description"]} for each in drills]


DRILL = Resource(
    "drill",
    "drill",
    ACTION.path,
    (
        Column("UID", "action_uid"),
        Column("DRILL", "description"),
        STATUS,
        number("PROGRESS", "progress"),
        Column("ORIGINATOR", "originator"),
    ),
    name="action_uid",
    read=_read,
)


def _target(console: Connection, node: str | None, zone: str | None) -> tuple[str, str]:
    """Return the path of the request that starts a drill, and its target in words."""
    if node is not None and zone is None:
        uid = resources.find(console, NODE, node)["uid"]
        return f"{NODE.path}/{uid}/actions/drill", f"node {uid}"
    if zone is not None and node is None:
        return f"/v1/zones/{quote(zone, safe='')}/actions/drill", f"zone {zone}"
    raise CommandError("specify one of --node and --zone")


@click.command("create")
@click.argument("kind")
@click.option("--node", metavar="NAME", help="Node on which the fault is injected.")
@click.option("--zone", metavar="ZONE", help="Zone instead of a node: all its nodes at the same time.")
@click.option("--shard", metavar="UID", help="Shard of the node, for the kinds kill_shard and freeze_shard.")
@click.option("--seconds", type=click.FloatRange(1), metavar="SECONDS", help="Duration of the fault.")
@yes_option
@wait_options
@context_option
def create(
    kind: str,
    node: str | None,
    zone: str | None,
    shard: str | None,
    seconds: float | None,
    yes: bool,
    no_wait: bool,
    timeout: float,
    context: str | None,
) -> None:
    """Inject a fault, such as `reboot`, `kill`, `freeze`, `cut_off`, or `kill_shard`, and wait until it has ended."""
    with open_console(context) as console:
        path, target = _target(console, node, zone)
        confirm(f"Start the drill {kind} on {target}?", is_confirmed=yes)
        body = {"kind": kind, "seconds": seconds, "shard_uid": shard, "confirm": target}
        reply = console.send("POST", path, {name: value for name, value in body.items() if value is not None})
        for action_uid in reply.get("action_uids") or [reply["action_uid"]]:
            if no_wait:
                click.echo(action_uid)
            else:
                wait_for(console, action_uid, timeout)


@click.command("delete")
@click.argument("action_uid")
@context_option
def delete(action_uid: str, context: str | None) -> None:
    """End a drill early: its fault is removed immediately."""
    with open_console(context) as console:
        uid = resources.find(console, DRILL, action_uid)["action_uid"]
        console.send("DELETE", f"/v1/actions/{uid}")


drill = group_of(DRILL)
drill.add_command(create)
drill.add_command(delete)
