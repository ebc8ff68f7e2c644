"""Tests of querying the actions of a database."""

from datetime import UTC, datetime, timedelta

import pytest

from shardboard.console import Console
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import MAX_ATTEMPTS, Action

pytestmark = pytest.mark.store

NOW = datetime.now(UTC)


def action(number: int, name: str = "SMFailover", status: str = "failed", bdb_uid: int = 1) -> Action:
    at = NOW - timedelta(minutes=number)
    return Action(
        uid=f"{bdb_uid}-{name}-{number}",
        name=name,
        object_type="bdb",
        object_uid=bdb_uid,
        status=status,
        created_at=at,
        deadline_at=at,
    )


async def test_open_actions_are_found_regardless_of_age(console: Console) -> None:
    async with console.store.begin() as session:
        session.add_all([action(number) for number in range(2 * MAX_ATTEMPTS)])
        session.add_all([action(1, bdb_uid=2, status="running"), action(5, name="SMFlushBDB", status="completed")])
        session.add_all([action(900, name="SMReshard", status="running"), action(901, status="queued")])
    async with console.store.read() as session:
        assert [each.uid for each in await actions.list_open_for_bdb(session, 1)] == [
            "1-SMReshard-900",
            "1-SMFailover-901",
        ]
        attempts = await actions.list_attempts_for_bdb(session, 1, "SMFailover")
    assert [each.uid for each in attempts] == [f"1-SMFailover-{number}" for number in range(MAX_ATTEMPTS)]
