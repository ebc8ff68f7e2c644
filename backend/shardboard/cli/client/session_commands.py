"""`shardboard login`, `logout`, and `context`: which console the other commands use."""

import getpass
import hashlib
import socket
import ssl
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import httpx

from shardboard.cli.client import connection, contexts, device_sign_in
from shardboard.cli.client.connection import (
    DENIED,
    BearerToken,
    Connection,
    ConsoleUnreachable,
    RequestRejected,
    open_client,
    require_protection,
)
from shardboard.cli.client.contexts import Context
from shardboard.cli.client.options import open_console, read_ca
from shardboard.cli.client.output import table
from shardboard.cli.secret_files import read_secret
from shardboard.errors import CommandError

ACCESS_TOKEN_SECONDS = 86_400
"""The longest lifetime that the console accepts."""


@click.command("login")
@click.argument("url", metavar="URL")
@click.option("--user", metavar="NAME", help="Username (default: ask).")
@click.option("--password-file", type=Path, metavar="FILE", help="File with the password (default: ask).")
@click.option("--device", is_flag=True, help="Confirm the sign-in in a browser on any machine, instead of a password.")
@click.option("--token-file", type=Path, metavar="FILE", help="File with a service token, instead of a user.")
@click.option("--ca", type=Path, metavar="FILE", help="Certificate of the console CA (default: see --fingerprint).")
@click.option(
    "--fingerprint",
    metavar="SHA256",
    help="SHA-256 fingerprint of the console CA, which is then downloaded and trusted.",
)
@click.option("--name", metavar="NAME", help="Name of the context (default: host of the URL).")
@click.option(
    "--days",
    type=click.IntRange(1, 365),
    default=90,
    show_default=True,
    help="Lifetime of the token: with --device at most 90, and with a password one day if the user is not permitted to create "
    "service tokens.",
)
def login(
    url: str,
    user: str | None,
    password_file: Path | None,
    device: bool,
    token_file: Path | None,
    ca: Path | None,
    fingerprint: str | None,
    name: str | None,
    days: int,
) -> None:
    """Sign in to a console, and use it for all commands.

    With --device, all users get a service token with their role. With a password, users who are permitted to create service
    tokens get one, and others an access token for one day.
    """
    address = url.rstrip("/") if "://" in url else f"https://{url.rstrip('/')}"
    host = urlsplit(address).hostname
    if not host:
        raise CommandError(f"{url} is not a URL such as https://console.example.org:9443")
    require_protection(address)
    trusted = read_ca(ca) if ca else _trusted_ca(address, fingerprint)
    if token_file is not None:
        context = Context(
            url=address, username="service token", token=read_secret(token_file, "token").strip(), ca=trusted
        )
        with open_client(address, trusted, BearerToken(context.token)) as client:
            who = Connection(client).get("/v1/cluster")["name"]
    elif device:
        context, who = device_sign_in.sign_in(address, trusted, user, min(days, device_sign_in.MAX_DAYS))
    else:
        username = user or click.prompt("Username", err=True)
        password = read_secret(password_file, "password").strip("\r\n") if password_file else _ask_password(username)
        context, who = _sign_in(address, trusted, username, password, days)
    contexts.save(contexts.load().with_context(name or host, context))
    until = f" until {context.expires_at:%Y-%m-%d %H:%M} UTC" if context.expires_at else ""
    click.echo(f"Signed in to {who}{until}.")


def _ask_password(username: str) -> str:
    if not sys.stdin.isatty():
        raise CommandError("the password cannot be asked for; use --device or --password-file FILE")
    return getpass.getpass(f"Password of {username}: ")


def _trusted_ca(url: str, fingerprint: str | None) -> str | None:
    """Return the console CA if the operating system does not trust the console, after the user has confirmed it."""
    if url.startswith("http://"):
        return None
    if fingerprint is None:
        try:
            with open_client(url, None, None) as client:
                client.get("/v1/bootstrap")
            return None
        except httpx.ConnectError as error:
            if not isinstance(error.__context__, ssl.SSLCertVerificationError) and "CERTIFICATE" not in str(error):
                raise ConsoleUnreachable(f"the console at {url} is unreachable: {error}") from error
        except httpx.HTTPError as error:
            raise ConsoleUnreachable(f"the console at {url} is unreachable: {error}") from error
    certificate = _download_ca(url)
    actual = fingerprint_of(certificate)
    if fingerprint is None:
        if not sys.stdin.isatty():
            raise CommandError(f"the certificate of {url} is not trusted; use --ca FILE or --fingerprint SHA256")
        click.echo(f"The certificate of {url} is signed by a console CA with the fingerprint\n  {actual}", err=True)
        click.echo("Compare it with the one that the console shows in Settings > Certificates.", err=True)
        if not click.confirm("Trust it?", err=True):
            raise CommandError("nothing was changed")
    elif fingerprint.replace(":", "").lower() != actual:
        raise CommandError(f"the console CA of {url} has another fingerprint: {actual}")
    return certificate


