"""Tests of encrypted databases with real engines: only shards of the same database can connect."""

import asyncio
import signal
import ssl
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from backend.tests.agent.databases.test_peer_tls import to_shard_tls
from backend.tests.support.real_shards import (
    ENGINE,
    LocalNodes,
    execute_as_admin,
    find_engines,
    local_nodes,
    plan_shards,
    start_database,
    unused_loopback_address,
    wait_until,
)

from shardboard.agent.databases import peer_tls, shard_certificates
from shardboard.agent.databases.engine import engine_path
from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.shard import LocalShard
from shardboard.contract import RenewCertificates
from shardboard.driver import replication, slot_map, valkey_cluster
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.pki import shard_certificates as issued_certificates
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.valkey import probe
from shardboard.valkey.probe import responds

OWN = ShardCertificates.issue()
ENCRYPTED = replace(ENGINE, tls=to_shard_tls(OWN))
pytestmark = pytest.mark.older


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[LocalNodes]:
    async with local_nodes(tmp_path / "farm", 2) as nodes:
        yield nodes
    for process in find_engines(tmp_path):
        process.kill()


async def create_database(nodes: LocalNodes, *, replication: bool = True) -> list[ShardRef]:
    shards = plan_shards(nodes.nodes, 3, replication=replication)
    await start_database(nodes, ENCRYPTED, shards)
    return shards


def process_of(nodes: LocalNodes, shard: ShardRef) -> LocalShard:
    return nodes[shard.node.uid].shards[shard.uid]


async def ping_reply(shard: ShardRef, directory: Path | None, *, tls: bool = True) -> bytes:
    """Return the first bytes of the reply to PING, or nothing if the shard closes the connection."""
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if directory is not None:
            context.load_cert_chain(directory / peer_tls.IDENTITY)
    try:
        async with asyncio.timeout(10):
            reader, writer = await asyncio.open_connection(shard.node.addr, shard.port, ssl=context)
            writer.write(b"PING\r\n")
            return await reader.read(5)
    except OSError:
        return b""


