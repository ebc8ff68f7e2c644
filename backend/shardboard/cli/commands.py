"""Functions that run the commands. They import what a command needs, so that the others start quickly."""

import argparse
import asyncio
import ctypes
import json
import signal
import ssl
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from shardboard.errors import CommandError
from shardboard.kit import gc_tuning
from shardboard.kit.addresses import normal_name
from shardboard.kit.environment import pop_secret

_M_ARENA_MAX = -8  # malloc.h


def _limit_arenas() -> None:
    """Limit glibc to two memory arenas. By default it reserves an arena per thread, which needs more memory (mallopt(3))."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def run_console(_: argparse.Namespace) -> int:
    with gc_tuning.importing():
        from shardboard.app import run_console as run
        from shardboard.errors import ApiError
        from shardboard.settings import Settings

    _limit_arenas()
    try:
        return run(Settings())
    except (ApiError, ValueError, OSError) as error:
        raise CommandError(str(error)) from error


def run_agent(arguments: argparse.Namespace) -> int:
    from shardboard.agent.app import run_agent as run
    from shardboard.agent.cluster.identity import EnrolError
    from shardboard.agent.databases.flash import FlashError
    from shardboard.agent.settings import AgentSettings

    settings = AgentSettings(
        address=normal_name(arguments.address),  # the console stores this spelling
        join=arguments.join,
        token=_join_token(arguments),
        token_file=arguments.token_file,
        port=arguments.port,
        state_dir=arguments.state_dir,
        memory=arguments.memory,
        flash=arguments.flash,
        flash_size=arguments.flash_size,
        rack_id=arguments.rack_id,
        park=arguments.park,
    )
    _limit_arenas()
    try:
        return run(settings)
    except (EnrolError, FlashError) as error:
        raise CommandError(str(error)) from error


def run_demo(arguments: argparse.Namespace) -> int:
    from shardboard.local.demo import run

    return run(consoles=arguments.consoles, clean=arguments.clean)


def run_token(arguments: argparse.Namespace) -> int:
    from shardboard.cli.store import make_tokens

    if tokens := make_tokens(arguments.count, arguments.ttl, arguments.address, arguments.out_dir):
        print(tokens)
    return 0


def run_reset(arguments: argparse.Namespace) -> int:
    from shardboard.cli.store import reset_password

    print(reset_password(arguments.user))
    return 0


def run_unlock(arguments: argparse.Namespace) -> int:
    from shardboard.cli.store import unlock

    print(unlock(arguments.user))
    return 0


def run_in_store(arguments: argparse.Namespace) -> int:
    """Run a command of `cli/store.py` that has no arguments."""
    from shardboard.cli import store

    print(getattr(store, arguments.function)())
    return 0


def run_migrate_store(arguments: argparse.Namespace) -> int:
    from shardboard.cli.migrate_store import migrate_store

    print(migrate_store(arguments.to, arguments.password_file))
    return 0


def run_backup_console(arguments: argparse.Namespace) -> int:
    from shardboard.cli.console_backup import backup_console

    print(backup_console(arguments.file, arguments.passphrase_file, arguments.recipient))
    return 0


def run_restore_console(arguments: argparse.Namespace) -> int:
    from shardboard.cli.console_backup import restore_console

    print(
        restore_console(
            arguments.file,
            arguments.passphrase_file,
            arguments.identity_file,
            location_file=arguments.location_file,
            replace=arguments.replace,
            only_check=arguments.check,
        )
    )
    return 0


def run_recover_console(arguments: argparse.Namespace) -> int:
    from shardboard.cli.console_recovery import recover_console
    from shardboard.cli.recovery_ca import CaSource

    source = CaSource(
        arguments.ca,
        arguments.ca_key,
        arguments.backup,
        arguments.passphrase_file,
        arguments.identity_file,
        arguments.copy,
    )
    print(recover_console(arguments.node, source, is_partial=arguments.partial, only_check=arguments.check))
    return 0


def run_status(arguments: argparse.Namespace) -> int:
    import httpx

    from shardboard.domain.text import plural

    try:
        with _console(arguments) as console:
            replies = [console.get(path) for path in ("/v1/cluster", "/v1/nodes", "/v1/bdbs")]
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise CommandError(f"the console at {arguments.url} is unreachable: {error}") from error
    for reply in replies:
        if reply.status_code != 200:
            raise CommandError(f"the console rejected the request: {_description(reply.text)}")
    cluster, nodes, bdbs = (reply.json() for reply in replies)
    print(f"{cluster['name']}: {plural(len(nodes), 'node')}, {plural(len(bdbs), 'database')}")
    _print_table(
        ["NODE", "ADDRESS", "STATUS", "AGENT", "VALKEY", "SHARDS"],
        [
            [
                n["uid"],
                n["addr"],
                n["status"],
                n.get("agent_status", ""),
                n["engine_version"] or "none",
                n["shard_count"],
            ]
            for n in nodes
        ],
    )
    _print_table(
        ["DATABASE", "NAME", "STATUS", "SHARDS", "MEMORY"],
        [[b["uid"], b["name"], b["status"], b["shards_count"], b["memory_size"]] for b in bdbs],
    )
    return 0


def run_bench(arguments: argparse.Namespace) -> int:
    from shardboard.cli import benchmark

    if not 0 < arguments.scale <= 10:
        raise CommandError("--scale must be greater than 0 and at most 10")

    def run(console: Any) -> int:
        return benchmark.run(
            console,
            arguments.scenario,
            arguments.target,
            scale=arguments.scale,
            watch=arguments.watch,
            overwrite=arguments.overwrite,
        )

    return _run_on_console(arguments, run)


def run_scenario(arguments: argparse.Namespace) -> int:
    from shardboard.cli import scenario

    def run(console: Any) -> int:
        return scenario.run(
            console, arguments.scenario, scale=arguments.scale, keep=arguments.keep, watch=arguments.watch
        )

    return _run_on_console(arguments, run)


def _run_on_console(arguments: argparse.Namespace, run: Callable[[Any], int]) -> int:
    """Run a benchmark command with a client of the console. Return its exit status, 2 if it fails."""
    import httpx

    from shardboard.cli.benchmark import RunError

    try:
        with _console(arguments) as console:
            return run(console)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        print(f"shardboard: the console at {arguments.url} is unreachable: {error}", file=sys.stderr)
    except RunError as error:
        print(f"shardboard: {error}", file=sys.stderr)
    return 2


def run_simulate_scale(arguments: argparse.Namespace) -> int:
    from shardboard.local.simulation.scale import ScaleOptions, run

    # The default action would skip the clean-up of this process; the lifeline is for SIGKILL.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    options = ScaleOptions(
        nodes=arguments.nodes,
        shards=arguments.shards,
        seconds=arguments.seconds,
        ops=arguments.ops,
        replicas=not arguments.no_replicas,
        postgres=arguments.postgres,
        limit=arguments.limit,
    )
    try:
        figures = run(options, lambda text: print(text, file=sys.stderr, flush=True))
    except ValueError as error:
        raise CommandError(f"--shards: {error}") from error
    print(json.dumps(figures.as_json(), indent=2) if arguments.json else figures.text())
    return 1 if figures.failure else 0


def _console(arguments: argparse.Namespace) -> Any:
    """Return a client of the REST API with the credentials of the settings."""
    import httpx

    from shardboard.settings import Settings

    settings = Settings()
    try:
        password = settings.configured_password
    except OSError as error:
        raise CommandError(f"the password file is not readable: {error}") from error
    if password is None:
        raise CommandError("set SHARDBOARD_ADMIN_USER and SHARDBOARD_ADMIN_PASSWORD_FILE (or …_PASSWORD) to sign in")
    auth = (settings.admin_user, password)
    ca = arguments.ca or settings.state_dir / "tls" / "ca.pem"
    trust = ssl.create_default_context(cafile=str(ca) if arguments.ca or ca.exists() else None)
    trust.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    return httpx.Client(base_url=arguments.url, auth=auth, verify=trust, trust_env=False, timeout=10)


def run_openapi(arguments: argparse.Namespace) -> int:
    text = json.dumps(asyncio.run(_openapi()), indent=2, sort_keys=True) + "\n"
    if arguments.file is None:
        sys.stdout.write(text)
    else:
        arguments.file.write_text(text)
    return 0


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


def _join_token(arguments: argparse.Namespace) -> str | None:
    if arguments.token_file is not None:
        try:
            return str(arguments.token_file.read_text().strip())
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"the token file {arguments.token_file} is not readable") from error
    return arguments.token or pop_secret("SHARDBOARD_JOIN_TOKEN")


def _description(body: str) -> str:
    try:
        return str(json.loads(body)["description"])
    except (ValueError, KeyError, TypeError):
        return "its response is invalid"


def _print_table(head: list[str], rows: list[list[object]]) -> None:
    lines = [head, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    print()
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
