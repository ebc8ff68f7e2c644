"""Commands of databases beyond those of all objects: `shardboard db cli` and `db address`."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from shardboard.cli.client import resources
from shardboard.cli.client.object_commands import group_of
from shardboard.cli.client.options import context_option, open_console
from shardboard.cli.client.resources import DATABASE
from shardboard.cli.secret_files import read_secret
from shardboard.errors import CommandError

_CLIENTS = ("valkey-cli", "redis-cli")


@click.command("cli", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--user", metavar="NAME", help="User of the console with access to data (default: the default user).")
@click.option("--password-file", type=Path, metavar="FILE", help="File with the password of --user.")
@context_option
def cli(
    name: str, arguments: tuple[str, ...], user: str | None, password_file: Path | None, context: str | None
) -> None:
    """Open valkey-cli on a database, with its address, TLS certificates, and password. ARGUMENTS are those of valkey-cli."""
    program = next(filter(None, map(shutil.which, _CLIENTS)), None)
    if program is None:
        raise CommandError("install valkey-cli (package valkey-tools) or redis-cli first")
    with open_console(context) as console:
        bdb = resources.find(console, DATABASE, name)
        host, port = address_of(bdb)
        command = [program, "-h", host, "-p", str(port), *(["-c"] if bdb.get("oss_cluster") else [])]
        if console.get(f"/v1/bdbs/{bdb['uid']}/endpoint")["tls"]:
            command += ["--tls", "--cacert", _inherited_file(console.text("/v1/ca/bundle"))]
    password = (
        read_secret(password_file, "password").strip("\r\n") if password_file else bdb.get("authentication_redis_pass")
    )
    environment = dict(os.environ)
    if password:
        environment |= {"REDISCLI_AUTH": password, "VALKEYCLI_AUTH": password}
    command += ["--user", user] if user else []
    os.execve(program, [*command, *arguments], environment)  # noqa: S606 - a program of the user, without a shell


def _inherited_file(text: str) -> str:
    """Return the path of a file with a text for the program that replaces this process.

    The file has no name in a directory: it disappears with the program, even if a signal ends it.
    """
    with tempfile.TemporaryFile("w") as file:
        file.write(text)
        file.flush()
        descriptor = os.dup(file.fileno())
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.set_inheritable(descriptor, True)
    return f"/dev/fd/{descriptor}"


@click.command("address")
@click.argument("name")
@context_option
def address(name: str, context: str | None) -> None:
    """Print the address of a database as HOST:PORT."""
    with open_console(context) as console:
        host, port = address_of(resources.find(console, DATABASE, name))
    click.echo(f"{host}:{port}")


def address_of(bdb: Mapping[str, Any]) -> tuple[str, int]:
    """Return the host and the port of a database's endpoint. Raises CommandError."""
    for endpoint in bdb.get("endpoints", []):
        for host in [*endpoint.get("addr", []), endpoint.get("dns_name")]:
            if host:
                return str(host), int(endpoint["port"])
    raise CommandError(f"the database {bdb['name']} has no address yet; wait until it is active")


db = group_of(DATABASE)
db.add_command(cli)
db.add_command(address)
