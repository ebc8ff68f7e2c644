"""Tests of TLS connections to a real PostgreSQL server."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import asyncpg
import pytest
from backend.tests.support.certificates import SignedCertificate, sign
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard.kit.bus import Bus
from shardboard.local.postgres import PrivateServer, server_account
from shardboard.settings import Settings
from shardboard.store.change_notifications import CHANNEL
from shardboard.store.db import Store

pytestmark = [
    pytest.mark.store,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("SHARDBOARD_TEST_POSTGRES_URL"), reason="needs PostgreSQL (scripts/with-postgres)"
    ),
]

KEY_IDENTIFIER = x509.SubjectKeyIdentifier


class TlsServer:
    """A server that accepts only TLS, and requires a client certificate for the database `secured`."""

    def __init__(self, server: Any, files: Path) -> None:
        self.port, self.password = server.port, server.password
        self.files = files

    def url(self, host: str, query: Mapping[str, str], database: str = "postgres") -> str:
        """Return a URL as a user configures it. Names of files are relative to the directory of certificates."""
        absolute = {name: str(self.files / value) if value.endswith(".pem") else value for name, value in query.items()}
        text = f"postgresql://shardboard:{self.password}@{host}:{self.port}/{database}?{urlencode(absolute)}"
        return Settings(database_url=text).store_url


def write(directory: Path, name: str, signed: SignedCertificate) -> None:
    (directory / f"{name}.pem").write_text(signed.pem)
    key = directory / f"{name}-key.pem"
    key.write_text(signed.key_pem)
    key.chmod(0o600)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    account = server_account()
    directory, files = Path(tempfile.mkdtemp(prefix="shardboard-postgres-", dir="/tmp")), tmp_path_factory.mktemp("tls")
    ca = sign("CA", names=(), usage=None)
    write(files, "ca", ca)
    write(files, "other", sign("Another CA", names=(), usage=None))
    write(files, "server", sign("server", ca, names=("localhost",)))
    write(files, "client", sign("shardboard", ca, names=(), usage=ExtendedKeyUsageOID.CLIENT_AUTH))
    running = PrivateServer(directory, account)
    try:
        running.create_data()
        for name in ("ca.pem", "server.pem", "server-key.pem"):
            shutil.copy(files / name, running.data / name)
            (running.data / name).chmod(0o600)
            if account:
                os.chown(running.data / name, account.pw_uid, account.pw_gid)
        (running.data / "postgresql.auto.conf").write_text(
            "ssl = on\nssl_ca_file = 'ca.pem'\nssl_cert_file = 'server.pem'\nssl_key_file = 'server-key.pem'\n"
        )
        (running.data / "pg_hba.conf").write_text(
            "hostssl secured all all md5 clientcert=verify-ca\nhostssl all all all md5\n"
        )
        running.run()
        yield TlsServer(running, files)
    finally:
        running.stop()
        shutil.rmtree(directory, ignore_errors=True)


async def connect(url: str) -> str:
    """Return the message of a store that cannot be used, or how it is connected."""
    store = Store(url, Bus())
    try:
        await store.check()
        async with store.read() as session:
            connection = await session.connection()
            result = await connection.exec_driver_sql("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            return str(result.scalar())
    except ValueError as error:
        return str(error)
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("host", "query", "expected"),
    [
        ("localhost", {}, "TLSv1."),
        ("localhost", {"sslmode": "require"}, "TLSv1."),
        ("127.0.0.1", {"sslmode": "verify-ca", "sslrootcert": "ca.pem"}, "TLSv1."),
        ("localhost", {"sslmode": "verify-full", "sslrootcert": "ca.pem"}, "TLSv1."),
        (
            "localhost",
            {"sslmode": "verify-full", "sslrootcert": "ca.pem", "ssl_max_protocol_version": "TLSv1.2"},
            "TLSv1.2",
        ),
        ("localhost", {"sslmode": "disable"}, "no pg_hba.conf entry"),
        ("127.0.0.1", {"sslmode": "verify-full", "sslrootcert": "ca.pem"}, "IP address mismatch"),
        ("localhost", {"sslmode": "verify-ca", "sslrootcert": "other.pem"}, "certificate verify failed"),
        ("localhost", {"sslmode": "verify-full", "sslrootcert": "system"}, "certificate verify failed"),
    ],
)
async def test_server_is_verified_as_configured(
    server: TlsServer, host: str, query: dict[str, str], expected: str
) -> None:
    message = await connect(server.url(host, query))
    assert expected in message
    assert server.password not in message


async def test_client_certificate_is_presented(server: TlsServer) -> None:
    query = {"sslmode": "verify-full", "sslrootcert": "ca.pem"}
    administrator = await asyncpg.connect(server.url("localhost", query).replace("+asyncpg", ""))
    await administrator.execute("CREATE DATABASE secured")
    await administrator.close()
    assert "client certificate" in await connect(server.url("localhost", query, "secured"))
    query |= {"sslcert": "client.pem", "sslkey": "client-key.pem"}
    assert "TLSv1." in await connect(server.url("localhost", query, "secured"))


async def test_changes_are_received_over_tls(server: TlsServer) -> None:
    store = Store(server.url("localhost", {"sslmode": "verify-full", "sslrootcert": "ca.pem"}), Bus(), console_id="me")
    assert store.connector is not None
    connection = await store.connector.connect()
    try:
        await connection.add_listener(CHANNEL, lambda *_: None)
        query = "SELECT ssl, application_name FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE pid = pg_backend_pid()"
        assert tuple(await connection.fetchrow(query)) == (True, "me")
    finally:
        await connection.close()
        await store.close()
