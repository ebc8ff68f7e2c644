"""What tests share: a migrated store on either database, a console without machines, three nodes, a logged-in client."""

import os
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import httpx
import pytest
from argon2 import PasswordHasher
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis

from shardboard.app import create_app
from shardboard.bus import Bus
from shardboard.collectors.live import Live
from shardboard.console import Console
from shardboard.db import Store
from shardboard.driver.fake import FACTS, FakeAgents
from shardboard.ownership import Ownership
from shardboard.services import passwords
from shardboard.services.users import first_start
from shardboard.settings import Settings
from shardboard.state.nodes import Node
from shardboard.tls import Authority

USER, PASSWORD = "admin@example.org", "correct horse battery"

# The same examples in every run, so that a run is red by what was changed and not by chance; and no clock: a busy machine
# is no failure. `pytest --hypothesis-profile=search` looks for other examples, many more of them.
hypothesis.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
hypothesis.load_profile("same")


@pytest.fixture(autouse=True, scope="session")
def quick_passwords() -> Iterator[None]:
    """Hashing is slow on purpose, 0.2 s of a processor; almost every test logs in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield


@pytest.fixture
async def database_url(tmp_path: Path) -> AsyncIterator[str]:
    """A database of this test's own: a file, or a new database on the PostgreSQL server that the run was given."""
    if os.environ.get("SHARDBOARD_TEST_DATABASE", "sqlite") != "postgres":
        yield f"sqlite+aiosqlite:///{tmp_path / 'console.db'}"
        return
    server = os.environ["SHARDBOARD_TEST_POSTGRES_URL"]
    name = f"test_{os.getpid()}_{abs(hash(tmp_path)):x}"
    admin = await asyncpg.connect(server.replace("+asyncpg", ""))
    try:
        await admin.execute(f"CREATE DATABASE {name}")
        yield f"{server.rpartition('/')[0]}/{name}"
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return Settings(
        state_dir=tmp_path,
        database_url=database_url,
        admin_user=USER,
        admin_password=PASSWORD,
        page_dir=tmp_path / "page",
    )


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
async def store(database_url: str, bus: Bus) -> AsyncIterator[Store]:
    """Migrated and empty but for the cluster row and the administrator."""
    opened = Store(database_url, bus)
    await opened.migrate()
    yield opened
    await opened.close()


@pytest.fixture
def agents() -> FakeAgents:
    return FakeAgents()


@pytest.fixture
async def console(settings: Settings, store: Store, bus: Bus, agents: FakeAgents) -> Console:
    """Everything but running loops and machines."""
    async with store.begin() as session:
        await first_start(session, settings)
    return Console(settings, store, bus, Live(bus), agents, Authority.load(settings), "test", Ownership(store))


@pytest.fixture
async def client(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """Logged in as the administrator."""
    transport = httpx.ASGITransport(create_app(console), client=("192.0.2.1", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://console", auth=(USER, PASSWORD)) as opened:
        yield opened


@pytest.fixture
async def nodes(console: Console) -> list[Node]:
    """Three nodes of 8 GiB, connected."""
    now = datetime.now(UTC)
    rows = [
        Node(
            uid=uid,
            addr=f"10.0.0.{uid}",
            agent_port=9700,
            agent_status="connected",
            last_seen=now,
            joined_at=now,
            facts=FACTS.model_dump(),
        )
        for uid in (1, 2, 3)
    ]
    async with console.store.begin() as session:
        session.add_all(rows)
    return rows
