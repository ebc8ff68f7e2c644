"""Stopping the traffic of a database removes it from all proxies. Resuming restores it completely."""

import pytest
from backend.tests.reconcilers.loop_helpers import (
    ADMIN,
    create_active_database,
    events_of_bdb,
    get_bdb,
    latest_action,
    running_loops,
    shard_rows,
    wait_for_status,
)
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.errors import Conflict, NotFound
from shardboard.services.databases import traffic as service
from shardboard.state.cluster.nodes import Node

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def request_traffic(console: Console, uid: int, *, stop: bool) -> str | None:
    async with console.store.begin() as session:
        action = await service.schedule(session, uid, ADMIN, stop=stop)
        return action.uid if action is not None else None


def serving(agents: FakeAgents, uid: int) -> set[int]:
    """Return the nodes whose proxy serves the database."""
    return {node for node, state in agents.proxies.items() if uid in {database.uid for database in state.databases}}


async def test_traffic_is_stopped_and_resumed(console: Console, agents: FakeAgents) -> None:
    uid = await create_active_database(console)
    before = {row.uid for row in await shard_rows(console, uid)}
    async with running_loops(console):
        await wait_until(lambda: bool(serving(agents, uid)))
        nodes_before = serving(agents, uid)
        await request_traffic(console, uid, stop=True)
        bdb = await wait_for_status(console, uid, "active")
        assert (bdb.traffic_stopped, bdb.action_uid, bdb.status_detail) == (True, None, "")
        assert serving(agents, uid) == set()
        assert (await events_of_bdb(console, uid))[-1].type == "bdb_traffic_stopped"
        assert await request_traffic(console, uid, stop=True) is None, "the traffic is already stopped"

        await request_traffic(console, uid, stop=False)
        assert not (await wait_for_status(console, uid, "active")).traffic_stopped
        assert serving(agents, uid) == nodes_before
        assert (await events_of_bdb(console, uid))[-1].type == "bdb_traffic_resumed"
        assert await request_traffic(console, uid, stop=False) is None
    assert {row.uid for row in await shard_rows(console, uid)} == before


async def test_resuming_waits_for_a_proxy_that_fails(console: Console, agents: FakeAgents) -> None:
    uid = await create_active_database(console)
    async with running_loops(console):
        await request_traffic(console, uid, stop=True)
        await wait_for_status(console, uid, "active")
        agents.proxy_failures[uid] = "Address in use."
        await request_traffic(console, uid, stop=False)

        async def waits() -> bool:
            return "unreachable_since" in (await latest_action(console, uid)).params

        await wait_until(waits)
        del agents.proxy_failures[uid]
        assert not (await wait_for_status(console, uid, "active")).traffic_stopped


async def test_busy_and_unknown_databases_are_rejected(console: Console, nodes: list[Node]) -> None:
    uid = await create_active_database(console)
    await request_traffic(console, uid, stop=True)
    with pytest.raises(Conflict):
        await request_traffic(console, uid, stop=False)
    with pytest.raises(NotFound):
        await request_traffic(console, 99, stop=True)
    bdb_row = await get_bdb(console, uid)
    assert bdb_row is not None
    assert bdb_row.status == "active-change-pending"
