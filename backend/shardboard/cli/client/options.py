"""Options that many commands share, and the console that they choose."""

import os
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
import httpx

from shardboard.cli.client import contexts
from shardboard.cli.client.connection import BearerToken, Connection, open_client, require_protection
from shardboard.cli.client.output import JSONPATH, Column, Object, render
from shardboard.cli.secret_files import read_secret
from shardboard.domain.cluster.actions import StepStatus
from shardboard.errors import CommandError

Command = TypeVar("Command", bound=Callable[..., Any])
LOCAL_URL = "https://localhost:9443"
FORMATS = ("table", "json", "yaml", "name")


class OutputFormat(click.ParamType[str]):
    name = "format"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in FORMATS and not value.startswith(JSONPATH):
            self.fail(f"{value} is not one of {', '.join(FORMATS)}, or jsonpath=EXPRESSION", param, ctx)
        return value


context_option = click.option(
    "--context", metavar="NAME", help="Context of `shardboard login` to use (default: the current one)."
)
output_option = click.option(
    "-o",
    "--output",
    type=OutputFormat(),
    default="table",
    metavar="FORMAT",
    help="table, json, yaml, name, or jsonpath=EXPRESSION (default: table).",
)
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
_no_wait = click.option("--no-wait", is_flag=True, help="Do not wait until the action has ended; print its uid.")
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(0, 86_400),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Longest wait for each action. Actions continue afterwards, and the exit status is 7.",
)


def wait_options(command: Command) -> Command:
    return _no_wait(timeout_option(command))


def console_options(command: Command) -> Command:
    """Add the options that choose a console, which can be that of this machine."""
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


def print_objects(
    found: Object | list[dict[str, Any]], columns: tuple[Column, ...] | Any, name: str, output: str
) -> None:
    if text := render(found, columns, name, output):
        click.echo(text)


def confirm(question: str, *, is_confirmed: bool) -> None:
    """Ask a question that must be answered with yes. Raises CommandError if the input is not a terminal."""
    if is_confirmed:
        return
    if not sys.stdin.isatty():
        raise CommandError("this command needs a confirmation; add --yes")
    if not click.confirm(question, err=True):
        raise CommandError("nothing was changed")


@contextmanager
def open_console(context: str | None) -> Iterator[Connection]:
    """Yield the console that a command uses. Raises CommandError."""
    with open_api(context) as client:
        yield Connection(client)


@contextmanager
def open_api(context: str | None = None, url: str | None = None, ca: Path | None = None) -> Iterator[httpx.Client]:
    """Yield a client of the REST API. Raises CommandError.

    The console is that of the context, of SHARDBOARD_URL, or of the current context. With `url`, or if there is none of them, it is
    the console of this machine, with the credentials of its settings.
    """
    address, certificates, auth = _chosen(context, url, ca)
    with open_client(address, certificates, auth) as client:
        yield client


def _chosen(name: str | None, url: str | None, ca: Path | None) -> tuple[str, str | None, httpx.Auth | tuple[str, str]]:
    if name is None and url is None and (environment_url := os.environ.get("SHARDBOARD_URL")):
        require_protection(environment_url)
        environment_ca = os.environ.get("SHARDBOARD_CA_FILE")
        trusted = read_ca(Path(environment_ca)) if environment_ca else None
        return environment_url, trusted, BearerToken(_environment_token())
    context = contexts.load().get(name) if url is None else None
    if context is None:
        return _local_console(url, ca)
    if context.is_expired:
        raise CommandError(
            f"the token for {context.url} has expired; sign in again with `shardboard login {context.url}`"
        )
    return context.url, context.ca, BearerToken(context.token)


def _local_console(url: str | None, ca: Path | None) -> tuple[str, str | None, tuple[str, str]]:
    from shardboard.settings import Settings

    settings = Settings()
    try:
        password = settings.configured_password
    except OSError as error:
        raise CommandError(f"the password file is not readable: {error}") from error
    if password is None:
        raise CommandError(
            "sign in with `shardboard login URL`, or set SHARDBOARD_URL and SHARDBOARD_TOKEN; "
            "on the console's machine, set SHARDBOARD_ADMIN_USER and SHARDBOARD_ADMIN_PASSWORD_FILE (or …_PASSWORD)"
        )
    own_ca = settings.state_dir / "tls" / "ca.pem"
    trusted = ca or (own_ca if own_ca.exists() else None)
    return url or LOCAL_URL, read_ca(trusted) if trusted else None, (settings.admin_user, password)


def _environment_token() -> str:
    if token := os.environ.get("SHARDBOARD_TOKEN"):
        return token
    if file := os.environ.get("SHARDBOARD_TOKEN_FILE"):
        return read_secret(Path(file), "token").strip()
    raise CommandError("SHARDBOARD_URL is set; set SHARDBOARD_TOKEN or SHARDBOARD_TOKEN_FILE as well")


def read_ca(file: Path) -> str:
    """Return the certificates (PEM) in a file. Raises CommandError."""
    try:
        text = file.read_text()
        ssl.create_default_context(cadata=text)
    except (OSError, UnicodeDecodeError, ssl.SSLError) as error:
        raise CommandError(f"{file} is not a readable certificate (PEM)") from error
    return text


def wait_for(console: Connection, action_uid: str, seconds: float) -> None:
    """Wait for an action and show its progress on the standard error stream. Raises CommandError."""
    if not sys.stderr.isatty():
        console.wait(action_uid, seconds=seconds, show=_LineProgress())
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Waiting", total=100)

        def show(action: Mapping[str, Any]) -> None:
            progress.update(task, completed=action["progress"], description=_description(action))

        console.wait(action_uid, seconds=seconds, show=show)


class _LineProgress:
    """Prints a line for each new description of an action, for logs."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, action: Mapping[str, Any]) -> None:
        if (line := _description(action)) != self._last:
            self._last = line
            click.echo(line, err=True)


def _description(action: Mapping[str, Any]) -> str:
    information = action["additional_info"]
    running = [step["name"] for step in information["steps"] if step["status"] == StepStatus.RUNNING]
    return f"{information['description']}: {running[0]}" if running else str(information["description"])
