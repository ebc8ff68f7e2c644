"""Polls of transfers: intervals, and detection of stalled transfers."""

from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from shardboard.contract.locations import MountPoint
from shardboard.contract.transfers import Record
from shardboard.domain.data.statuses import TransferKind
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers.data import transfers as steps
from shardboard.reconcilers.data.transfers import FIRST_POLL_SECONDS, TransferPoller, new_row, next_poll
from shardboard.state.cluster.nodes import Node
from shardboard.state.data.transfers import Transfer


def started_ago(seconds: float, *, is_ended: bool = False) -> Transfer:
    row = new_row(1, TransferKind.SNAPSHOT)
    row.created_at = datetime.now(UTC) - timedelta(seconds=seconds)
    row.finished_at = row.created_at if is_ended else None
    return row


@pytest.mark.parametrize(
    ("ages", "expected"),
    [([0], FIRST_POLL_SECONDS), ([1], 0.5), ([60], 1.0), ([60, 1], 0.5), ([], 1.0), ([-60], FIRST_POLL_SECONDS)],
    ids=["new", "young", "old", "several", "none", "clock set back"],
)
def test_new_transfers_are_polled_more_often(ages: list[float], expected: float) -> None:
    rows = [*map(started_ago, ages), started_ago(0, is_ended=True)]
    assert next_poll(rows, 1.0) == pytest.approx(expected, abs=0.1)


async def test_a_recording_that_waits_for_its_location_is_not_stalled(
    agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "STALLED_SECONDS", 0.0)
    row, node = new_row(1, TransferKind.RECORD), Node(uid=1, addr="10.0.0.1")
    request = Record(
        location=MountPoint(path="/backups"), folder="a", shard_uid=1, engine_id="a" * 40, segment_seconds=30
    )
    poller = TransferPoller(cast(Agents, agents))
    await poller.poll([row], [node], lambda _: request)
    agents.set_transfer_progress(row.uid, problem="The location is not mounted.")
    for _ in range(2):
        assert (await poller.poll([row], [node], lambda _: request)).stalled == set()
    agents.set_transfer_progress(row.uid)
    assert (await poller.poll([row], [node], lambda _: request)).stalled == set()
    assert (await poller.poll([row], [node], lambda _: request)).stalled == {row.uid}


def test_the_longest_interval_is_kept() -> None:
    assert next_poll([started_ago(0)], 0.01) == 0.01
