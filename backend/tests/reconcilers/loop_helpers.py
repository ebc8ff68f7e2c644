"""Loops that tests start, kill at a chosen step, and start again; and helpers to create and inspect databases."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.cluster import node_actions as node_moves
from shardboard.reconcilers.databases.bdbs import steppers
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.placement.shard_removal import RemovalLoop
from shardboard.services.access.authorization import Principal
from shardboard.services.databases import bdbs as service
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store

ADMIN = Principal("admin@example.org", "admin")


@asynccontextmanager
async def running_loops(
    console: Console, *, agents: Any = None, store: Store | None = None, instance: str = "test", removal: bool = True
) -> AsyncIterator[None]:
    """Run both loops. At the end, they stop as in a killed console."""
    store, agents = store or console.store, agents or console.agents
    endpoints = Endpoints(store, console.bus, agents)
    registered = {
        **steppers(store, agents, endpoints),
        **node_moves.steppers(store, agents),
    }
    loop = ActionLoop(store, console.bus, registered, instance)
    tasks = [asyncio.create_task(loop.run())]
    if removal:
        tasks.append(asyncio.create_task(RemovalLoop(store, console.bus, agents, endpoints.update).run()))
    try:
        yield
    finally:
        open_tasks = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *open_tasks, return_exceptions=True)


class Gate:
    """Counts the steps that pass, and stops at the chosen one until it is opened."""

    def __init__(self, closed_at: int) -> None:
        self._closed_at = closed_at
        self.passed = 0
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def step(self) -> None:
        self.passed += 1
        if self.passed == self._closed_at:
            self.reached.set()
            await self.opened.wait()


class GatedAgents:
    """Fake agents with a gate before and after every call, so that a test can kill the console before or after the effect."""

    def __init__(self, agents: FakeAgents, gate: Gate) -> None:
        self._agents = agents
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._agents, name)

        async def gated(*arguments: Any, **keywords: Any) -> Any:
            await self._gate.step()
            result = await call(*arguments, **keywords)
            await self._gate.step()
            return result

        return gated


class GatedStore(Store):
    """A store with a gate before and after every transaction."""

    def __init__(self, store: Store, gate: Gate) -> None:
        self.__dict__.update(store.__dict__)
        self._gate = gate

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncSession]:
        await self._gate.step()
        async with super().begin() as session:
            yield session
        await self._gate.step()


async def create_database(console: Console, name: str = "shop", **fields: Any) -> int:
    """Request a database with three primaries and three replicas on three nodes. Return its uid."""
    defaults = {
        "name": name,
        "memory_size": 600_000_000,
        "sharding": True,
        "shards_count": 3,
        "replication": True,
        "shards_placement": "sparse",
    }
    async with console.store.begin() as session:
        bdb, _ = await service.create(session, defaults | fields, ADMIN, allow_duplicate_name=True)
    return bdb.uid


async def create_active_database(console: Console, name: str = "shop", **fields: Any) -> int:
    """Create a database as `create_database` does, and wait until it is active. Return its uid."""
    uid = await create_database(console, name, **fields)
    async with running_loops(console):
        await wait_for_status(console, uid, "active")
    return uid


async def wait_for_status(console: Console, uid: int, status: str) -> Bdb:
    """Wait until the database has this status. Return its row."""
    async with asyncio.timeout(60):
        while True:
            bdb = await get_bdb(console, uid)
            if bdb is not None and bdb.status == status:
                return bdb
            await asyncio.sleep(0.005)


async def get_bdb(console: Console, uid: int) -> Bdb | None:
    async with console.store.read() as session:
        return await bdbs.by_uid(session, uid)


async def latest_action(console: Console, uid: int) -> Action:
    """Return the newest action of a database."""
    async with console.store.read() as session:
        return (await actions.list_for_bdb(session, uid))[0]


async def shard_rows(console: Console, uid: int) -> list[Shard]:
    """Return all shard rows of a database, including shards that are being removed."""
    async with console.store.read() as session:
        return [row for row in await shards.list_occupying(session) if row.bdb_uid == uid]


async def events_of_bdb(console: Console, uid: int) -> list[Event]:
    """Return the events of a database, oldest first."""
    async with console.store.read() as session:
        return list(await events.page(session, newest_first=False, bdb_uid=uid))


def running_shards(agents: FakeAgents) -> set[int]:
    """Return the uids of all running shards."""
    return {uid for specs in agents.running.values() for uid in specs}
