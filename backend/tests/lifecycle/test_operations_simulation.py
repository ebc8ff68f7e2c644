"""Databases are created, resharded and failed over while consoles and PostgreSQL fail: nothing is half-made or executed twice."""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from backend.tests.conftest import STORE_KEY, TERMINATE_OTHER_CONNECTIONS
from backend.tests.reconcilers.loop_helpers import ADMIN
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.consoles.operations_simulation import Faults, Process, World
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster import leadership as rule
from shardboard.domain.cluster.actions import ActionStatus
from shardboard.domain.placement import slots
from shardboard.driver.fake_agents import FACTS
from shardboard.kit.bus import Bus
from shardboard.lifecycle import leadership, lease_session
from shardboard.local.postgres import PrivateServer, server_account
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.failures import failover
from shardboard.reconcilers.failures.failover import FailoverLoop
from shardboard.reconcilers.placement import resharding_steps, shard_removal
from shardboard.services.access.authorization import first_start
from shardboard.services.databases import bdbs as service
from shardboard.settings import Settings
from shardboard.state.access import audit
from shardboard.state.access.audit import AuditContext, AuditLine
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store
from shardboard.store.store_key import StoreKeys
from shardboard.store.transient_errors import is_transient

SEEDS = range(200)
RESTART_SEEDS = range(200, 205)
CONCURRENT_SEEDS = 4
"""Simulations mostly wait."""
FAULTS = 6
"""Number of faults in each operation."""
SETTLE_SECONDS = 60.0
POLL_SECONDS = 0.05
FIELDS = {
    "name": "shop",
    "memory_size": 600_000_000,
    "sharding": True,
    "shards_count": 2,
    "replication": True,
    "shards_placement": "sparse",
}

Restart = Callable[[str], Awaitable[None]]
"""Restarts the server of a URL."""

