"""Command line interface: `shardboard console | agent | demo | …`. It parses arguments and calls other modules.

Passwords are never arguments, because other users of a machine can read the arguments of all processes.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from shardboard import __version__
from shardboard.cli import commands
from shardboard.cli.arguments import byte_size, integer, port
from shardboard.errors import CommandError

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
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")

    console = subparsers.add_parser("console", help="run the console, which is configured by SHARDBOARD_* variables")
    console.set_defaults(run=commands.run_console)

    agent = subparsers.add_parser("agent", help="run this machine's agent, which joins the cluster on the first start")
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
    agent.set_defaults(run=commands.run_agent)

    demo = subparsers.add_parser("demo", help="run a console, three agents, a database and traffic on this machine")
    demo.add_argument("--clean", action="store_true", help="delete the demo and its state")
    demo.add_argument(
        "--consoles",
        type=int,
        choices=(1, 2),
        default=1,
        help="number of consoles (default 1); two of them use a private PostgreSQL server",
    )
    demo.set_defaults(run=commands.run_demo)

    tokens = subparsers.add_parser("token", help="create join tokens (on the console's machine)")
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
    tokens.set_defaults(run=commands.run_token)

    reset = subparsers.add_parser(
        "reset-admin-password", help="set and print a new password (on the console's machine)"
    )
    reset.add_argument(
        "--user", metavar="NAME", help="username; the user becomes an administrator (default: SHARDBOARD_ADMIN_USER)"
    )
    reset.set_defaults(run=commands.run_reset)

    unlock = subparsers.add_parser(
        "unlock", help="end the sign-in delay of a user after failed sign-ins (on the console's machine)"
    )
    unlock.add_argument("user", metavar="NAME")
    unlock.set_defaults(run=commands.run_unlock)

    rotate = subparsers.add_parser(
        "rotate-store-key", help="encrypt the store's secrets with a new key (on the console's machine)"
    )
    rotate.set_defaults(run=commands.run_in_store, function="rotate_key")

    new_ca = subparsers.add_parser(
        "new-ca", help="replace a console CA that was lost or has expired; every agent must then rejoin"
    )
    new_ca.add_argument("--yes", action="store_true", required=True, help="confirm that agents are disconnected")
    new_ca.set_defaults(run=commands.run_in_store, function="new_ca")

    migration = subparsers.add_parser(
        "migrate-store", help="copy the SQLite store to PostgreSQL (on the console's machine, while it is stopped)"
    )
    migration.add_argument(
        "--to", required=True, metavar="URL", help="empty database: postgresql://USER@HOST/DATABASE, without a password"
    )
    migration.add_argument(
        "--password-file", type=Path, metavar="FILE", help="file with the password of the database user"
    )
    migration.set_defaults(run=commands.run_migrate_store)

    backup = subparsers.add_parser(
        "backup-console", help="write an encrypted backup of the console to a file (on the console's machine)"
    )
    backup.add_argument("file", type=Path, metavar="FILE", help="new file")
    encryption = backup.add_mutually_exclusive_group()
    encryption.add_argument(
        "--passphrase-file",
        type=Path,
        metavar="FILE",
        help="file with a passphrase; the backup then contains the store key (default: encrypt with the store key)",
    )
    encryption.add_argument(
        "--recipient",
        action="append",
        default=[],
        metavar="KEY",
        help="age public key; repeat for several; the backup then contains the store key",
    )
    backup.set_defaults(run=commands.run_backup_console)

    restore = subparsers.add_parser(
        "restore-console", help="restore a backup of the console (on the console's machine, while it is stopped)"
    )
    restore.add_argument(
        "file", type=Path, metavar="FILE", help="backup; with --location-file, its path in the location"
    )
    restore.add_argument(
        "--location-file",
        type=Path,
        metavar="FILE",
        help="JSON file with the settings of a storage location, as in the REST API",
    )
    restore.add_argument("--passphrase-file", type=Path, metavar="FILE", help="file with the passphrase of the backup")
    restore.add_argument("--identity-file", type=Path, metavar="FILE", help="file with an age private key")
    restore.add_argument("--check", action="store_true", help="only check the backup; the console can run")
    restore.add_argument("--replace", action="store_true", help="keep the current SQLite store under another name")
    restore.set_defaults(run=commands.run_restore_console)

    _add_recovery(subparsers.add_parser("recover-console", help="rebuild a lost store from what the agents know"))

    check = subparsers.add_parser(
        "check-audit", help="verify the audit log (on the console's machine); exit status 1 if it is not intact"
    )
    check.set_defaults(run=commands.run_in_store, function="check_audit")

    status = subparsers.add_parser("status", help="list nodes and databases of a console")
    _add_connection_options(status)
    status.set_defaults(run=commands.run_status)

    bench_parser = subparsers.add_parser("bench", help="run benchmarks of databases")
    bench_commands = bench_parser.add_subparsers(required=True, metavar="COMMAND")
    runs = bench_commands.add_parser(
        "run", help="run a scenario; exit status 0 if its SLA is met, 1 if not, 2 if the run failed"
    )
    runs.add_argument("scenario", metavar="SCENARIO", help="YAML file or name of a built-in scenario")
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
    runs.set_defaults(run=commands.run_bench)
    _add_scenario(bench_commands.add_parser("scenario", help="execute a published benchmark with its own databases"))

    simulation = subparsers.add_parser("simulate", help="run simulations of large clusters on this machine")
    _add_scale(
        simulation.add_subparsers(required=True, metavar="COMMAND").add_parser(
            "scale", help="measure a real console that manages simulated nodes; exit status 1 if the run ends early"
        )
    )

    openapi = subparsers.add_parser("openapi", help="print the OpenAPI document of the REST API")
    openapi.add_argument("file", type=Path, nargs="?", metavar="FILE", help="output file (default: standard output)")
    openapi.set_defaults(run=commands.run_openapi)
    return parser


def _add_scenario(command: argparse.ArgumentParser) -> None:
    command.add_argument("scenario", metavar="SCENARIO", help="name of a built-in scenario")
    command.add_argument(
        "--scale",
        type=float,
        metavar="FACTOR",
        help="factor for the published size (default: the largest one that fits the cluster)",
    )
    command.add_argument("--keep", action="store_true", help="keep the databases after the run")
    command.add_argument("--watch", action="store_true", help="print each step")
    _add_connection_options(command)
    command.set_defaults(run=commands.run_scenario)


def _add_recovery(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--node",
        required=True,
        action="append",
        metavar="ADDRESS",
        help="address of a node, with :PORT unless its agent uses port 9700; one is enough, repeat for several",
    )
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--copy", type=Path, metavar="FILE", help="file recovery/cluster of an agent; needs the store key"
    )
    source.add_argument("--backup", type=Path, metavar="FILE", help="backup of the console, from which the CA is read")
    source.add_argument("--ca", type=Path, metavar="FILE", help="certificate of the console CA")
    command.add_argument("--ca-key", type=Path, metavar="FILE", help="private key of the console CA, with --ca")
    command.add_argument("--passphrase-file", type=Path, metavar="FILE", help="file with the passphrase of the backup")
    command.add_argument("--identity-file", type=Path, metavar="FILE", help="file with an age private key")
    command.add_argument("--check", action="store_true", help="show what would be rebuilt, and change nothing")
    command.add_argument("--partial", action="store_true", help="continue although copies or nodes are missing")
    command.set_defaults(run=commands.run_recover_console)


def _add_scale(command: argparse.ArgumentParser) -> None:
    command.add_argument("--nodes", type=integer(2, 2000), default=26, metavar="N", help="nodes (default %(default)s)")
    command.add_argument(
        "--shards",
        type=integer(2, 20_000),
        default=512,
        metavar="N",
        help="shards in total, half of them replicas (default %(default)s)",
    )
    command.add_argument(
        "--no-replicas", action="store_true", help="only primaries, as published; failovers are not measured"
    )
    command.add_argument(
        "--seconds",
        type=integer(5, 3600),
        default=60,
        metavar="N",
        help="seconds for which the collection of samples is measured (default %(default)s)",
    )
    command.add_argument(
        "--ops",
        type=integer(0, 1_000_000),
        default=0,
        metavar="N",
        help="simulated requests per second of each primary (default %(default)s: idle)",
    )
    command.add_argument("--postgres", action="store_true", help="use a private PostgreSQL server instead of SQLite")
    command.add_argument(
        "--limit",
        type=integer(30, 36_000),
        default=900,
        metavar="SECONDS",
        help="end the run after this time, with the figures measured until then (default %(default)s)",
    )
    command.add_argument("--json", action="store_true", help="print the figures as JSON")
    command.set_defaults(run=commands.run_simulate_scale)


def _add_connection_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--url", default=DEFAULT_URL, help="URL of the console (default %(default)s)")
    command.add_argument(
        "--ca",
        type=Path,
        metavar="FILE",
        help="the certificate of the console CA, required if the console is on another machine",
    )


if __name__ == "__main__":
    sys.exit(main())
