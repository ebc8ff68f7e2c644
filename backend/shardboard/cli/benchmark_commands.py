"""`shardboard bench`. Without `shardboard login`, it uses the console of this machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import httpx

from shardboard.cli.client.options import console_options, open_api
from shardboard.errors import CommandError

RUN_FAILED = 2


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
@console_options
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
@console_options
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