async def test_shards_accept_only_certificates_of_their_database(
    nodes: LocalNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [shard, *_] = await create_database(nodes)
    own_directory, other = process_of(nodes, shard).directory, tmp_path / "other"
    other.mkdir()
    peer_tls.write_certificates(other, to_shard_tls(ShardCertificates.issue()))
    assert await ping_reply(shard, own_directory) == b"+PONG"
    assert await ping_reply(shard, other) == b""
    with monkeypatch.context() as changed:
        changed.setattr(issued_certificates, "DAYS", -1)
        peer_tls.write_certificates(other, to_shard_tls(OWN.with_new_certificate()))
    assert await ping_reply(shard, other) == b"", "expired"
    assert await ping_reply(shard, None) == b""
    assert await ping_reply(shard, None, tls=False) == b""
    monkeypatch.setattr(probe, "PROBE_SECONDS", 30)  # for busy machines
    # Witnesses can probe the shard without a certificate of the database.
    assert await responds(shard.node.addr, shard.port, tls=True)
    assert not await responds(shard.node.addr, shard.port)
    assert not await responds(shard.node.addr, shard.port + 100, tls=True)
    monkeypatch.setattr(probe, "PROBE_SECONDS", 0.4)
    nodes[shard.node.uid].signal([shard.uid], signal.SIGSTOP)
    assert not await responds(shard.node.addr, shard.port, tls=True)
    nodes[shard.node.uid].signal([shard.uid], signal.SIGCONT)


async def test_reported_addresses_and_ports_are_unchanged(nodes: LocalNodes) -> None:
    """This also applies to the Unix socket, which agents and proxies use."""
    shards = await create_database(nodes)
    shard = process_of(nodes, shards[0])
    cluster_nodes = await execute_as_admin(shard, "CLUSTER", "NODES")
    assert {line.split(" ")[1].partition("@")[0] for line in cluster_nodes.splitlines()} == {
        f"{each.node.addr}:{each.port}" for each in shards
    }
    with pytest.raises(EngineError, match=f"MOVED 12182 {shards[2].node.addr}:{shards[2].port}"):
        await execute_as_admin(shard, "GET", "foo")


async def test_new_node_is_known_when_clients_can_be_redirected_to_it(nodes: LocalNodes) -> None:
    """The engine reports the unencrypted port to clients of the Unix socket, and gets it only after the handshake."""
    old = await create_database(nodes)
    new = [
        replace(each, pair=each.pair + 3, slots=())
        for each in plan_shards(nodes.nodes, 3, replication=False, first_uid=len(old) + 1)
    ]
    view = await valkey_cluster.newest_view(nodes, [shard for shard in old if shard.role == "master"])
    primaries = [shard for shard in old if shard.role == "master"]
    assert await valkey_cluster.start_new_shards(nodes, ENCRYPTED, [*old, *new], primaries, new, view) == {}

    async def all_known() -> bool:
        unaware_hosts = await slot_map.unaware_hosts(nodes, old, new)
        await replication.meet(nodes, unaware_hosts, new)
        return not unaware_hosts

    await wait_until(all_known)
    for host in old:
        lines = (await execute_as_admin(process_of(nodes, host), "CLUSTER", "NODES")).splitlines()
        addresses = {line.split(" ")[0]: line.split(" ")[1].partition("@")[0] for line in lines}
        assert {each.engine_id: f"{each.node.addr}:{each.port}" for each in new}.items() <= addresses.items()


class ForeignEngine:
    """Foreign engine in cluster mode."""

    def __init__(self, home: Path, port: int, *options: str) -> None:
        self._home = home
        address = ("--bind", unused_loopback_address(), "--port", str(port), "--cluster-port", str(port + 5000))
        mode = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--unixsocket", "s", "--save", "")
        command = [engine_path("valkey-server") or "", *address, *mode, *options]
        with (home / "log").open("wb") as log:
            subprocess.Popen(command, cwd=home, stdout=log, stderr=log)

    async def send_command(self, *argv: str) -> str:
        command = ("valkey-cli", "-s", "s", *argv)
        process = await asyncio.create_subprocess_exec(
            *command, cwd=self._home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return (await process.communicate())[0].decode()

    async def answers(self) -> bool:
        return "PONG" in await self.send_command("PING")

    async def others(self) -> list[str]:
        """Return the lines of other nodes in its CLUSTER NODES reply."""
        return [line for line in (await self.send_command("CLUSTER", "NODES")).splitlines() if "myself" not in line]


@pytest.mark.parametrize("speaks_tls", [False, True])
async def test_foreign_engine_cannot_join_the_cluster(nodes: LocalNodes, tmp_path: Path, *, speaks_tls: bool) -> None:
    shards = await create_database(nodes)
    victim = process_of(nodes, shards[0])
    before = await _listed(victim)
    directory = tmp_path / "foreign"
    directory.mkdir()
    peer_tls.write_certificates(directory, to_shard_tls(ShardCertificates.issue()))
    files = ("--tls-cert-file", peer_tls.IDENTITY, "--tls-key-file", peer_tls.IDENTITY)
    tls_options = ("--tls-ca-cert-file", peer_tls.CA_FILE, *files, "--tls-cluster", "yes") if speaks_tls else ()
    foreign = ForeignEngine(directory, 21000, *tls_options)
    await wait_until(foreign.answers)
    await foreign.send_command("CLUSTER", "ADDSLOTSRANGE", "0", "5460")
    for shard in shards:
        assert "OK" in await foreign.send_command(
            "CLUSTER", "MEET", shard.node.addr, str(shard.port), str(shard.bus_port)
        )
    states = set()

    async def has_given_up() -> bool:
        others = await foreign.others()
        states.update(line.split(" ")[2] for line in others)
        return not others

    await wait_until(has_given_up)
    assert states == {"handshake"}
    assert await _listed(victim) == before


async def _listed(shard: LocalShard) -> set[str]:
    return {line.split(" ")[0] for line in (await execute_as_admin(shard, "CLUSTER", "NODES")).splitlines()}


async def test_certificates_are_renewed_without_interruption(nodes: LocalNodes) -> None:
    shards = await create_database(nodes)
    primary, replica = process_of(nodes, shards[0]), process_of(nodes, shards[3])
    await execute_as_admin(primary, "SET", "{06S}before", "1")
    renewed = OWN.with_new_certificate()
    # Only the node of the primary gets new certificates. Its replica and the other shards keep the old ones.
    results = await shard_certificates.install_certificates(
        nodes[1], RenewCertificates(bdb_uid=1, tls=to_shard_tls(renewed))
    )
    assert {result.reply for result in results if not result.ok} == set()
    assert len(results) == len(nodes[1].shards)
    presented = ssl.DER_cert_to_PEM_cert(await _certificate(shards[0], replica.directory))
    assert presented.strip() == renewed.certificate.strip()
    # New links accept old and new certificates.
    await execute_as_admin(primary, "CLIENT", "KILL", "TYPE", "replica")
    await wait_until(lambda: _is_linked(replica))
    assert await execute_as_admin(primary, "WAIT", "1", "10000") == 1
    # The request can be repeated. A shard that does not run uses the files at its next start.
    assert all(
        result.ok
        for result in await shard_certificates.install_certificates(
            nodes[1], RenewCertificates(bdb_uid=1, tls=to_shard_tls(renewed))
        )
    )
    assert (
        await shard_certificates.install_certificates(nodes[1], RenewCertificates(bdb_uid=9, tls=to_shard_tls(renewed)))
        == []
    )


async def test_starting_shard_gets_renewed_certificates_when_it_runs(nodes: LocalNodes) -> None:
    """The starting shard might already have read the previous files."""
    [shard, *_] = await create_database(nodes, replication=False)
    process = process_of(nodes, shard)
    renewed, process.state = OWN.with_new_certificate(), "starting"
    renewal = asyncio.create_task(
        shard_certificates.install_certificates(nodes[1], RenewCertificates(bdb_uid=1, tls=to_shard_tls(renewed)))
    )
    await wait_until(lambda: _written(process, renewed))
    assert not renewal.done()
    process.state = "running"
    assert {result.ok for result in await renewal} == {True}
    presented = ssl.DER_cert_to_PEM_cert(await _certificate(shard, process.directory))
    assert presented.strip() == renewed.certificate.strip()


async def _written(shard: LocalShard, issued: ShardCertificates) -> bool:
    return issued.certificate in (shard.directory / peer_tls.IDENTITY).read_text()


async def _is_linked(shard: LocalShard) -> bool:
    return "master_link_status:up" in await execute_as_admin(shard, "INFO", "replication")


async def _certificate(shard: ShardRef, directory: Path) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(directory / peer_tls.IDENTITY)
    _, writer = await asyncio.open_connection(shard.node.addr, shard.port, ssl=context)
    certificate: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return certificate


async def test_invalid_certificates_are_rejected_and_the_old_ones_kept(nodes: LocalNodes) -> None:
    [shard, *_] = await create_database(nodes, replication=False)
    broken = to_shard_tls(OWN).model_copy(update={"certificate": "none"})
    results = await shard_certificates.install_certificates(nodes[1], RenewCertificates(bdb_uid=1, tls=broken))
    assert {result.ok for result in results} == {False}
    assert "TLS" in results[0].reply
    directory = process_of(nodes, shard).directory
    peer_tls.write_certificates(directory, to_shard_tls(OWN))
    assert await ping_reply(shard, directory) == b"+PONG"
