"""A database whose traffic somebody stops: proxies hear of it no more, and of all of it when traffic is resumed."""

import pytest
from backend.tests.reconcilers.loops import ADMIN, action, bdb, created, reach, rows, running, told
from backend.tests.shards import until

from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.errors import Conflict, NotFound
from shardboard.services import traffic as service
from shardboard.state.nodes import Node

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def order(console: Console, uid: int, *, stop: bool) -> str | None:
    async with console.store.begin() as session:
        action = await service.order(session, uid, ADMIN, stop=stop)
        return action.uid if action is not None else None


def serving(agents: FakeAgents, uid: int) -> set[int]:
    """Nodes whose proxy is to serve it."""
    return {node for node, state in agents.proxies.items() if uid in {database.uid for database in state.databases}}


async def test_it_is_stopped_and_resumed(console: Console, agents: FakeAgents) -> None:
    uid = await created(console)
    before = {row.uid for row in await rows(console, uid)}
    async with running(console):
        await until(lambda: bool(serving(agents, uid)))
        where = serving(agents, uid)
        await order(console, uid, stop=True)
        stopped = await reach(console, uid, "active")
        assert (stopped.traffic_stopped, stopped.action_uid, stopped.status_detail) == (True, None, "")
        assert serving(agents, uid) == set()
        assert (await told(console, uid))[-1].type == "bdb_traffic_stopped"
        assert await order(console, uid, stop=True) is None, "it is so already"

        await order(console, uid, stop=False)
        assert not (await reach(console, uid, "active")).traffic_stopped
        assert serving(agents, uid) == where
        assert (await told(console, uid))[-1].type == "bdb_traffic_resumed"
        assert await order(console, uid, stop=False) is None
    assert {row.uid for row in await rows(console, uid)} == before


async def test_a_proxy_that_does_not_serve_again_is_waited_for(console: Console, agents: FakeAgents) -> None:
    uid = await created(console)
    async with running(console):
        await order(console, uid, stop=True)
        await reach(console, uid, "active")
        agents.proxy_failures[uid] = "Address in use."
        await order(console, uid, stop=False)

        async def waits() -> bool:
            return "unreachable_since" in (await action(console, uid)).params

        await until(waits)
        del agents.proxy_failures[uid]
        assert not (await reach(console, uid, "active")).traffic_stopped


async def test_a_busy_database_and_none(console: Console, nodes: list[Node]) -> None:
    uid = await created(console)
    await order(console, uid, stop=True)
    with pytest.raises(Conflict):
        await order(console, uid, stop=False)
    with pytest.raises(NotFound):
        await order(console, 99, stop=True)
    found = await bdb(console, uid)
    assert found is not None
    assert found.status == "active-change-pending"
