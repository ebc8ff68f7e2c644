"""Commands without an object: `shardboard wait`, `logs`, and `api`."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from shardboard.cli.client import resources
from shardboard.cli.client.connection import WaitTimedOut
from shardboard.cli.client.fields import parse_fields, read_document
from shardboard.cli.client.options import context_option, open_console, timeout_option, wait_for
from shardboard.cli.client.resources import DATABASE
from shardboard.errors import CommandError

MAX_LINES = 10_000
_OVERLAP = timedelta(seconds=10)
"""Events are written up to some seconds after their time, so the last seconds are read again."""


@click.group("wait")
def wait_group() -> None:
    """Wait for a condition. The exit status is 7 if it is not met in time."""


@wait_group.command("action")
@click.argument("action_uid")
@timeout_option
@context_option
def wait_action(action_uid: str, timeout: float, context: str | None) -> None:
    """Wait until an action is completed. The exit status is 1 if it fails or is cancelled."""
    with open_console(context) as console:
        wait_for(console, action_uid, timeout)


@wait_group.command("db")
@click.argument("name")
@click.option("--for", "status", default="active", metavar="STATUS", show_default=True, help="Status to wait for.")
@timeout_option
@context_option
def wait_database(name: str, status: str, timeout: float, context: str | None) -> None:
    """Wait until a database has a status."""
    deadline = time.monotonic() + timeout
    with open_console(context) as console:
        while (actual := resources.find(console, DATABASE, name)["status"]) != status:
            if time.monotonic() > deadline:
                raise WaitTimedOut(f"the database {name} is {actual} after {timeout:g} s, not {status}")
            time.sleep(0.5)


@click.command("logs")
@click.option("-f", "--follow", is_flag=True, help="Print new events until Ctrl-C.")
@click.option(
    "-n", "--lines", type=click.IntRange(0, MAX_LINES), default=50, show_default=True, help="Events to print first."
)
@click.option("--severity", metavar="LIST", help="Only these severities, such as WARNING,ERROR,CRITICAL.")
@click.option("--db", "database", metavar="NAME", help="Only events of this database.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="json: one object for each line."
)
@context_option
def logs(
    follow: bool,
    lines: int,
    severity: str | None,
    database: str | None,
    output: str,
    context: str | None,
) -> None:
    """Print the events of the cluster, oldest first."""
    with open_console(context) as console:
        bdb_uid = resources.find(console, DATABASE, database)["uid"] if database else None
        filters = {"severity": severity, "bdb_uid": bdb_uid}
        found = console.get("/v1/logs", order="desc", limit=lines, **filters)[::-1] if lines else []
        _print_events(found, output)
        printed = {event["uid"] for event in found}
        while follow:
            time.sleep(1)
            since = (datetime.now(UTC) - _OVERLAP).isoformat(timespec="seconds")
            recent = console.get("/v1/logs", stime=since, **filters)
            _print_events([event for event in recent if event["uid"] not in printed], output)
            printed = {event["uid"] for event in recent} | {event["uid"] for event in found}


def _print_events(found: list[dict[str, Any]], output: str) -> None:
    for event in found:
        if output == "json":
            click.echo(json.dumps(event, ensure_ascii=False))
        else:
            click.echo(f"{event['time']}  {event['severity']:<8}  {event['description']}")


@click.command("api")
@click.argument("method", type=click.Choice(["GET", "POST", "PUT", "DELETE"], case_sensitive=False))
@click.argument("path")
@click.option("-f", "--file", metavar="FILE", help="YAML or JSON file with the body; - for stdin.")
@click.option("--set", "values", multiple=True, metavar="FIELD=VALUE", help="Field of the body.")
@click.option("--set-string", "texts", multiple=True, metavar="FIELD=TEXT", help="Field of the body, as text.")
@context_option
def api(
    method: str, path: str, file: str | None, values: tuple[str, ...], texts: tuple[str, ...], context: str | None
) -> None:
    """Send a request to the REST API and print its response, for example `shardboard api GET /v1/cluster`."""
    if not path.startswith("/"):
        raise CommandError(f"{path} is not a path such as /v1/bdbs")
    fields = parse_fields(values, texts)
    body = read_document(file) if file else None
    if fields:
        body = {**(body or {}), **fields}
    with open_console(context) as console:
        click.echo(json.dumps(console.send(method.upper(), path, body), indent=2, ensure_ascii=False))
