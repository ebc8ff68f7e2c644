"""TLS connections to shards on other nodes, with the certificate of a local shard of the same database."""

import asyncio
import contextlib
import os
import secrets
import socket
import ssl
from pathlib import Path

from shardboard.contract import ShardTls

CA_FILE = "tls-authorities.pem"
IDENTITY = "tls-identity.pem"
"""Certificate and key in one file, so that a new pair is installed atomically."""
CHUNK = 65_536

_forwarding: set[asyncio.Task[None]] = set()


def write_certificates(directory: Path, tls: ShardTls) -> bool:
    """Write the certificates to a shard's directory. Return False if they are already there."""
    desired = {CA_FILE: tls.cas, IDENTITY: tls.certificate + tls.key}
    changed = {name: text for name, text in desired.items() if _present(directory / name) != text.encode()}
    for name, text in changed.items():
        # A unique name: repeated requests can write at the same time.
        temporary = directory / f".{name}.{secrets.token_hex(4)}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(directory / name)
    return bool(changed)


def uses_tls(directory: Path) -> bool:
    """Return whether the shard in this directory uses TLS."""
    return (directory / IDENTITY).exists()


def _present(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def load_tls_context(directory: Path) -> ssl.SSLContext | None:
    """Return the TLS context for other shards of the same database; None if they use unencrypted connections. Raises OSError. Reads
    files.
    """
    if not uses_tls(directory):
        return None
    # The certificate is valid for one database, independent of the addresses of its shards.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(directory / CA_FILE)
    context.load_cert_chain(directory / IDENTITY)
    return context


async def connect(address: str, port: int, tls_context: ssl.SSLContext) -> socket.socket:
    """Return a local socket whose traffic is forwarded over TLS to a shard, with the TLS context `seal`.

    It is closed when the other end is closed. Raises OSError.
    """
    reader, writer = await asyncio.open_connection(address, port, ssl=tls_context)
    try:
        local_socket, remote_socket = socket.socketpair()
        try:
            local_reader, near_writer = await asyncio.open_connection(sock=remote_socket)
        except BaseException:
            local_socket.close()
            remote_socket.close()
            raise
    except BaseException:
        writer.close()
        raise
    task = asyncio.create_task(_forward_both((local_reader, writer), (reader, near_writer)))
    _forwarding.add(task)
    task.add_done_callback(_forwarding.discard)
    return local_socket


async def _forward_both(*ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    forward_tasks = [asyncio.create_task(_forward(*direction)) for direction in ways]
    try:
        await asyncio.wait(forward_tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in forward_tasks:
            task.cancel()
        for _, writer in ways:
            writer.close()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
