"""Tests that frequent queries of events and actions use an index."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.store.db import Store

pytestmark = pytest.mark.store

NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)
QUERIES: dict[str, Callable[[AsyncSession], Awaitable[Any]]] = {
    "open span of a node": lambda session: events.open_span(session, "node_failed", node_uid=1),
    "open span of a shard": lambda session: events.open_span(session, "resync", shard_uid=1),
    "newest": lambda session: events.newest(session, "resync", bdb_uid=1),
    "newest ended": lambda session: events.newest_ended(session, "resync", bdb_uid=1),
    "newest loss": lambda session: events.newest_loss(session, 1, 1),
    "open spans": lambda session: events.list_open_spans(session, "resync"),
    "open alarms": events.list_open_alarms,
    "timeline": lambda session: events.list_overlapping(session, ["resync", "node_up"], NOW - HOUR, NOW, limit=10),
    "actions of a database": lambda session: actions.list_for_bdb(session, 1),
    "actions of a kind": lambda session: actions.list_for_object(session, "node"),
    "unfinished actions": actions.list_unfinished,
    "recent actions": actions.list_recent,
}


@asynccontextmanager
async def record_statements(store: Store) -> AsyncIterator[list[tuple[str, Any]]]:
    statements: list[tuple[str, Any]] = []

    def record_statement(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("SELECT"):
            statements.append((statement, parameters))

    event.listen(store.engine.sync_engine, "before_cursor_execute", record_statement)
    try:
        yield statements
    finally:
        event.remove(store.engine.sync_engine, "before_cursor_execute", record_statement)


@pytest.mark.parametrize("query", QUERIES)
async def test_query_uses_an_index(store: Store, query: str) -> None:
    async with store.read() as session:
        if postgres := session.get_bind().dialect.name == "postgresql":
            await session.execute(text("SET enable_seqscan = off"))  # otherwise PostgreSQL scans the empty table
        async with record_statements(store) as statements:
            await QUERIES[query](session)
        assert statements
        connection = await session.connection()
        for statement, parameters in statements:
            explain = "EXPLAIN " if postgres else "EXPLAIN QUERY PLAN "
            rows = (await connection.exec_driver_sql(explain + statement, parameters)).all()
            plan = "\n".join(str(row[-1]) for row in rows)
            assert "Seq Scan" not in plan, (statement, plan)
            assert "Index" in plan or ("USING INDEX" in plan and "SEARCH" in plan) or "SCAN actions USING" in plan, plan


async def test_open_span_follows_the_details(store: Store) -> None:
    async with store.begin() as session:
        span = events.record(session, "resync", "It began.", source="shard", shard_uid=1, details={"open": True})
        events.record(session, "resync", "An instant.", source="shard", shard_uid=2)
    async with store.read() as session:
        assert [each.uid for each in await events.list_open_spans(session, "resync")] == [span.uid]
        assert await events.open_span(session, "resync", shard_uid=2) is None
    async with store.begin() as session:
        found_span = await events.open_span(session, "resync", shard_uid=1)
        assert found_span is not None
        found_span.details = {**found_span.details, "open": False}
        found_span.ended_at = NOW
    async with store.read() as session:
        assert not await events.list_open_spans(session, "resync")


async def test_spans_overlapping_an_interval_are_found(store: Store) -> None:
    def record_span(session: AsyncSession, start: float, ended: float | None = None, **details: Any) -> int:
        span = events.record(session, "resync", "It was.", source="shard", details=details)
        span.time = NOW + start * HOUR
        span.ended_at = None if ended is None else NOW + ended * HOUR
        return len(names)

    names: list[str] = []
    async with store.begin() as session:
        for name, start, ended, is_open in (
            ("over before", -5, -4, False),
            ("reaches in", -4, -1.5, False),
            ("around", -4, 5, False),
            ("open", -4, None, True),
            ("instant before", -3, None, False),
            ("instant within", -1.8, None, False),
            ("begins within", -1.2, 3, False),
            ("after", -0.5, None, False),
        ):
            names.append(name)
            record_span(session, start, ended, open=is_open)
    async with store.read() as session:
        spans = await events.list_overlapping(session, ["resync"], NOW - 2 * HOUR, NOW - HOUR, limit=10)
        assert [names[each.uid - 1] for each in spans] == [
            "reaches in",
            "around",
            "open",
            "instant within",
            "begins within",
        ]
        newest = await events.list_overlapping(session, ["resync"], NOW - 2 * HOUR, NOW - HOUR, limit=2)
        assert [names[each.uid - 1] for each in newest] == ["instant within", "begins within"]
