"""Tests that two concurrent operations on one database are not accepted: the second waits for the lock and is rejected."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from backend.tests.support import active_database
from backend.tests.support.real_shards import wait_until
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.errors import Conflict
from shardboard.services.access.authorization import Principal
from shardboard.services.databases import bdbs
from shardboard.services.failures import failover
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards

pytestmark = [pytest.mark.store]

PRINCIPAL = Principal("admin@example.org", "admin")
Operation = Callable[[AsyncSession], Awaitable[Any]]


async def _failover(session: AsyncSession) -> None:
    primary = next(row for row in await shards.list_for_bdb(session, 1) if row.current_role == "master")
    await failover.schedule(session, [primary.uid], PRINCIPAL, force=False, dry_run=False)


OPERATIONS: dict[str, Operation] = {
    "flush": lambda session: bdbs.flush(session, 1, PRINCIPAL),
    "delete": lambda session: bdbs.delete(session, 1, PRINCIPAL),
    "change": lambda session: bdbs.update(session, 1, {"memory_size": 8 << 30}, PRINCIPAL),
    "failover": _failover,
}


async def is_waiting(console: Console, task: "asyncio.Task[Any]") -> bool:
    """Whether the second operation waits for the first or has finished."""
    if task.done():
        return True
    if console.store.engine.dialect.name == "sqlite":
        return console.store._turn.locked()  # type: ignore[union-attr] - no other writer is active
    async with console.store.read() as session:
        ungranted = await session.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted"))
        return bool(ungranted.scalar_one())


@pytest.mark.parametrize(("first", "second"), [each for each in product(OPERATIONS, OPERATIONS) if each[0] != "delete"])
async def test_second_operation_is_rejected(
    console: Console, agents: FakeAgents, nodes: list[Node], first: str, second: str
) -> None:
    await active_database.create_active_database(console, agents)

    async def run_second() -> None:
        async with console.store.begin() as session:
            await OPERATIONS[second](session)

    async with console.store.begin() as session:
        await OPERATIONS[first](session)
        second_task = asyncio.create_task(run_second())
        await wait_until(lambda: is_waiting(console, second_task))
    if (first, second) == ("failover", "delete"):  # the deletion is queued until the failover ends
        await second_task
        return
    with pytest.raises(Conflict):
        await second_task
    async with console.store.read() as session:
        assert len(await actions.list_open_for_bdb(session, 1)) == 1


async def test_starting_an_action_without_the_lock_raises_an_error(console: Console) -> None:
    async with console.store.begin() as session:
        with pytest.raises(RuntimeError):
            queue.enqueue(session, "SMx", object_uid=1, description="", originator="", deadline=timedelta(60))
