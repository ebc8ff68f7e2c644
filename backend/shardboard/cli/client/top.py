"""`shardboard top`: a live view of databases and nodes in the terminal."""

import sys
import time
from collections.abc import Mapping
from typing import Any

import click

from shardboard.cli.client import resources
from shardboard.cli.client.connection import Connection, ConsoleUnreachable
from shardboard.cli.client.options import context_option, open_console
from shardboard.cli.client.output import table
from shardboard.cli.client.resources import DATABASE, NODE
from shardboard.domain.text import number_text, size_text

_DATABASE_HEAD = ["DATABASE", "STATUS", "OPS/S", "AVERAGE (MS)", "P99 (MS)", "MEMORY", "CONNECTIONS"]
_NODE_HEAD = ["NODE", "STATUS", "CPU", "FREE MEMORY", "SHARDS"]


@click.command("top")
@click.option("--once", is_flag=True, help="Print the figures once and exit, as if the output is not a terminal.")
@context_option
def top(once: bool, context: str | None) -> None:
    """Show throughput, latency, and load of all databases and nodes, every second until Ctrl-C."""
    with open_console(context) as console:
        if once or not sys.stdout.isatty():
            click.echo(_screen(console))
            return
        from rich.live import Live
        from rich.text import Text

        with Live(Text(_screen(console)), screen=True, auto_refresh=False) as live:
            while True:
                time.sleep(1)
                try:
                    live.update(Text(_screen(console)), refresh=True)
                except ConsoleUnreachable as error:
                    live.update(Text(f"{error}\n\nTrying again every second."), refresh=True)


def _screen(console: Connection) -> str:
    databases = resources.list_all(console, DATABASE)
    nodes = resources.list_all(console, NODE)
    of_databases: dict[str, Any] = console.get("/v1/bdbs/stats/last")
    of_nodes: dict[str, Any] = console.get("/v1/nodes/stats/last")
    rows = [_database_row(bdb, of_databases.get(str(bdb["uid"]), {})) for bdb in databases]
    node_rows = [_node_row(node, of_nodes.get(str(node["uid"]), {})) for node in nodes]
    return "\n\n".join((table(_DATABASE_HEAD, rows), table(_NODE_HEAD, node_rows)))


def _database_row(bdb: Mapping[str, Any], stats: Mapping[str, Any]) -> list[str]:
    return [
        str(bdb["name"]),
        str(bdb["status"]),
        number_text(stats.get("total_req")),
        number_text(stats.get("avg_latency")),
        number_text(stats.get("p99_latency")),
        _size(stats.get("used_memory")),
        number_text(stats.get("conns")),
    ]


def _node_row(node: Mapping[str, Any], stats: Mapping[str, Any]) -> list[str]:
    idle = stats.get("cpu_idle")
    return [
        str(node["addr"]),
        str(node["status"]),
        "–" if idle is None else f"{100 * (1 - idle):.0f}%",
        _size(stats.get("free_memory")),
        str(node["shard_count"]),
    ]


def _size(value: float | None) -> str:
    return "–" if value is None else size_text(value)
