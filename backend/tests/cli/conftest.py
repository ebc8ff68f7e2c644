"""Databases of commands that use PostgreSQL."""

import asyncio
import os
from collections.abc import Iterator
from uuid import uuid4

import asyncpg
import pytest

SERVER = os.environ.get("SHARDBOARD_TEST_POSTGRES_URL", "")


@pytest.fixture
def database() -> Iterator[str]:
    """Name of an empty database."""
    if not SERVER:
        pytest.skip("needs SHARDBOARD_TEST_POSTGRES_URL (scripts/with-postgres)")
    name = f"copy_{uuid4().hex}"

    async def execute(statement: str) -> None:
        connection = await asyncpg.connect(SERVER.replace("+asyncpg", ""))
        await connection.execute(statement)
        await connection.close()

    asyncio.run(execute(f"CREATE DATABASE {name}"))
    yield name
    asyncio.run(execute(f"DROP DATABASE {name} WITH (FORCE)"))