pytestmark = pytest.mark.store


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    lease, act = 0.5, 0.4
    for module in (rule, leadership, lease_session):
        monkeypatch.setattr(module, "LEASE_SECONDS", lease)
    for name, seconds in {
        "ACT_SECONDS": act,
        "RENEW_SECONDS": 0.12,
        "WATCH_SECONDS": 0.1,
        "RETRY_SECONDS": 0.05,
        "GIVE_UP_SECONDS": 0.3,
    }.items():
        monkeypatch.setattr(leadership, name, seconds)
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(loops, "STORE_RETRY_SECONDS", 0.05)
    monkeypatch.setattr(loops, "LEASE", timedelta(seconds=1))
    monkeypatch.setattr(resharding_steps, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(shard_removal, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(failover, "VOTE_SECONDS", 0.05)
    monkeypatch.setattr(FailoverLoop, "seconds", 0.2)


class Client:
    """Sends requests through a console that has no faults, and observes shards."""

    def __init__(self, store: Store, world: World) -> None:
        self.store, self._world = store, world
        self.requests = 0

    async def request(self, change: Callable[[AsyncSession], Awaitable[object]]) -> None:
        """Execute a request that has not been executed yet, with its line in the audit log."""
        self.requests += 1
        self._world.remaining_faults = FAULTS
        path = f"/requests/{self.requests}"

        async def is_done(session: AsyncSession) -> bool:
            return (await session.execute(select(AuditLine.uid).where(AuditLine.path == path))).first() is not None

        while True:
            with suppress_transient():
                if await self.read(is_done):
                    return
                async with self.store.begin() as session:
                    await change(session)
                    await audit.add(session, AuditContext("192.0.2.1", "POST", path, ADMIN.username), "done")
                return
            await asyncio.sleep(POLL_SECONDS)

    async def read(self, query: Callable[[AsyncSession], Awaitable[Any]]) -> Any:
        while True:
            with suppress_transient():
                async with self.store.read() as session:
                    return await query(session)
            await asyncio.sleep(POLL_SECONDS)

    async def until_idle(self, context: str) -> None:
        """Wait until no action is open and no shard is being removed."""

        async def is_busy(session: AsyncSession) -> bool:
            return bool(await actions.list_unfinished(session)) or bool(await shards.list_absent(session))

        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                while await self.read(is_busy):
                    assert not self._world.failures, f"{context}: {self._world.failures}"
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            raise AssertionError(f"{context}: work does not end: {await self.describe_actions()}") from None

    async def describe_actions(self) -> list[tuple[str, str, str, object]]:
        return [(each.name, each.status, each.error, each.steps) for each in await self.read(actions.list_recent)]

    async def rows(self) -> list[Shard]:
        [bdb] = await self.read(bdbs.list_all)
        rows: list[Shard] = list(await self.read(lambda session: shards.list_for_bdb(session, bdb.uid)))
        return rows


class suppress_transient(suppress):  # noqa: N801 - used like the function
    def __init__(self) -> None:
        super().__init__(Exception)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        return error is not None and is_transient(error)


async def operate(client: Client, world: World, context: str) -> int:
    """Create a database, reshard it, and lose one of its primaries. Return the resulting number of primaries."""
    await client.request(lambda session: service.create(session, FIELDS, ADMIN))
    await client.until_idle(f"{context}, creation")
    [bdb] = await client.read(bdbs.list_all)
    count = world.random.choice((1, 3, 4))
    await client.request(lambda session: service.update(session, bdb.uid, {"shards_count": count}, ADMIN))
    await client.until_idle(f"{context}, reshard to {count}")
    lost = world.random.choice([row.uid for row in await client.rows() if row.role == "master"])

    async def observe(session: AsyncSession) -> None:
        (await session.get_one(Shard, lost)).observed_status = "down"

    world.machines.died[lost] = "killed"
    await client.request(observe)

    async def is_failed_over(session: AsyncSession) -> bool:
        return (await session.get_one(Shard, lost)).role == "slave"

    async with asyncio.timeout(SETTLE_SECONDS):
        while not await client.read(is_failed_over):
            assert not world.failures, f"{context}: {world.failures}"
            await asyncio.sleep(POLL_SECONDS)
    await client.until_idle(f"{context}, failover")
    return count


async def check(client: Client, world: World, count: int, context: str) -> None:
    """Check stores and machines after a simulation."""
    machines, rows = world.machines, await client.rows()
    [bdb] = await client.read(bdbs.list_all)
    context = f"{context}: {await client.describe_actions()}"
    assert (bdb.status, bdb.action_uid, bdb.shards_count) == ("active", None, count), context
    assert Counter(row.role for row in rows) == {"master": count, "slave": count}, context
    assert Counter(uid for specs in machines.running.values() for uid in specs) == Counter(row.uid for row in rows)
    assert not machines.migrating, context
    owners = {row.engine_id: row.slots for row in rows if row.role == "master"}
    owned: dict[str, list[int]] = {}
    for slot in range(slots.SLOTS):
        owned.setdefault(machines.owners[slot], []).append(slot)
    assert owners == {engine_id: slots.render(slots.gather(each)) for engine_id, each in owned.items()}, context
    [replica] = [row.uid for row in rows if row.role == "master" and row.uid in machines.promotions]
    assert machines.promotions == [replica], f"{context}: promoted {machines.promotions}"
    names = Counter(
        each.name for each in await client.read(actions.list_recent) if each.status == ActionStatus.COMPLETED
    )
    assert names == {"SMCreateBDB": 1, "SMReshardBDB": 1, "SMFailover": 1}, context
    for executed in machines.executed.values():
        for earlier, later in pairwise(executed):
            assert later == earlier or not later.is_outdated_by(earlier), f"{context}: {later} after {earlier}"
    recorded = Counter(
        each.type for each in await client.read(lambda session: events.page(session, newest_first=False))
    )
    for type_ in ("bdb_activated", "bdb_reshard_completed", "shard_failover"):
        assert recorded[type_] == 1, f"{context}: {recorded}"
    async with client.store.read() as session:
        verification = await audit.chain_verification(session)
        for line in await audit.list_after(session, 0, 10_000):
            verification.verify_line(line, line.link)
        verification.finish()
    assert verification.faults == [], context
    assert verification.lines >= client.requests, context


async def record_requests(process: Process) -> None:
    """Add lines to the audit log through this console, as its requests do."""
    while True:
        with suppress_transient():
            async with process.store.begin() as session:
                await audit.add(session, AuditContext("192.0.2.1", "PUT", f"/{process.id}"), "done")
        await asyncio.sleep(0.2)


async def end_sessions(url: str) -> None:
    """End all sessions, as a restart of the server does. Committed transactions remain."""
    await execute(url, TERMINATE_OTHER_CONNECTIONS)


async def execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@asynccontextmanager
async def in_background(*coroutines: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(each) for each in coroutines]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def simulate(url: str, seed: int, restart: Restart) -> None:
    world = World(url, StoreKeys([STORE_KEY]), seed)
    client = Client(Store(url, Bus(), world.keys), world)
    processes = [Process(world, each) for each in ("first", "second", "third")[: 2 + seed % 2]]
    clock = asyncio.create_task(world.run_clock())
    for process in processes:
        process.start()
    faults = Faults(world, processes, lambda: restart(url))
    try:
        async with in_background(faults.run(), *map(record_requests, processes)):
            count = await operate(client, world, f"seed {seed}")
        await check(client, world, count, f"seed {seed}, {faults.count} faults")
    finally:
        for process in processes:
            await process.kill()
        await asyncio.gather(*world.on_the_wire, return_exceptions=True)
        clock.cancel()
        await client.store.close()


async def prepare(url: str) -> None:
    """Add a cluster and three nodes to an empty store."""
    store = Store(url, Bus(), StoreKeys([STORE_KEY]))
    now = datetime.now(UTC)
    async with store.begin() as session:
        await first_start(session, Settings(admin_user=ADMIN.username, admin_password="correct horse battery"))
        for uid in (1, 2, 3):
            times = {"last_seen": now, "joined_at": now}
            state = {"agent_port": 9700, "agent_status": "connected", "facts": FACTS.model_dump()}
            session.add(Node(uid=uid, addr=f"10.0.0.{uid}", **state, **times))
    await store.close()


async def simulate_copies(template: str, seeds: Iterable[int], restart: Restart, concurrent: int) -> None:
    """Run simulations, each with a copy of a store to which no session is open."""
    server, _, name = template.rpartition("/")
    copying, limit = asyncio.Lock(), asyncio.Semaphore(concurrent)

    async def run(seed: int) -> None:
        async with limit:
            async with copying:
                await execute(f"{server}/postgres", f"CREATE DATABASE {name}_{seed} TEMPLATE {name}")
                if concurrent == 1:
                    # The copy of a sequence is only recovered completely after a crash if there was a checkpoint.
                    await execute(f"{server}/postgres", "CHECKPOINT")
            try:
                await simulate(f"{server}/{name}_{seed}", seed, restart)
            finally:
                await execute(f"{server}/postgres", f"DROP DATABASE {name}_{seed} WITH (FORCE)")

    await asyncio.gather(*map(run, seeds))


async def test_operations_are_executed_once_and_completely(store: Store, sampling: Sampling) -> None:
    if not store.is_shared:
        pytest.skip("a SQLite store has one console")
    await store.close()
    await prepare(store.url)
    await simulate_copies(store.url, sampling.choose(SEEDS, 1), end_sessions, CONCURRENT_SEEDS)


@pytest.mark.slow
async def test_operations_survive_restarts_of_the_server(store: Store) -> None:
    if not store.is_shared:
        pytest.skip("a SQLite store has one console")
    directory = Path(tempfile.mkdtemp(prefix="shardboard-postgres-", dir="/tmp"))
    server = PrivateServer(directory, server_account())

    async def restart(_: str) -> None:
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.run)

    try:
        server.start()
        # Otherwise, a server that is killed loses its last transactions.
        await execute(server.url, "ALTER ROLE shardboard SET synchronous_commit = on", "CREATE DATABASE prepared")
        url = f"{server.url.rpartition('/')[0]}/prepared"
        migrated = Store(url, Bus())
        await migrated.migrate()
        await migrated.close()
        await prepare(url)
        await simulate_copies(url, RESTART_SEEDS, restart, 1)
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
