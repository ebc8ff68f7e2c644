"""Clusters with several consoles on the PostgreSQL server of the tests, and writes through their consoles."""

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg
import httpx

from shardboard.local.cluster import LocalCluster, private_cluster
from shardboard.local.consoles import ConsoleProcess


@contextmanager
def cluster_on_postgres(directory: Path) -> Iterator[LocalCluster]:
    """Yield a cluster of three nodes, before its start, with a database of the test server that exists during the block."""
    server, name = os.environ["SHARDBOARD_TEST_POSTGRES_URL"], f"consoles_{uuid4().hex}"

    async def execute(statement: str) -> None:
        connection = await asyncpg.connect(server.replace("+asyncpg", ""))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(execute(f"CREATE DATABASE {name}"))
    environment = {"SHARDBOARD_DATABASE_URL": f"{server.rpartition('/')[0]}/{name}"}
    yield private_cluster(directory, nodes=3, environment=environment)
    asyncio.run(execute(f"DROP DATABASE {name} WITH (FORCE)"))


class Writes:
    """Results of the requests that a thread sends to one console."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.count = 0


@contextmanager
def writing(console: ConsoleProcess) -> Iterator[Writes]:
    """Change a setting in the store over and over through this console. No request may fail."""
    ended, writes = threading.Event(), Writes()

    def write() -> None:
        while not ended.wait(0.05):
            body = {"events_keep_days": 100 + writes.count % 100}
            try:
                reply = console.api.put("/v1/cluster/policy", json=body)
                if reply.status_code != 200:
                    writes.failures.append(reply.text)
            except httpx.TransportError as error:
                writes.failures.append(repr(error))
            writes.count += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield writes
    finally:
        ended.set()
        thread.join()
    assert writes.count
    assert writes.failures == []
