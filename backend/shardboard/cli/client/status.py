"""`shardboard status`: the nodes, databases, shards, and endpoints of a console."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from shardboard.cli.client import resources
from shardboard.cli.client.connection import Connection
from shardboard.cli.client.options import console_options, open_api
from shardboard.cli.client.output import Column, table
from shardboard.cli.client.resources import DATABASE, NODE, SHARD
from shardboard.domain.text import plural

_ENDPOINT_COLUMNS = (
    Column("DATABASE", "database"),
    Column("ENDPOINT", "uid"),
    Column("NODE", "node"),
    Column("POLICY", "policy"),
    Column("PORT", "port"),
    Column("TLS", "tls"),
    Column("STATUS", "status"),
)


@click.command("status")
@click.argument("part", required=False, type=click.Choice(["nodes", "databases", "shards", "endpoints"]))
@console_options
def status(part: str | None, context: str | None, url: str | None, ca: Path | None) -> None:
    """List the nodes and databases of a console, or only its nodes, databases, shards, or endpoints."""
    with open_api(context, url, ca) as client:
        console = Connection(client)
        tables = [_TABLES[each](console) for each in ([part] if part else ["nodes", "databases"])]
        if part is None:
            name = console.get("/v1/cluster")["name"]
            nodes, databases = (len(rows) for _, rows in tables)
            click.echo(f"{name}: {plural(nodes, 'node')}, {plural(databases, 'database')}\n")
    click.echo("\n\n".join(_text(columns, rows) for columns, rows in tables))


Table = tuple[Sequence[Column], Sequence[Mapping[str, Any]]]


def _text(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> str:
    return table([column.title for column in columns], [[column.cell(item) for column in columns] for item in rows])


def _objects(resource: resources.Resource) -> Callable[[Connection], Table]:
    return lambda console: (resource.columns, resources.list_all(console, resource))


def _endpoints(console: Connection) -> Table:
    """Return the proxies that serve each database."""
    rows = []
    for bdb in resources.list_all(console, DATABASE):
        endpoint = console.get(f"/v1/bdbs/{bdb['uid']}/endpoint")
        rows += [
            {
                "database": bdb["name"],
                "uid": endpoint["uid"],
                "node": proxy["address"],
                "policy": endpoint["proxy_policy"],
                "port": endpoint["port"],
                "tls": "yes" if endpoint["tls"] else "no",
                "status": proxy["status"],
            }
            for proxy in endpoint["proxies"]
        ]
    return _ENDPOINT_COLUMNS, rows


_TABLES: Mapping[str, Callable[[Connection], Table]] = {
    "nodes": _objects(NODE),
    "databases": _objects(DATABASE),
    "shards": _objects(SHARD),
    "endpoints": _endpoints,
}
