"""Tests of certificate files of a shard and of TLS connections to other shards of its database."""

import asyncio
import ssl
from pathlib import Path

import pytest
from backend.tests.support.real_shards import unused_loopback_address

from shardboard.agent.databases import peer_tls
from shardboard.agent.databases.engine_client import Connection, EngineError
from shardboard.contract import ShardTls
from shardboard.pki.shard_certificates import ShardCertificates


def to_shard_tls(own: ShardCertificates) -> ShardTls:
    return ShardTls(cas=own.trusted, certificate=own.certificate, key=own.key)


def test_files_are_private_and_rewritten_only_on_change(tmp_path: Path) -> None:
    certificates = ShardCertificates.issue()
    assert not peer_tls.uses_tls(tmp_path)
    assert peer_tls.load_tls_context(tmp_path) is None
    assert peer_tls.write_certificates(tmp_path, to_shard_tls(certificates))
    assert peer_tls.uses_tls(tmp_path)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        peer_tls.CA_FILE: 0o600,
        peer_tls.IDENTITY: 0o600,
    }
    assert not peer_tls.write_certificates(tmp_path, to_shard_tls(certificates))
    assert peer_tls.write_certificates(tmp_path, to_shard_tls(certificates.with_new_certificate()))
    (tmp_path / peer_tls.CA_FILE).write_bytes(b"\xff\0damaged")
    assert peer_tls.write_certificates(tmp_path, to_shard_tls(certificates))
    assert len(list(tmp_path.iterdir())) == 2


def test_key_is_not_in_the_repr() -> None:
    tls = to_shard_tls(ShardCertificates.issue())
    assert tls.key not in repr(tls)


async def serve(directory: Path, address: str, received_data: "asyncio.Future[bytes]") -> asyncio.Server:
    """Serve clients with a certificate of the same CA. Reply +OK once and store the received data in `received_data`."""

    async def echo_role(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first_data = await reader.read(1000)
        writer.write(b"+OK\r\n")
        received_data.set_result(first_data)
        await reader.read()
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(directory / peer_tls.CA_FILE)
    context.load_cert_chain(directory / peer_tls.IDENTITY)
    return await asyncio.start_server(echo_role, address, 0, ssl=context)


async def test_agent_connects_to_other_shards_of_the_database(tmp_path: Path) -> None:
    peer_tls.write_certificates(tmp_path, to_shard_tls(ShardCertificates.issue()))
    first_data: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    address = unused_loopback_address()
    server = await serve(tmp_path, address, first_data)
    port = server.sockets[0].getsockname()[1]
    connection = await Connection.open_remote(address, port, "ann", "secret", peer_tls.load_tls_context(tmp_path))
    assert b"secret" in await first_data
    connection.close()
    server.close()
    await server.wait_closed()


async def test_agent_cannot_connect_to_shards_of_another_database(tmp_path: Path) -> None:
    foreign_directory, local_directory = tmp_path / "theirs", tmp_path / "ours"
    for directory in (foreign_directory, local_directory):
        directory.mkdir()
        peer_tls.write_certificates(directory, to_shard_tls(ShardCertificates.issue()))
    address = unused_loopback_address()
    server = await serve(foreign_directory, address, asyncio.get_running_loop().create_future())
    with pytest.raises(EngineError, match="cannot connect"):
        await Connection.open_remote(
            address, server.sockets[0].getsockname()[1], "ann", "secret", peer_tls.load_tls_context(local_directory)
        )
    server.close()
    await server.wait_closed()
