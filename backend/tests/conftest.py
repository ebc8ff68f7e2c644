"""What tests share: a migrated store on either database, a console without machines, three nodes, a logged-in client.

And how they run: what a worker started ends with it, and tests of real processes may get a second chance, which is told.
"""

import asyncio
import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import asyncpg
import httpx
import pytest
from backend.tests.application import app_of
from backend.tests.quick import passwords_in_no_time, sqlite_in_the_loop
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis

from shardboard import garbage
from shardboard.authority import Authority
from shardboard.bus import Bus
from shardboard.collectors.live import Live
from shardboard.console import Console
from shardboard.db import Store
from shardboard.driver.fake import FACTS, FakeAgents
from shardboard.local import LocalCluster
from shardboard.ownership import Ownership
from shardboard.services.users import first_start
from shardboard.settings import Settings
from shardboard.state.nodes import Node
from shardboard.store_key import StoreKeys, new_key

USER, PASSWORD = "admin@example.org", "correct horse battery"
ON_POSTGRES = os.environ.get("SHARDBOARD_TEST_DATABASE") == "postgres"
HERE = Path(__file__).parent
LIFELINE = HERE.parents[1] / "scripts" / "lifeline"
REAL = (
    *("agent", "driver", "scenarios", "bench"),
    *("test_demo_load.py", "test_lifeline.py", "test_probing.py", "test_tending.py"),
)
"""Folders, and files beside them, whose tests start processes."""
LOG_LINES = 15

# The same examples in every run, so that a run is red by what was changed and not by chance; and no clock: a busy machine
# is no failure. `pytest --hypothesis-profile=search` looks for other examples, many more of them.
hypothesis.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
hypothesis.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-of-each", action="store_true", help="of a parametrized test's cases, the first that is chosen"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of real processes are run once more when they fail, if the run allows it; no others ever are."""
    if config.getoption("one_of_each"):
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}.values()
        config.hook.pytest_deselected(items=[item for item in items if item not in first])
        items[:] = reversed(first)
    for item in items:
        if item.path.relative_to(HERE).parts[0] in REAL and os.environ.get("SHARDBOARD_SECOND_CHANCE"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """With a failed test of a real cluster go the last words of its processes."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
    cluster = getattr(item, "funcargs", {}).get("cluster")
    if report.failed and isinstance(cluster, LocalCluster):
        for log in sorted([*cluster.directory.glob("logs/*.log"), *cluster.directory.glob("agents/*/shards/*/*.log")]):
            with suppress(OSError):  # a shard's directory may be on its way out
                lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
                report.sections.append((str(log.relative_to(cluster.directory)), "\n".join(lines)))


def pytest_collection_finish() -> None:
    """Modules, routes and tests stay; without them a collection is quick, and a test takes a fifteenth less of a processor.
    Tests end before their garbage matters, so that looking for it less often takes another seventh away."""
    garbage.settle()
    gc.set_threshold(20_000, 20, 50)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """For scripts/run-tests: what failed, what it said the first time, and what passed only when it was run again."""
    if not (directory := os.environ.get("SHARDBOARD_TEST_RESULTS")):
        return

    def of(*outcomes: str) -> dict[str, str]:
        reports = [report for outcome in outcomes for report in terminalreporter.stats.get(outcome, [])]
        return {report.nodeid: report.longreprtext for report in reports}

    failed, again = of("failed", "error"), of("rerun")
    flaky = {name: said for name, said in again.items() if name not in failed}
    failed |= {f"{name}, the first time": said for name, said in again.items() if name not in flaky}
    (Path(directory) / f"{os.getpid()}.results.json").write_text(json.dumps({"failed": failed, "flaky": flaky}))


@pytest.fixture(autouse=True, scope="session")
def quick() -> Iterator[None]:
    with passwords_in_no_time(), sqlite_in_the_loop():
        yield


@pytest.fixture(autouse=True, scope="session")
def lifeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What this worker's tests started ends with it, however it ends; what they themselves leave running is an error."""
    below = tmp_path_factory.getbasetemp()
    with subprocess.Popen([sys.executable, LIFELINE, below], stdin=subprocess.PIPE, start_new_session=True):
        yield
        left = subprocess.run([sys.executable, LIFELINE, "--list", below], capture_output=True, text=True, check=True)
    assert not left.stdout, f"tests left these processes running:\n{left.stdout}"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of this worker's store, migrated and empty: on SQLite tests copy its file, on PostgreSQL they have it in turn."""
    if not ON_POSTGRES:
        url = f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('template') / 'console.db'}"
        asyncio.run(_migrated(url))
        yield url
        return
    server, name = os.environ["SHARDBOARD_TEST_POSTGRES_URL"], f"test_{uuid4().hex}"
    url = f"{server.rpartition('/')[0]}/{name}"
    asyncio.run(_execute(server, f"CREATE DATABASE {name}"))
    asyncio.run(_migrated(url))
    yield url
    asyncio.run(_execute(server, f"DROP DATABASE {name} WITH (FORCE)"))


async def _migrated(url: str) -> None:
    store = Store(url, Bus())
    await store.migrate()
    await store.close()


async def _execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


# Twenty times as fast as another database, and as TRUNCATE, which makes new files.
END_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
EMPTY = """
    DO $$ DECLARE each record; BEGIN
        SET LOCAL session_replication_role = replica; -- in any order, whoever refers to whom
        FOR each IN SELECT tablename AS name FROM pg_tables
                WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
            EXECUTE format('DELETE FROM %I', each.name);
        END LOOP;
        FOR each IN SELECT sequencename AS name FROM pg_sequences WHERE schemaname = 'public' LOOP
            EXECUTE format('ALTER SEQUENCE %I RESTART', each.name);
        END LOOP;
    END $$
"""


@pytest.fixture
async def database_url(tmp_path: Path, template: str) -> AsyncIterator[str]:
    """A store of this test's own, migrated and empty: a file, or a database on the PostgreSQL server that the run was given."""
    if not ON_POSTGRES:
        shutil.copyfile(template.partition(":///")[2], tmp_path / "console.db")
        yield f"sqlite+aiosqlite:///{tmp_path / 'console.db'}"
        return
    yield template
    await _execute(template, END_OTHERS, EMPTY)


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
    opened = Store(database_url, bus, StoreKeys([new_key()]))
    yield opened
    await opened.close()


@pytest.fixture
def agents() -> FakeAgents:
    return FakeAgents()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an authority keeps: made once, as it takes longer than most tests."""
    directory = tmp_path_factory.mktemp("authority")
    Authority.load(Settings(state_dir=directory))
    return directory / "tls"


@pytest.fixture
async def console(settings: Settings, store: Store, bus: Bus, agents: FakeAgents, certificates: Path) -> Console:
    """Everything but running loops and machines."""
    shutil.copytree(certificates, settings.state_dir / "tls", dirs_exist_ok=True)
    async with store.begin() as session:
        await first_start(session, settings)
    return Console(settings, store, bus, Live(bus), agents, Authority.load(settings), "test", Ownership(store))


@pytest.fixture
async def client(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """Logged in as the administrator."""
    transport = httpx.ASGITransport(app_of(console), client=("192.0.2.1", 40000))
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
