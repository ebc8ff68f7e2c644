"""Commands that run processes on this machine. They import what they need themselves, so that the others start quickly."""

import asyncio
import ctypes
import json
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from shardboard.cli.sizes import ByteSize
from shardboard.errors import CommandError
from shardboard.kit import gc_tuning
from shardboard.kit.addresses import normal_name
from shardboard.kit.environment import pop_secret

_M_ARENA_MAX = -8  # malloc.h


def _limit_arenas() -> None:
    """Limit glibc to two memory arenas. By default it reserves an arena per thread, which needs more memory (mallopt(3))."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


@click.command("console")
def console() -> int:
    """Run the console, which is configured by SHARDBOARD_* variables."""
    with gc_tuning.importing():
        from shardboard.app import run_console as run
        from shardboard.errors import ApiError
        from shardboard.settings import Settings

    _limit_arenas()
    try:
        return run(Settings())
    except (ApiError, ValueError, OSError) as error:
        raise CommandError(str(error)) from error


@click.command("agent")
@click.option("--join", metavar="URL", help="URL of the console, required on the first start.")
@click.option(
    "--token", help="Join token; use SHARDBOARD_JOIN_TOKEN or --token-file instead to keep it out of the process list."
)
@click.option("--token-file", type=Path, metavar="FILE", help="File with the join token.")
@click.option("--address", required=True, help="Address at which the console and clients reach this machine.")
@click.option("--port", type=click.IntRange(1024, 65535), default=9700, show_default=True, help="Port of the agent.")
@click.option(
    "--state-dir", type=Path, default=Path("var/agent"), metavar="DIR", show_default=True, help="State directory."
)
@click.option("--memory", type=ByteSize(), metavar="SIZE", help="Memory for shards, such as 8GiB (default: all).")
@click.option("--flash", type=Path, metavar="DIR", help="Directory on a flash disk, for databases on flash.")
@click.option("--flash-size", type=ByteSize(), metavar="SIZE", help="Flash for shards, such as 100GiB (default: all).")
@click.option(
    "--rack-id",
    default="",
    metavar="ZONE",
    help="Zone (rack) of the node when it joins; the console can change it afterwards.",
)
@click.option("--park", is_flag=True, help="Save and stop the shards with the agent, and start them with it.")
def agent(address: str, token: str | None, token_file: Path | None, **options: Any) -> int:
    """Run this machine's agent, which joins the cluster on the first start."""
    from shardboard.agent.app import run_agent as run
    from shardboard.agent.cluster.identity import EnrolError
    from shardboard.agent.databases.flash import FlashError
    from shardboard.agent.settings import AgentSettings

    if token is not None and token_file is not None:
        raise click.UsageError("--token and --token-file cannot be used together")
    settings = AgentSettings(
        address=normal_name(address),  # the console stores this spelling
        token=_join_token(token, token_file),
        token_file=token_file,
        **options,
    )
    _limit_arenas()
    try:
        return run(settings)
    except (EnrolError, FlashError) as error:
        raise CommandError(str(error)) from error


def _join_token(token: str | None, token_file: Path | None) -> str | None:
    if token_file is not None:
        try:
            return token_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"the token file {token_file} is not readable") from error
    return token or pop_secret("SHARDBOARD_JOIN_TOKEN")


@click.command("demo")
@click.option("--clean", is_flag=True, help="Delete the demo and its state.")
@click.option(
    "--consoles",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    help="Number of consoles; two of them use a private PostgreSQL server.",
)
def demo(*, clean: bool, consoles: int) -> int:
    """Run a console, three agents, a database and traffic on this machine."""
    from shardboard.local.demo import run

    return run(consoles=consoles, clean=clean)


@click.group("simulate")
def simulate() -> None:
    """Run simulations of large clusters on this machine."""


@simulate.command("scale")
@click.option("--nodes", type=click.IntRange(2, 2000), default=26, metavar="N", show_default=True, help="Nodes.")
@click.option(
    "--shards",
    type=click.IntRange(2, 20_000),
    default=512,
    metavar="N",
    show_default=True,
    help="Shards in total, half of them replicas.",
)
@click.option("--no-replicas", is_flag=True, help="Only primaries, as published; failovers are not measured.")
@click.option(
    "--seconds",
    type=click.IntRange(5, 3600),
    default=60,
    metavar="N",
    show_default=True,
    help="Seconds for which the collection of samples is measured.",
)
@click.option(
    "--ops",
    type=click.IntRange(0, 1_000_000),
    default=0,
    metavar="N",
    show_default=True,
    help="Simulated requests per second of each primary; 0: idle.",
)
@click.option("--postgres", is_flag=True, help="Use a private PostgreSQL server instead of SQLite.")
@click.option(
    "--limit",
    type=click.IntRange(30, 36_000),
    default=900,
    metavar="SECONDS",
    show_default=True,
    help="End the run after this time, with the figures measured until then.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def simulate_scale(*, no_replicas: bool, as_json: bool, **options: Any) -> int:
    """Measure a real console that manages simulated nodes. The exit status is 1 if the run ends early."""
    from shardboard.local.simulation.scale import ScaleOptions, run

    # The default action would skip the clean-up of this process; the lifeline is for SIGKILL.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    scale = ScaleOptions(replicas=not no_replicas, **options)
    try:
        scale.database_shards()
    except ValueError as error:
        raise CommandError(f"--shards: {error}") from error
    figures = run(scale, lambda text: click.echo(text, err=True))
    click.echo(json.dumps(figures.as_json(), indent=2) if as_json else figures.text())
    return 1 if figures.failure else 0


@click.command("openapi")
@click.argument("file", type=Path, required=False)
def openapi(file: Path | None) -> None:
    """Print the OpenAPI document of the REST API, or write it to FILE."""
    text = json.dumps(asyncio.run(_openapi()), indent=2, sort_keys=True) + "\n"
    if file is None:
        sys.stdout.write(text)
    else:
        file.write_text(text)


async def _openapi() -> dict[str, Any]:
    """Return the OpenAPI description, from a temporary console that leaves no files."""
    from shardboard.app import create_app, open_console
    from shardboard.settings import Settings

    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(
            state_dir=Path(directory),
            database_url=None,
            admin_password=None,
            store_key=None,
            store_key_file=None,
            store_key_command=None,
            tls_cert=None,
            tls_key=None,
        )
        async with open_console(settings) as (console, _):
            return create_app(console).openapi()
