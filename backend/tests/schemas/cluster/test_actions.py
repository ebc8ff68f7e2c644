"""Tests of actions in API replies."""

from datetime import UTC, datetime
from typing import Any

import pytest

from shardboard.domain.placement.moves import Move
from shardboard.schemas.cluster.actions import MAX_MOVES, render_v2
from shardboard.state.cluster.actions import Action


def action(moves: list[Move], **params: Any) -> Action:
    now = datetime.now(UTC)
    return Action(
        uid="a",
        name="SMRebalance",
        object_type="bdb",
        object_uid=1,
        status="running",
        progress=0.0,
        description="",
        error="",
        steps=[],
        originator="admin",
        created_at=now,
        deadline_at=now,
        cancelled_by="",
        params={"moves": [move.stored() for move in moves], **params},
    )


def rendered_moves(of: Action) -> Any:
    return render_v2(of)["additional_info"].get("moves")


def test_remaining_moves_are_rendered() -> None:
    moves = [
        Move(1, 0, "", removed=3, new_shard=7, to=2),
        Move(1, 1, "", new_shard=8, to=3),
        Move(2, 0, "", removed=9),
        Move(1, 2, "", promote=5),
    ]
    running = action(moves)
    assert rendered_moves(running) == [
        {"bdb_uid": 1, "pair": 0, "shard_uid": "3", "newcomer_uid": "7", "to_node_uid": 2},
        {"bdb_uid": 1, "pair": 1, "newcomer_uid": "8", "to_node_uid": 3},
        {"bdb_uid": 2, "pair": 0, "shard_uid": "9"},
    ]
    assert [each["pair"] for each in rendered_moves(action(moves, done=[0], failed={"2": "why"}))] == [1]
    running.finished_at = datetime.now(UTC)
    assert rendered_moves(running) is None


@pytest.mark.parametrize(("count", "is_shown"), [(0, False), (MAX_MOVES, True), (MAX_MOVES + 1, False)])
def test_too_many_moves_are_omitted(count: int, is_shown: bool) -> None:
    assert (rendered_moves(action([Move(1, n, "", removed=n + 1) for n in range(count)])) is not None) == is_shown
