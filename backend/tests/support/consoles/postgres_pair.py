"""A PostgreSQL primary with a streaming standby, and a TCP proxy in front of them that keeps open sessions when it switches."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
from backend.tests.support.real_shards import wait_until

from shardboard.local.postgres import PrivateServer, server_account

HOST = "127.0.0.1"


class PostgresPair:
    """Servers `old`, at first the primary, and `new`, at first its standby."""

    def __init__(self, old: Any, new: Any) -> None:
        self.old, self.new = old, new

    async def execute(self, server: Any, statement: str) -> Any:
        """Run one statement at a server and return its first value."""
        connection = await asyncpg.connect(server.url.replace("+asyncpg", ""))
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    async def promote(self) -> None:
        """Make `new` a primary, after it has received everything that `old` has committed."""
        position = await self.execute(self.old, "SELECT pg_current_wal_insert_lsn()::text")
        await wait_until(lambda: self.execute(self.new, f"SELECT pg_last_wal_replay_lsn() >= '{position}'"))
        assert await self.execute(self.new, "SELECT pg_promote()")

    async def make_read_only(self) -> None:
        """Demote `old` as far as possible without ending its sessions."""
        await self.execute(self.old, "ALTER SYSTEM SET default_transaction_read_only = on")
        await self.execute(self.old, "SELECT pg_reload_conf()")
        await wait_until(lambda: self.execute(self.old, "SELECT current_setting('transaction_read_only')::bool"))

    def restart_as_standby(self) -> None:
        """Demote `old` as cluster managers do, which ends its sessions."""
        self.old.stop()
        (self.old.data / "standby.signal").touch()
        self.old.run()


@contextmanager
def running_pair() -> Iterator[PostgresPair]:
    """Start a primary and its standby, and stop them at the end of the block."""
    directories = [Path(tempfile.mkdtemp(prefix="shardboard-postgres-", dir="/tmp")) for _ in range(2)]
    old, new = (PrivateServer(directory, server_account()) for directory in directories)
    try:
        old.start()
        new.password = old.password
        source = f"host={HOST} port={old.port} user=shardboard password={old.password}"
        command = [str(new.binaries / "pg_basebackup"), "-d", source, "-D", str(new.data)]
        copied = new.spawn([*command, "--checkpoint=fast", "--no-sync", "--write-recovery-conf"]).wait()
        assert copied == 0, new.log.read_text()
        new.run()
        yield PostgresPair(old, new)
    finally:
        for server in (old, new):
            server.stop()
        for directory in directories:
            shutil.rmtree(directory, ignore_errors=True)


class SessionProxy:
    """Connects new sessions to `port`. Open sessions stay where they are."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = 0
        """Port of the proxy itself."""
        self._sessions: set[asyncio.Task[None]] = set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._sessions.add(task)
        task.add_done_callback(self._sessions.discard)
        with suppress(OSError):
            upstream_reader, upstream_writer = await asyncio.open_connection(HOST, self.port)
            try:
                copying = [_copy(reader, upstream_writer), _copy(upstream_reader, writer)]
                await asyncio.gather(*copying, return_exceptions=True)
            finally:
                upstream_writer.close()
        writer.close()

    async def close_sessions(self) -> None:
        for task in list(self._sessions):
            task.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    finally:
        writer.close()


@asynccontextmanager
async def session_proxy(port: int) -> AsyncIterator[SessionProxy]:
    """Run a proxy that leads to `port` at first."""
    proxy = SessionProxy(port)
    server = await asyncio.start_server(proxy._serve, HOST, 0)
    proxy.address = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close_sessions()
