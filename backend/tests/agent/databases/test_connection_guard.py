"""Clients that do not log in cannot use up the connections of a shard. With a real shard and real sockets."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest
from backend.tests.agent.databases.test_peer_tls import to_shard_tls
from backend.tests.support.real_shards import (
    DISTRIBUTION_SERVER,
    HAS_VALKEY_8,
    PASSWORD,
    LocalNodes,
    local_nodes,
    standalone_shard,
    start_request,
    wait_until,
)

from shardboard.agent.databases import connection_guard, peer_tls
from shardboard.agent.databases.connection_guard import rule
from shardboard.agent.databases.engine_client import Connection, EngineError
from shardboard.agent.databases.probe_rate import ProbeRate
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.agent.databases.shard import PROXY_NAME
from shardboard.agent.databases.shard_config import ADMIN
from shardboard.agent.metrics.machine import MachineSampler
from shardboard.agent.metrics.sampler import Sampler
from shardboard.contract import SHARD_FIELDS, Sample
from shardboard.pki.shard_certificates import ShardCertificates

MAX_CLIENTS = 60


@pytest.mark.parametrize(
    ("clients", "limit", "chosen"),
    [
        (0, 100, None),
        (9, 100, None),
        (10, 100, "5"),
        (25, 100, "1"),
        (150, 100, "1"),
        (None, 100, None),
        (50, None, None),
    ],
)
def test_more_connections_in_use_shorten_the_time_limit(
    clients: float | None, limit: float | None, chosen: str | None
) -> None:
    assert rule(clients, limit) == chosen


class GuardedShard:
    """An encrypted shard with few connections, and a sampler that takes a sample when the test calls it."""

    def __init__(self, node: LocalNodes, stack: AsyncExitStack) -> None:
        self.address, self.port = node.settings[1].address, standalone_shard(1).port
        self.shard = node[1].shards[1]
        self._stack = stack
        self._sampler = Sampler(
            node[1], MachineSampler(node.settings[1]), ProxyProcess(node.settings[1]), ProbeRate(), self.address
        )

    async def sample(self) -> dict[str, float | None]:
        """Return the next sample that contains the shard, which can respond too late on a busy machine."""
        while True:
            await self._sampler._beat(int(time.time()))
            sample = Sample.model_validate_json(self._sampler.ring.newest)
            if 1 in sample.shards:
                return dict(zip(SHARD_FIELDS, sample.shards[1], strict=True))

    async def occupy(self) -> list[asyncio.StreamReader]:
        """Open connections without a TLS handshake until the shard refuses them."""
        readers = []
        while (await self.sample())["rejected"] == 0:
            for _ in range(20):
                reader, writer = await asyncio.open_connection(self.address, self.port)
                self._stack.callback(writer.close)
                readers.append(reader)
        return readers

    async def log_in(self) -> Connection:
        seal = peer_tls.load_tls_context(self.shard.directory)
        connection = await Connection.open_remote(self.address, self.port, ADMIN, PASSWORD, seal)
        self._stack.callback(connection.close)
        return connection


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[GuardedShard]:
    tls = to_shard_tls(ShardCertificates.issue())
    async with local_nodes(tmp_path) as node, AsyncExitStack() as stack:
        [outcome] = await node[1].start(
            start_request(standalone_shard(1), maxclients=MAX_CLIENTS, tls=tls, client_password="secret")
        )
        assert outcome.ok, outcome.reason
        yield GuardedShard(node, stack)


async def test_idle_connections_do_not_prevent_logins(guarded: GuardedShard) -> None:
    before = await guarded.sample()
    assert (before["connection_limit"], before["rejected"]) == (MAX_CLIENTS - 1, 0)
    admin = await guarded.log_in()
    proxy = await guarded.log_in()
    assert await proxy.execute("AUTH", "default", "secret") == b"OK"
    await proxy.execute("CLIENT", "SETNAME", PROXY_NAME)
    # The connection of a proxy for clients that have not logged in has no name.
    unauthenticated = await guarded.log_in()
    await unauthenticated.execute("RESET")
    with pytest.raises(EngineError, match="NOAUTH"):
        await unauthenticated.execute("HELLO", "3", "SETNAME", PROXY_NAME)
    readers = await guarded.occupy()

    async def few_are_open() -> bool:
        return ((await guarded.sample())["clients"] or 0) <= 3

    await wait_until(few_are_open)
    assert await asyncio.gather(*(_rest(reader) for reader in readers)) == [b""] * len(readers)
    assert await (await guarded.log_in()).execute("PING") == b"PONG"
    assert [await each.execute("PING") for each in (admin, proxy)] == [b"PONG"] * 2, "these clients had logged in"
    with pytest.raises(EngineError, match="NOAUTH"):
        await unauthenticated.execute("PING")


async def _rest(reader: asyncio.StreamReader) -> bytes:
    with suppress(ConnectionError):
        return await reader.read()
    return b""


async def test_without_the_guard_the_shard_refuses_logins(
    guarded: GuardedShard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that the other test would fail without the guard."""
    monkeypatch.setattr(connection_guard, "RULES", ())
    await guarded.occupy()
    with pytest.raises(Exception, match=r"closed|EOF|reset|connect"):
        await guarded.log_in()
    assert (await guarded.sample())["clients"] is not None, "the agent's own connection stays open"


@pytest.mark.skipif(not HAS_VALKEY_8, reason="needs Valkey 8 of the distribution")
async def test_engines_without_the_filters_are_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with local_nodes(tmp_path) as node, AsyncExitStack() as stack:
        await node.restart_agent(engine=DISTRIBUTION_SERVER)
        await node[1].start(start_request(standalone_shard(1), maxclients=MAX_CLIENTS))
        guarded = GuardedShard(node, stack)
        await guarded.occupy()
        await guarded.sample()
        await guarded.sample()
    assert caplog.text.count("cannot be closed") == 1
