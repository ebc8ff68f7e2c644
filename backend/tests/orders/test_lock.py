"""Two orders at once never run on one database: whoever comes second waits, looks, and is refused."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from backend.tests import pairs
from backend.tests.shards import until
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.errors import Conflict
from shardboard.orders import queue
from shardboard.services import bdbs, failovers
from shardboard.services.users import Principal
from shardboard.state import actions, shards
from shardboard.state.nodes import Node

pytestmark = [pytest.mark.store]

WHO = Principal("admin@example.org", "admin")
Order = Callable[[AsyncSession], Awaitable[Any]]


async def _failover(session: AsyncSession) -> None:
    primary = next(row for row in await shards.of_bdb(session, 1) if row.current_role == "master")
    await failovers.order(session, [primary.uid], WHO, force=False, dry_run=False)


ORDERS: dict[str, Order] = {
    "flush": lambda session: bdbs.flush(session, 1, WHO),
    "delete": lambda session: bdbs.delete(session, 1, WHO),
    "change": lambda session: bdbs.update(session, 1, {"memory_size": 8 << 30}, WHO),
    "failover": _failover,
}


async def waits(console: Console, task: "asyncio.Task[Any]") -> bool:
    """Until the second order is held up by the first, or is through."""
    if task.done():
        return True
    if console.store.engine.dialect.name == "sqlite":
        return console.store._turn.locked()  # type: ignore[union-attr] - nobody else writes before the first has
    async with console.store.read() as session:
        held = await session.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted"))
        return bool(held.scalar_one())


@pytest.mark.parametrize(("first", "second"), [each for each in product(ORDERS, ORDERS) if each[0] != "delete"])
async def test_the_second_is_refused(
    console: Console, agents: FakeAgents, nodes: list[Node], first: str, second: str
) -> None:
    await pairs.active(console, agents)

    async def order() -> None:
        async with console.store.begin() as session:
            await ORDERS[second](session)

    async with console.store.begin() as session:
        await ORDERS[first](session)
        later = asyncio.create_task(order())
        await until(lambda: waits(console, later))
    if (first, second) == ("failover", "delete"):  # which is queued, and waits for the end of the other
        await later
        return
    with pytest.raises(Conflict):
        await later
    async with console.store.read() as session:
        assert len(await actions.open_of_bdb(session, 1)) == 1


async def test_an_order_without_the_lock_is_a_mistake(console: Console) -> None:
    async with console.store.begin() as session:
        with pytest.raises(RuntimeError):
            queue.start(session, "SMx", object_uid=1, description="", originator="", deadline=timedelta(60))
