"""`shardboard status` and `shardboard bench`. Without `shardboard login`, they use the console of this machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import httpx

from shardboard.cli.client import resources
from shardboard.cli.client.connection import Connection
from shardboard.cli.client.options import LOCAL_URL, context_option, open_api
from shardboard.cli.client.output import table
from shardboard.cli.client.resources import DATABASE, NODE
from shardboard.domain.text import plural
from shardboard.errors import CommandError

RUN_FAILED = 2


def _console_options(command: Any) -> Any:
    command = click.option(
        "--ca", type=Path, metavar="FILE", help="Certificate of the console CA, if the console is on another machine."
    )(command)
    command = click.option(
        "--url",
        metavar="URL",
        help="URL of the console, used with the credentials of SHARDBOARD_ADMIN_USER and SHARDBOARD_ADMIN_PASSWORD_FILE "
        f"(default: the console of `shardboard login`, otherwise {LOCAL_URL}).",
    )(command)
    return context_option(command)


@click.command("status")
@_console_options
def status(context: str | None, url: str | None, ca: Path | None) -> None:
    """List the nodes and databases of a console."""
    with open_api(context, url, ca) as client:
        console = Connection(client)
        cluster = console.get("/v1/cluster")
        nodes, databases = (resources.list_all(console, kind) for kind in (NODE, DATABASE))
    click.echo(f"{cluster['name']}: {plural(len(nodes), 'node')}, {plural(len(databases), 'database')}")
    for kind, items in ((NODE, nodes), (DATABASE, databases)):
        rows = [[column.cell(item) for column in kind.columns] for item in items]
        click.echo(f"\n{table([column.title for column in kind.columns], rows)}")


@click.group("bench")
def bench() -> None:
    """Run benchmarks of databases."""


@bench.command("run")
@click.argument("scenario")
@click.option("--target", required=True, multiple=True, metavar="NAME", help="Database; repeat to compare several.")
@click.option(
    "--scale",
    type=click.FloatRange(0, 10, min_open=True),
    default=1.0,
    metavar="FACTOR",
    show_default=True,
    help="Factor for the size of the scenario.",
)
@click.option("--watch", is_flag=True, help="Print progress every second.")
@click.option("--overwrite", is_flag=True, help="Run even if the database contains keys that no benchmark wrote.")
@_console_options
def run(
    scenario: str,
    target: tuple[str, ...],
    context: str | None,
    url: str | None,
    ca: Path | None,
    **options: Any,
) -> int:
    """Run a scenario, a YAML file or a built-in one, on databases.

    The exit status is 0 if its SLA is met, 1 if not, and 2 if the run failed.
    """
    from shardboard.cli import benchmark

    return _run((context, url, ca), lambda client: benchmark.run(client, scenario, target, **options))


@bench.command("scenario")
@click.argument("scenario")
@click.option(
    "--scale",
    type=float,
    metavar="FACTOR",
    help="Factor for the published size (default: the largest one that fits the cluster).",
)
@click.option("--keep", is_flag=True, help="Keep the databases after the run.")
@click.option("--watch", is_flag=True, help="Print each step.")
@_console_options
def run_scenario(scenario: str, context: str | None, url: str | None, ca: Path | None, **options: Any) -> int:
    """Execute a published benchmark with its own databases."""
    from shardboard.cli import scenario as scenario_run

    return _run((context, url, ca), lambda client: scenario_run.run(client, scenario, **options))


def _run(choice: tuple[str | None, str | None, Path | None], execute: Callable[[httpx.Client], int]) -> int:
    """Execute a benchmark. Return its exit status, 2 if it fails."""
    from shardboard.cli.benchmark import RunError

    try:
        with open_api(*choice) as client:
            return execute(client)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        click.echo(f"shardboard: the console is unreachable: {error}", err=True)
    except (RunError, CommandError) as error:
        click.echo(f"shardboard: {error}", err=True)
    return RUN_FAILED
