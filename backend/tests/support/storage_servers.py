"""Servers for storage locations on loopback addresses: S3, FTP, FTPS, SFTP and HTTP.

The S3 server also understands the requests to Google Cloud Storage.
"""

import asyncio
import base64
import hmac
import http.server
import logging
import ssl
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import asyncssh
import httpx
import psutil
from backend.tests.support.certificates import SignedCertificate, sign

from shardboard.local.loopback import free_port

USER, PASSWORD = "backup", "correct-horse"
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Account of Azurite, which is public."""
HOST = "localhost"


@contextmanager
def s3_server() -> Iterator[str]:
    """Run an S3 server with the bucket `bucket` and yield its URL."""
    from moto.server import ThreadedMotoServer  # slow to import

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        credential = (
            f"AWS4-HMAC-SHA256 Credential={USER}/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        )
        headers = {"Authorization": credential}
        urllib.request.urlopen(urllib.request.Request(f"{url}/bucket", method="PUT", headers=headers)).close()  # noqa: S310
        yield url
    finally:
        server.stop()


@contextmanager
def azure_server(folder: Path) -> Iterator[str]:
    """Run Azurite, which must be on PATH (`npm install --global azurite`), with the container `bucket`. Yield its URL."""
    port = free_port()
    command = ["azurite-blob", "--blobHost=127.0.0.1", f"--blobPort={port}", "--silent", "--skipApiVersionCheck"]
    with psutil.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}"
            _create_container(url)
            yield url
        finally:
            process.terminate()


def _create_container(url: str) -> None:
    """Create a container with a signed request, as soon as the server listens."""
    date = formatdate(usegmt=True)
    text = f"PUT{chr(10) * 12}x-ms-date:{date}\nx-ms-version:2021-08-06\n/{AZURE_ACCOUNT}/{AZURE_ACCOUNT}/bucket\nrestype:container"
    digest = hmac.digest(base64.b64decode(AZURE_KEY), text.encode(), "sha256")
    headers = {
        "x-ms-date": date,
        "x-ms-version": "2021-08-06",
        "Authorization": f"SharedKey {AZURE_ACCOUNT}:{base64.b64encode(digest).decode()}",
    }
    transport = httpx.HTTPTransport(retries=10)  # with increasing pauses
    with httpx.Client(transport=transport) as client:
        client.put(f"{url}/bucket?restype=container", headers=headers).raise_for_status()


@contextmanager
def ftp_server(folder: Path, certificate: SignedCertificate | None = None) -> Iterator[str]:
    """Run an FTP server, or an FTPS server with a certificate, and yield its URL without a path."""
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler, TLS_FTPHandler
    from pyftpdlib.ioloop import IOLoop
    from pyftpdlib.servers import FTPServer

    authorizer = DummyAuthorizer()
    authorizer.add_user(USER, PASSWORD, str(folder), perm="elradfmwMT")
    authorizer.add_user("reader", PASSWORD, str(folder), perm="elr")
    base = FTPHandler if certificate is None else TLS_FTPHandler
    settings: dict[str, Any] = {"authorizer": authorizer, "use_sendfile": False, "auth_failed_timeout": 0}
    if certificate is not None:
        path = folder.parent / "ftp.pem"
        path.write_text(certificate.key_pem + certificate.pem)
        settings |= {"certfile": str(path), "tls_control_required": True, "tls_data_required": True}
    handler = type("Handler", (base,), settings)
    loop = IOLoop()
    server = FTPServer((HOST, 0), handler, ioloop=loop)
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            loop.loop(timeout=0.05, blocking=False)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        scheme = "ftp" if certificate is None else "ftps"
        yield f"{scheme}://{USER}:{PASSWORD}@{HOST}:{server.address[1]}"
    finally:
        ended.set()
        thread.join()
        server.close_all()


class _PasswordServer(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, PASSWORD)


@contextmanager
def sftp_server(folder: Path, client_key: asyncssh.SSHKey | None = None) -> Iterator[tuple[str, str]]:
    """Run an SFTP server whose root is `folder`. Yield its URL without a path, and its line of known_hosts."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    authorized = asyncssh.import_authorized_keys(client_key.export_public_key().decode()) if client_key else None
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def call(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=_PasswordServer,
            server_host_keys=[key],
            authorized_client_keys=authorized,
            sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=str(folder).encode()),
        )

    server = call(listen())
    port = server.get_port()
    known = f"[127.0.0.1]:{port} {key.export_public_key().decode()}"

    async def close() -> None:
        server.close()
        await server.wait_closed()

    try:
        yield f"sftp://{USER}:{PASSWORD}@127.0.0.1:{port}", known
    finally:
        call(close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


Reply = Callable[[http.server.BaseHTTPRequestHandler], None]


@contextmanager
def http_server(reply: Reply, certificate: SignedCertificate | None = None) -> Iterator[str]:
    """Run an HTTP server, or an HTTPS server with a certificate, that answers each request with `reply`, and yield its URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reply(self)

        do_PUT = do_POST = do_HEAD = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with _file_with(certificate.key_pem + certificate.pem) as path:
            context.load_cert_chain(path)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield f"{'http' if certificate is None else 'https'}://{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def status_reply(status: int, body: bytes = b"") -> Reply:
    """Return a reply with this status for each request."""

    def reply(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)

    return reply


def server_certificate() -> tuple[str, SignedCertificate]:
    """Return a CA (PEM), and a certificate for `localhost` that it has signed."""
    ca = sign("Storage CA")
    return ca.pem, sign("storage", ca, names=(HOST,))


@contextmanager
def _file_with(text: str) -> Iterator[str]:
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(text)
        file.flush()
        yield file.name
