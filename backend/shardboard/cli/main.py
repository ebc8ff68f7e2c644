"""Command line interface: `shardboard console | agent | demo | …`. It parses arguments and calls other modules.

Passwords are never arguments, because other users of a machine can read the arguments of all processes.
"""

import argparse
import asyncio
import ctypes
import json
import os
import ssl
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from shardboard import __version__
from shardboard.cli.arguments import byte_size, port
from shardboard.errors import CommandError
from shardboard.kit import gc_tuning
from shardboard.kit.addresses import normal_name
from shardboard.kit.environment import pop_secret

_M_ARENA_MAX = -8  # malloc.h
DEFAULT_URL = "https://localhost:9443"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the console script. Return the exit status."""
    arguments = build_parser().parse_args(argv)
    # Files that this process and the shards it starts create are only for the current user.
    os.umask(0o077)
    try:
        status: int = arguments.run(arguments)
    except CommandError as error:
        print(f"shardboard: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shardboard", description="Management of sharded, replicated databases on Valkey Cluster."
    )
    parser.add_argument("--version", action="version", version=f"shardboard {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    console = commands.add_parser("console", help="run the console, which is configured by SHARDBOARD_* variables")
    console.set_defaults(run=run_console)

    agent = commands.add_parser("agent", help="run this machine's agent, which joins the cluster on the first start")
    agent.add_argument("--join", metavar="URL", help="URL of the console, required on the first start")
    token = agent.add_mutually_exclusive_group()
    token.add_argument(
        "--token", help="join token; use SHARDBOARD_JOIN_TOKEN instead to keep it out of the process list"
    )
    token.add_argument("--token-file", type=Path, metavar="FILE", help="file with the join token")
    agent.add_argument("--address", required=True, help="address at which the console and clients reach this machine")
    agent.add_argument("--port", type=port, default=9700, help="port of the agent (default %(default)s)")
    agent.add_argument(
        "--state-dir", type=Path, default=Path("var/agent"), metavar="DIR", help="state directory (default %(default)s)"
    )
    agent.add_argument(
        "--memory", type=byte_size, metavar="SIZE", help="memory for shards, such as 8GiB (default: all)"
    )
    agent.add_argument("--flash", type=Path, metavar="DIR", help="directory on a flash disk, for databases on flash")
    agent.add_argument(
        "--flash-size", type=byte_size, metavar="SIZE", help="flash for shards, such as 100GiB (default: all)"
    )
    agent.add_argument(
        "--rack-id",
        default="",
        metavar="ZONE",
        help="zone (rack) of the node when it joins; the console can change it afterwards",
    )
    agent.add_argument(
        "--park", action="store_true", help="save and stop the shards with the agent, and start them with it"
    )
    agent.set_defaults(run=run_agent)

    demo = commands.add_parser("demo", help="run a console, three agents, a database and traffic on this machine")
    demo.add_argument("--clean", action="store_true", help="delete the demo and its state")
    demo.set_defaults(run=run_demo)

    tokens = commands.add_parser("token", help="create join tokens (on the console's machine)")
    tokens.add_argument(
        "--count", type=int, choices=range(1, 1001), default=1, metavar="N", help="number of tokens (default 1)"
    )
    tokens.add_argument(
        "--address", metavar="ADDRESS", help="address of the node that may join with the token (default: any)"
    )
    tokens.add_argument(
        "--ttl", type=int, choices=range(60, 3601), default=600, metavar="SECONDS", help="lifetime (default 600)"
    )
    tokens.add_argument(
        "--out-dir", type=Path, metavar="DIR", help="write each token to a file token-<n> instead of printing it"
    )
    tokens.set_defaults(run=run_token)

    reset = commands.add_parser("reset-admin-password", help="set and print a new password (on the console's machine)")
    reset.add_argument(
        "--user", metavar="NAME", help="user, who becomes an administrator (default: SHARDBOARD_ADMIN_USER)"
    )
    reset.set_defaults(run=run_reset)

    unlock = commands.add_parser(
        "unlock", help="end the sign-in delay of a user after failed sign-ins (on the console's machine)"
    )
    unlock.add_argument("user", metavar="NAME")
    unlock.set_defaults(run=run_unlock)

    rotate = commands.add_parser(
        "rotate-store-key", help="encrypt the store's secrets with a new key (on the console's machine)"
    )
    rotate.set_defaults(run=run_in_store, function="rotate_key")

    new_ca = commands.add_parser(
        "new-ca", help="replace a console CA that was lost or has expired; every agent must then join again"
    )
    new_ca.add_argument("--yes", action="store_true", required=True, help="confirm that agents are disconnected")
    new_ca.set_defaults(run=run_in_store, function="new_ca")

    migration = commands.add_parser(
        "migrate-store", help="copy the SQLite store to PostgreSQL (on the console's machine, while it is stopped)"
    )
    migration.add_argument(
        "--to", required=True, metavar="URL", help="empty database: postgresql://USER@HOST/DATABASE, without a password"
    )
    migration.add_argument(
        "--password-file", type=Path, metavar="FILE", help="file with the password of the database user"
    )
    migration.set_defaults(run=run_migrate_store)

    check = commands.add_parser(
        "check-audit", help="verify the audit log (on the console's machine); exit status 1 if it is not intact"
    )
    check.set_defaults(run=run_in_store, function="check_audit")

    status = commands.add_parser("status", help="list nodes and databases of a console")
    _add_connection_options(status)
    status.set_defaults(run=run_status)

    bench_parser = commands.add_parser("bench", help="run benchmarks of databases")
    runs = bench_parser.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "run", help="run a scenario; exit status 0 if its SLA is met, 1 if not, 2 if the run failed"
    )
    runs.add_argument("scenario", metavar="SCENARIO", help="YAML file or name of a library scenario")
    runs.add_argument(
        "--target", required=True, action="append", metavar="NAME", help="database; repeat to compare several"
    )
    runs.add_argument(
        "--scale", type=float, default=1.0, metavar="FACTOR", help="factor for the size of the scenario (default 1)"
    )
    runs.add_argument("--watch", action="store_true", help="print progress every second")
    runs.add_argument(
        "--overwrite", action="store_true", help="run even if the database contains keys that no benchmark wrote"
    )
    _add_connection_options(runs)
    runs.set_defaults(run=run_bench)

    openapi = commands.add_parser("openapi", help="write the description of the REST API")
    openapi.add_argument("file", type=Path, nargs="?", metavar="FILE", help="output file (default: standard output)")
    openapi.set_defaults(run=run_openapi)
    return parser


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

    return run(clean=arguments.clean)


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
    import httpx

    from shardboard.cli.benchmark import RunError, run

    if not 0 < arguments.scale <= 10:
        raise CommandError("--scale must be greater than 0 and at most 10")
    try:
        with _console(arguments) as console:
            return run(
                console,
                arguments.scenario,
                arguments.target,
                scale=arguments.scale,
                watch=arguments.watch,
                overwrite=arguments.overwrite,
            )
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        print(f"shardboard: the console at {arguments.url} is unreachable: {error}", file=sys.stderr)
    except RunError as error:
        print(f"shardboard: {error}", file=sys.stderr)
    return 2


def _add_connection_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--url", default=DEFAULT_URL, help="URL of the console (default %(default)s)")
    command.add_argument(
        "--ca",
        type=Path,
        metavar="FILE",
        help="the certificate of the console CA, required if the console is on another machine",
    )


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


if __name__ == "__main__":
    sys.exit(main())
