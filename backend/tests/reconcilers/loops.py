"""Loops under a test's control: started, killed at a chosen step, and started again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.console import Console
from shardboard.db import Store
from shardboard.driver.fake import FakeAgents
from shardboard.reconcilers.bdbs import steppers
from shardboard.reconcilers.endpoints import Endpoints
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.movement import nodes as node_moves
from shardboard.reconcilers.removal import RemovalLoop
from shardboard.services import bdbs as service
from shardboard.services.users import Principal
from shardboard.state import actions, bdbs, events, shards
from shardboard.state.actions import Action
from shardboard.state.bdbs import Bdb
from shardboard.state.events import Event
from shardboard.state.shards import Shard

ADMIN = Principal("admin@example.org", "admin")


@asynccontextmanager
async def running(
    console: Console, *, agents: Any = None, store: Store | None = None, instance: str = "test", removal: bool = True
) -> AsyncIterator[None]:
    """Both loops; afterwards they are gone like those of a console that was killed."""
    store, agents = store or console.store, agents or console.agents
    known = {**steppers(store, agents, Endpoints(store, console.bus, agents)), **node_moves.steppers(store, agents)}
    loop = ActionLoop(store, console.bus, known, instance)
    tasks = [asyncio.create_task(loop.run())]
    if removal:
        tasks.append(asyncio.create_task(RemovalLoop(store, console.bus, agents).run()))
    try:
        yield
    finally:
        working = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *working, return_exceptions=True)


class Gate:
    """Counts the steps that pass; the chosen one never gets through."""

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
    """Fake agents with a gate before and behind every call: told but not done, done but not known."""

    def __init__(self, agents: FakeAgents, gate: Gate) -> None:
        self._agents = agents
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._agents, name)

        async def gated(*arguments: Any, **named: Any) -> Any:
            await self._gate.step()
            result = await call(*arguments, **named)
            await self._gate.step()
            return result

        return gated


class GatedStore(Store):
    """A gate before and behind every transaction."""

    def __init__(self, store: Store, gate: Gate) -> None:
        self.__dict__.update(store.__dict__)
        self._gate = gate

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncSession]:
        await self._gate.step()
        async with super().begin() as session:
            yield session
        await self._gate.step()


async def create(console: Console, name: str = "shop", **fields: Any) -> int:
    """Order a database of three primaries and three replicas on three nodes."""
    given = {
        "name": name,
        "memory_size": 600_000_000,
        "sharding": True,
        "shards_count": 3,
        "replication": True,
        "shards_placement": "sparse",
    }
    async with console.store.begin() as session:
        made, _ = await service.create(session, given | fields, ADMIN)
    return made.uid


async def created(console: Console, name: str = "shop", **fields: Any) -> int:
    """The same, active."""
    uid = await create(console, name, **fields)
    async with running(console):
        await reach(console, uid, "active")
    return uid


async def reach(console: Console, uid: int, status: str) -> Bdb:
    """Wait until the database has this status."""
    async with asyncio.timeout(60):
        while True:
            found = await bdb(console, uid)
            if found is not None and found.status == status:
                return found
            await asyncio.sleep(0.005)


async def bdb(console: Console, uid: int) -> Bdb | None:
    async with console.store.read() as session:
        return await bdbs.by_uid(session, uid)


async def action(console: Console, uid: int) -> Action:
    """The newest one of a database."""
    async with console.store.read() as session:
        return (await actions.of_bdb(session, uid))[0]


async def rows(console: Console, uid: int) -> list[Shard]:
    """Every shard row of a database, those to be removed included."""
    async with console.store.read() as session:
        return [row for row in await shards.occupying(session) if row.bdb_uid == uid]


async def told(console: Console, uid: int) -> list[Event]:
    """What the log says of a database, oldest first."""
    async with console.store.read() as session:
        return list(await events.page(session, newest_first=False, bdb_uid=uid))


def alive(agents: FakeAgents) -> set[int]:
    """Uids of the shards that run somewhere."""
    return {uid for held in agents.running.values() for uid in held}
