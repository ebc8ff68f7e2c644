"""Fixtures and hooks that all tests share.

The fixtures provide a migrated store on either database, a console without machines, three nodes and a signed-in client. The hooks
end the processes that a worker started, and repeat failed tests that use real processes once if the run allows it.
"""

import asyncio
import gc
import json
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import asyncpg
import httpx
import pytest
from backend.tests.support.app_factory import app_for
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.speedups import (
    cached_system_trust,
    fast_password_hashing,
    reused_engines,
    sqlite_without_threads,
)
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis

from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.console import Console
from shardboard.driver.fake_agents import FACTS, FakeAgents
from shardboard.kit import gc_tuning
from shardboard.kit.bus import Bus
from shardboard.lifecycle.leadership import Leadership
from shardboard.local.cluster import LocalCluster
from shardboard.local.lifeline import lifeline, remaining
from shardboard.pki.console_ca import ConsoleCa
from shardboard.services.access.authorization import first_start
from shardboard.services.cluster.console_certificates import load_or_create
from shardboard.settings import Settings
from shardboard.state.cluster import console_certificates
from shardboard.state.cluster.nodes import Node
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeys, new_key

USER, PASSWORD = "admin@example.org", "correct horse battery"
STORE_KEY = new_key()
ON_POSTGRES = os.environ.get("SHARDBOARD_TEST_DATABASE") == "postgres"
TESTS = Path(__file__).parent
PROCESS_TESTS = (
    *("agent/", "driver/", "scenarios/", "perf/"),
    *(
        "lifecycle/test_rolling_upgrade.py",
        "lifecycle/test_two_consoles.py",
        "local/test_demo_traffic.py",
        "local/test_lifeline.py",
        "local/test_process_supervisor.py",
    ),
    *("test_reverse_proxy.py", "valkey/test_probe.py"),
)
"""Folders and files whose tests start processes."""

LOG_LINES = 15

# Every run uses the same examples, so that it fails because of a change and not by chance. There is no deadline, so that tests
# pass on a busy machine. `pytest --hypothesis-profile=search` tries many more examples, which differ between runs.
for name, examples in (("quick", 30), ("thorough", 100)):
    hypothesis.register_profile(
        name, derandomize=True, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
hypothesis.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("hypothesis_profile", None):
        hypothesis.load_profile("thorough" if config.getoption("thorough") else "quick")


def pytest_report_header() -> str:
    return f"seed of the sampled cases: {SEED} (set SHARDBOARD_TEST_SEED to use another one)"


def _seed() -> str:
    """Return the seed of the sampled cases: the abbreviated commit by default, so that samples vary and failures are
    reproducible."""
    if configured := os.environ.get("SHARDBOARD_TEST_SEED"):
        return configured
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=TESTS, capture_output=True, text=True, check=False
    )
    return commit.stdout.strip() or "0"


SEED = _seed()


