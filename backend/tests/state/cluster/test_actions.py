"""Tests of querying the actions of a database."""

from datetime import UTC, datetime, timedelta

import pytest

from shardboard.console import Console
from shardboard.domain.cluster.actions import ActionName
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import MAX_ATTEMPTS, Action

pytestmark = pytest.mark.store

NOW = datetime.now(UTC)


def action(number: int, name: str = "SMFailover", status: str = "failed", bdb_uid: int = 1) -> Action:
    created_at = NOW - timedelta(minutes=number)
    return Action(
        uid=f"{bdb_uid}-{name}-{number}",
        name=name,
        object_type="bdb",
        object_uid=bdb_uid,
        status=status,
        created_at=created_at,
        deadline_at=created_at,
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
        attempts = await actions.list_attempts_for_bdb(session, 1, ActionName.FAILOVER)
    assert [each.uid for each in attempts] == [f"1-SMFailover-{number}" for number in range(MAX_ATTEMPTS)]


async def test_attempts_of_the_previous_release_are_found(console: Console) -> None:
    async with console.store.begin() as session:
        session.add_all([action(1, name="SMReviveReplicas"), action(2, name="SMRecoverReplicas"), action(3)])
    async with console.store.read() as session:
        attempts = await actions.list_attempts_for_bdb(session, 1, ActionName.RECOVER_REPLICAS)
    assert [each.name for each in attempts] == ["SMReviveReplicas", "SMRecoverReplicas"]
    assert {each.current_name for each in attempts} == {ActionName.RECOVER_REPLICAS}
