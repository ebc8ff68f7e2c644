"""Rows that a step of a scenario run reads, and the node of its drill."""

from typing import Any

import pytest
from sqlalchemy import event

from shardboard.console import Console
from shardboard.domain.benchmarks.scenarios import scenario_steps
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.errors import Conflict
from shardboard.reconcilers.benchmarks import scenario_context
from shardboard.reconcilers.benchmarks.scenario_context import ScenarioContext
from shardboard.reconcilers.benchmarks.scenario_runs import _drill_node
from shardboard.state.benchmarks.scenario_runs import ScenarioRun
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]


def run_of(bdb_uids: list[int], load_nodes: list[int]) -> ScenarioRun:
    part = {**scenario_steps.new_part("first"), "bdb_uids": bdb_uids}
    return ScenarioRun(uid=1, load_nodes=load_nodes, plan=[{"name": "first"}], parts=[part])


async def add_shards(console: Console, bdb_uids: list[int], role: str) -> None:
    """Add a shard on node 1 and one on node 2 to each database."""
    async with console.store.begin() as session:
        for bdb_uid in bdb_uids:
            for node_uid in (1, 2):
                uid = 10 * bdb_uid + node_uid
                row = Shard.planned(uid, bdb_uid, node_uid, 0, role, "0-16383", 20000 + uid)
                row.observed_role = role
                session.add(row)


async def statements_of_lost_node(console: Console, bdb_uids: list[int]) -> int:
    """Return how many statements the search for a lost node executes."""
    statements: list[str] = []

    def record(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(console.store.engine.sync_engine, "before_cursor_execute", record)
    try:
        async with console.store.read() as session:
            run, databases = run_of(bdb_uids, [3]), [Bdb(uid=uid) for uid in bdb_uids]
            assert await scenario_context._lost_node(session, run, databases, []) == ""
    finally:
        event.remove(console.store.engine.sync_engine, "before_cursor_execute", record)
    return len(statements)


async def test_the_number_of_queries_does_not_depend_on_the_number_of_databases(console: Console) -> None:
    await add_shards(console, [1, 2, 3, 4], ShardRole.PRIMARY)
    assert await statements_of_lost_node(console, [1]) == await statements_of_lost_node(console, [1, 2, 3, 4])


async def test_a_drill_avoids_load_nodes(console: Console) -> None:
    await add_shards(console, [1], ShardRole.PRIMARY)
    async with console.store.read() as session:
        chosen = [
            await _drill_node(session, ScenarioContext(run_of([1], load_nodes), 0, [], [], ""))
            for load_nodes in ([2], [3], [1, 2])
        ]
    assert chosen == [1, 2, 2]


async def test_a_drill_has_a_node_during_a_failover(console: Console) -> None:
    """At that time, no shard is a primary."""
    await add_shards(console, [1], ShardRole.REPLICA)
    async with console.store.read() as session:
        assert await _drill_node(session, ScenarioContext(run_of([1], [2]), 0, [], [], "")) == 1
        with pytest.raises(Conflict, match="has no shards"):
            await _drill_node(session, ScenarioContext(run_of([9], [2]), 0, [], [], ""))