@pytest.fixture
def sampling(request: pytest.FixtureRequest) -> Sampling:
    return Sampling(
        f"{SEED}:{request.node.nodeid}",
        thorough=request.config.getoption("thorough"),
        on_postgres=ON_POSTGRES,
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run every case of tests that otherwise use a sample")
    parser.addoption(
        "--one-of-each", action="store_true", help="run only the first selected case of each parametrized test"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Repeat failed tests that use real processes once, if the run allows it. Other tests are never repeated."""
    if config.getoption("one_of_each"):
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}.values()
        config.hook.pytest_deselected(items=[item for item in items if item not in first])
        items[:] = reversed(first)
    for item in items:
        if item.path.relative_to(TESTS).as_posix().startswith(PROCESS_TESTS) and os.environ.get(
            "SHARDBOARD_SECOND_CHANCE"
        ):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Measure the test without its fixtures, which are shared."""
    wall_time, cpu = time.monotonic(), _cpu_seconds()
    yield
    item.user_properties += [("wall", time.monotonic() - wall_time), ("cpu", _cpu_seconds() - cpu)]


def _cpu_seconds() -> float:
    """Return the user and system time of this process and of its ended children."""
    return sum(os.times()[:4])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add the last log lines of the cluster's processes to the report of a failed test that uses a real cluster."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined]
    cluster = getattr(item, "funcargs", {}).get("cluster")
    if report.failed and isinstance(cluster, LocalCluster):
        for log in sorted([*cluster.directory.glob("logs/*.log"), *cluster.directory.glob("agents/*/shards/*/*.log")]):
            with suppress(OSError):  # the directory of a shard may just be removed
                lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
                report.sections.append((str(log.relative_to(cluster.directory)), "\n".join(lines)))


def pytest_collection_finish() -> None:
    """Exclude modules, routes and tests from garbage collection, and collect less often.

    The first reduces the CPU time of a test by a fifteenth, the second by another seventh. Tests end before their garbage matters.
    """
    gc_tuning.freeze_objects()
    gc.set_threshold(20_000, 20, 50)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the results for scripts/run-tests: failures, tests that passed only when repeated, and the time of each test."""
    if not (directory := os.environ.get("SHARDBOARD_TEST_RESULTS")):
        return

    def reports_of(*outcomes: str) -> dict[str, str]:
        reports = [report for outcome in outcomes for report in terminalreporter.stats.get(outcome, [])]
        return {report.nodeid: report.longreprtext for report in reports}

    failed, repeated = reports_of("failed", "error"), reports_of("rerun")
    flaky = {name: report for name, report in repeated.items() if name not in failed}
    failed |= {f"{name}, first attempt": report for name, report in repeated.items() if name not in flaky}
    times = {
        report.nodeid: dict(report.user_properties)
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if report.when == "call" and "slow" not in report.keywords
    }
    results = {"failed": failed, "flaky": flaky, "times": times}
    (Path(directory) / f"{os.getpid()}.results.json").write_text(json.dumps(results))


@pytest.fixture(autouse=True, scope="session")
def quick() -> Iterator[None]:
    with fast_password_hashing(), cached_system_trust(), sqlite_without_threads(), reused_engines():
        yield


@pytest.fixture(autouse=True, scope="session")
def process_cleanup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """End the processes that tests of this worker started when the worker ends. Fail if a test left processes running."""
    base = tmp_path_factory.getbasetemp()
    with lifeline(base):
        yield
        remaining_processes = remaining(base)
    assert not remaining_processes, f"tests left these processes running:\n{remaining_processes}"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of this worker's migrated, empty store: tests copy the file on SQLite and use the database in turn on PostgreSQL."""
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


@pytest.fixture(scope="session")
def first_start_template(
    template: str, console_ca: ConsoleCa, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, int]:
    """File of a SQLite store after the first start of a console, and its state ID. Almost all tests use a copy."""
    path = tmp_path_factory.mktemp("first-start") / "console.db"
    if ON_POSTGRES:
        return path, 0
    shutil.copyfile(template.partition(":///")[2], path)
    return path, asyncio.run(_start(path, console_ca))


async def _start(path: Path, ca: ConsoleCa) -> int:
    store = Store(f"sqlite+aiosqlite:///{path}", Bus(), StoreKeys([STORE_KEY]))
    async with store.begin() as session:
        await first_start(session, Settings(state_dir=path.parent, admin_user=USER, admin_password=PASSWORD))
        await console_certificates.save(session, ca.state)
    await store.close()
    return store.state_id


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


# 20 times as fast as creating another database or as TRUNCATE, which creates new files.
TERMINATE_OTHER_CONNECTIONS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
DELETE_ALL_ROWS = """
    DO $$ DECLARE each record; BEGIN
        SET LOCAL session_replication_role = replica; -- disables foreign keys, so that any order works
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
    """URL of a migrated, empty store that only this test uses: a file, or a database on the configured PostgreSQL server."""
    if not ON_POSTGRES:
        shutil.copyfile(template.partition(":///")[2], tmp_path / "console.db")
        yield f"sqlite+aiosqlite:///{tmp_path / 'console.db'}"
        return
    yield template
    await _execute(template, TERMINATE_OTHER_CONNECTIONS, DELETE_ALL_ROWS)


@pytest.fixture(scope="session")
def common_settings() -> Settings:
    """Settings that are the same in all tests. Copying them takes a fiftieth of the time of reading them."""
    return Settings(admin_user=USER, admin_password=PASSWORD)


@pytest.fixture
def settings(common_settings: Settings, tmp_path: Path, database_url: str) -> Settings:
    own = {"state_dir": tmp_path, "database_url": database_url, "web_ui_dir": tmp_path / "page"}
    return common_settings.model_copy(update=own, deep=True)


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
async def store(database_url: str, bus: Bus) -> AsyncIterator[Store]:
    """A migrated, empty store, before the first start of a console."""
    store = Store(database_url, bus, StoreKeys([STORE_KEY]))
    yield store
    await store.close()


@pytest.fixture
def agents() -> FakeAgents:
    return FakeAgents()


@pytest.fixture(scope="session")
def console_ca(tmp_path_factory: pytest.TempPathFactory) -> ConsoleCa:
    """A CA with its files. It is created only once, because this takes longer than most tests."""
    return new_console_ca(Settings(state_dir=tmp_path_factory.mktemp("authority")))


@pytest.fixture
async def console(
    settings: Settings,
    store: Store,
    bus: Bus,
    agents: FakeAgents,
    console_ca: ConsoleCa,
    first_start_template: tuple[Path, int],
) -> Console:
    """A console without running loops and machines."""
    shutil.copytree(console_ca.directory, settings.state_dir / "tls", dirs_exist_ok=True)
    path, state_id = first_start_template
    if path.exists() and (settings.admin_user, settings.configured_password) == (USER, PASSWORD):
        shutil.copyfile(path, store.url.partition(":///")[2])  # no connection is open yet
        store.state_id = state_id
    else:
        async with store.begin() as session:
            await first_start(session, settings)
            await console_certificates.save(session, console_ca.state)
    ca = ConsoleCa(console_ca.state, settings)
    return Console(settings, store, bus, LiveMetrics(bus), agents, ca, "test", Leadership(store, "test"))


@pytest.fixture
async def client(console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """A client signed in as the administrator."""
    transport = httpx.ASGITransport(app_for(console), client=("192.0.2.1", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://console", auth=(USER, PASSWORD)) as client:
        yield client


@pytest.fixture
async def second_console(console: Console, agents: FakeAgents, tmp_path: Path) -> AsyncIterator[Console]:
    """Another console on the same store, with its own state directory. Changes are announced on its own bus only."""
    settings = console.settings.model_copy(update={"state_dir": tmp_path / "second"})
    settings.state_dir.mkdir()
    store = Store(console.store.url, Bus(), StoreKeys([STORE_KEY]))
    ca = ConsoleCa(await load_or_create(store, settings.state_dir / "tls"), settings)
    yield Console(settings, store, store.bus, LiveMetrics(store.bus), agents, ca, "second", Leadership(store, "second"))
    await store.close()


@pytest.fixture
async def second_client(second_console: Console) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the other console, signed in as the administrator."""
    transport = httpx.ASGITransport(app_for(second_console, 1), client=("192.0.2.1", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="https://second", auth=(USER, PASSWORD)) as client:
        yield client


@pytest.fixture
async def nodes(console: Console) -> list[Node]:
    """Three connected nodes with 8 GiB each."""
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
