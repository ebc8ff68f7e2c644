"""Nodes that are read as plain rows have the values of their ORM objects."""

from shardboard.console import Console
from shardboard.domain.cluster.node_status import AgentStatus, NodeHealth
from shardboard.domain.databases.unknown_shards import Unknown, UnknownShard
from shardboard.state.cluster import nodes as state
from shardboard.state.cluster.nodes import Node, StoredNode

UNKNOWN = Unknown((UnknownShard(9, 7, "0" * 40, 20_001, 25_001, 0, 0),))


async def test_plain_rows(console: Console, nodes: list[Node]) -> None:
    async with console.store.begin() as session:
        first, second, third = await state.list_all(session)
        first.agent_status, first.trusted_cas = AgentStatus.LOST, "a"
        second.health, second.ca_failure = NodeHealth.DOWN, "b"
        third.unknown = UNKNOWN.stored()
    async with console.store.read() as session:
        objects, rows = await state.list_all(session), await state.list_stored(session)
        for name in (*StoredNode._fields, "is_available", "has_ca_state"):
            assert [getattr(row, name) for row in rows] == [getattr(each, name) for each in objects], name
        assert [row.is_available for row in rows] == [False, False, True]
        assert [row.has_ca_state for row in rows] == [True, True, False]
        assert await state.outdated_bdbs(session) == {7}
        assert await state.unknown_by_uid(session) == {1: {}, 2: {}, 3: UNKNOWN.stored()}