def _download_ca(url: str) -> str:
    try:
        # The certificate is used only if its fingerprint is confirmed, and no credentials are sent.
        with httpx.Client(verify=False, trust_env=False, timeout=30, transport=connection.TRANSPORT) as client:  # noqa: S501
            reply = client.get(f"{url}/v1/ca")
    except httpx.HTTPError as error:
        raise ConsoleUnreachable(f"the console at {url} is unreachable: {error}") from error
    if reply.status_code != httpx.codes.OK:
        raise CommandError(f"{url} has no console CA; use --ca FILE with the certificate that it uses")
    # The text could contain a second certificate, which the fingerprint does not cover.
    return ssl.DER_cert_to_PEM_cert(_der(reply.text))


def _der(certificate: str) -> bytes:
    """Return a certificate (PEM) as DER. Raises CommandError."""
    try:
        return ssl.PEM_cert_to_DER_cert(certificate.strip())
    except ValueError as error:
        raise CommandError("the console returned an invalid certificate") from error


def fingerprint_of(certificate: str) -> str:
    """Return the SHA-256 fingerprint of a certificate (PEM) as hexadecimal digits. Raises CommandError."""
    return hashlib.sha256(_der(certificate)).hexdigest()


def _sign_in(url: str, ca: str | None, username: str, password: str, days: int) -> tuple[Context, str]:
    """Return a context with a new token, and the console, user, and role for the message. Raises CommandError."""
    with open_client(url, ca, None) as client:
        console = Connection(client)
        body = {"username": username, "password": password, "ttl": ACCESS_TOKEN_SECONDS}
        expires_at = datetime.now(UTC) + timedelta(seconds=ACCESS_TOKEN_SECONDS)
        try:
            token = console.send("POST", "/v1/users/authorize", body)["access_token"]
        except RequestRejected as error:
            if error.code != "second_factor_required" or not sys.stdin.isatty():
                raise
            code = click.prompt("Code of the authenticator app", err=True)
            token = console.send("POST", "/v1/users/authorize", {**body, "code": code})["access_token"]
    with open_client(url, ca, BearerToken(token)) as client:
        console = Connection(client)
        session = console.get("/v1/session")
        context = Context(url=url, username=session["username"], token=token, ca=ca, expires_at=expires_at)
        description = f"{session['cluster_name']} as {session['username']} ({session['role']})"
        return _with_service_token(console, context, session["role"], days), description


def _with_service_token(console: Connection, context: Context, role: str, days: int) -> Context:
    """Return the context with a service token of the same role, if the user is permitted to create it."""
    expires_at = datetime.now(UTC) + timedelta(days=days)
    name = f"cli {context.username}@{socket.gethostname()} {datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"[-64:].strip()
    body = {"name": name, "role": role, "ttl": days * 86_400}
    try:
        created = console.send("POST", "/v1/service_tokens", body)
    except RequestRejected as error:
        if error.exit_status != DENIED:
            raise
        return context
    return context.model_copy(
        update={"token": created["token"], "expires_at": expires_at, "service_token_uid": created["uid"]}
    )


@click.command("logout")
@click.option("--context", metavar="NAME", help="Context to remove (default: the current one).")
def logout(context: str | None) -> None:
    """Remove a context, and delete its service token on the console."""
    known = contexts.load()
    name = context or known.current
    if name is None:
        raise CommandError("there is no current context")
    removed = known.get(name)
    if removed is not None and removed.service_token_uid is not None and not removed.is_expired:
        with open_console(name) as console, suppress(RequestRejected):  # it was deleted before
            console.send("DELETE", f"/v1/service_tokens/{removed.service_token_uid}")
    contexts.save(known.without(name))
    click.echo(f"Signed out of {name}.")


@click.group("context")
def context_group() -> None:
    """Show and choose the console that commands use."""


@context_group.command("list")
def list_contexts() -> None:
    """List all contexts. The current one is marked with an asterisk."""
    known = contexts.load()
    click.echo(table(["", "NAME", "URL", "USER", "EXPIRES"], _rows(known)))


def _rows(known: contexts.Contexts) -> Sequence[list[str]]:
    rows: list[list[str]] = []
    for name, context in sorted(known.contexts.items()):
        expiry: Any = f"{context.expires_at:%Y-%m-%d %H:%M} UTC" if context.expires_at else "never"
        rows.append(["*" if name == known.current else "", name, context.url, context.username, expiry])
    return rows


@context_group.command("use")
@click.argument("name")
def use_context(name: str) -> None:
    """Use a context for all following commands."""
    known = contexts.load()
    known.get(name)
    contexts.save(known.model_copy(update={"current": name}))
    click.echo(f"Commands use {name}.")
