"""Sign-in that a user confirms in a browser on any machine, so that this machine needs neither a browser nor a password."""

import socket
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import click

from shardboard.cli.client.connection import (
    DENIED,
    NOT_FOUND,
    Connection,
    ConsoleUnreachable,
    RequestRejected,
    open_client,
)
from shardboard.cli.client.contexts import Context
from shardboard.errors import CommandError

MAX_DAYS = 90
"""The longest lifetime of a token that the console accepts."""
_PENDING, _APPROVED = "pending", "approved"


class SignInDenied(CommandError):
    exit_status = DENIED


def sign_in(url: str, ca: str | None, username: str | None, days: int) -> tuple[Context, str]:
    """Show a code, and wait until a user confirms it. Return the context, and the user and role for the message.

    With `username`, only this user can confirm it. Raises CommandError.
    """
    body = {"name": socket.gethostname()[:64], "username": username, "ttl": days * 86_400}
    with open_client(url, ca, None) as client:
        console = Connection(client)
        started = console.send("POST", "/v1/device_logins", body)
        minutes = started["expires_in"] // 60
        click.echo(f"Open {url}{started['page']} in a browser on any machine, and enter this code:", err=True)
        click.echo(f"\n    {started['user_code']}\n\nIt is valid for {minutes} min. Waiting …", err=True)
        state = _wait(console, started)
    if state["status"] != _APPROVED:
        raise SignInDenied("the sign-in was denied")
    context = Context(
        url=url,
        username=state["username"],
        token=state["token"],
        ca=ca,
        expires_at=datetime.fromisoformat(state["expires_at"]),
        service_token_uid=state["token_uid"],
    )
    return context, f"{url} as {state['username']} ({state['role']})"


def _wait(console: Connection, started: Mapping[str, Any]) -> Any:
    """Wait until the sign-in is confirmed or denied, and return its state. Raises CommandError."""
    deadline = time.monotonic() + started["expires_in"]
    while True:
        time.sleep(started["interval"])
        try:
            state = console.send("POST", "/v1/device_logins/token", {"device_code": started["device_code"]})
        except ConsoleUnreachable:  # another console can continue
            if time.monotonic() > deadline:
                raise
        except RequestRejected as error:
            if error.exit_status == NOT_FOUND:
                raise SignInDenied("the code was not confirmed in time; sign in again") from error
            raise
        else:
            if state["status"] != _PENDING:
                return state
