"""Recordings of changes with fake agents: choice of copies, continuation, replacement, and killed consoles."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.data.data_helpers import started
from backend.tests.reconcilers.loop_helpers import events_of_bdb
from backend.tests.support import active_database, stored_backups
from backend.tests.support.active_database import BDB

from shardboard.console import Console
from shardboard.domain.data import recordings as rules
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.data import recording_context
from shardboard.reconcilers.data import recordings as steps
from shardboard.reconcilers.data.cleanup import DataCleanupLoop
from shardboard.reconcilers.data.recordings import RecordingLoop
from shardboard.services.data import locations
from shardboard.services.loop_requests import LoopRequests
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import recordings, transfers
from shardboard.state.data.backups import Backup
from shardboard.state.data.locations import BackupLocation
from shardboard.state.data.recordings import Recording
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

FIRST, SECOND = "a" * 40, "b" * 40
MOMENT = 1_795_000_000_000
"""Unix time in ms."""


@pytest.fixture
async def loop(console: Console, agents: FakeAgents, nodes: list[Node]) -> RecordingLoop:
    """A loop that has started to record the only pair of database 1: shard 2 on node 2 is the replica."""
    await active_database.create_active_database(console, agents, pairs=1)
    location_uid = await stored_backups.add_location(console)
    await set_schedule(console, record_changes=True)
    await stored_backups.configure(console, BDB, backup=True, backup_location_uid=location_uid)
    loop = new_loop(console)
    await loop.sweep()
    await loop.sweep()
    return loop


def new_loop(console: Console) -> RecordingLoop:
    return RecordingLoop(console.store, console.bus, console.agents, LoopRequests())  # type: ignore[arg-type]


async def set_schedule(console: Console, **changes: Any) -> None:
    defaults = {"cron": "0 2 * * *", "time_zone": "UTC", "window_minutes": 60, "verify": False}
    await stored_backups.configure(console, BDB, backup_schedule={**defaults, **changes})


def requests(agents: FakeAgents) -> list[Any]:
    return [agents.started_transfers[each][1].transfer for each in started(agents, "record")]


async def rows(console: Console) -> Sequence[Recording]:
    async with console.store.read() as session:
        return await recordings.list_all(session)


async def running(console: Console) -> list[str]:
    async with console.store.read() as session:
        return [each.uid for each in await transfers.list_for_recordings(session) if each.finished_at is None]


def report(agents: FakeAgents, identity: str, offset: int, replication_id: str = FIRST, seconds: float = 0) -> None:
    until = MOMENT + int(seconds * 1000)
    agents.set_transfer_progress(identity, replication_id=replication_id, offset=offset, recorded_until=until)


async def end(agents: FakeAgents, identity: str, offset: int, reason: str) -> None:
    result = {"replication_id": FIRST, "offset": offset, "recorded_until": MOMENT, "reason": reason, "details": "No."}
    agents.end_transfer(identity, result)


async def change_shard(console: Console, uid: int, **columns: Any) -> None:
    async with console.store.begin() as session:
        shard = await session.get_one(Shard, uid)
        for name, value in columns.items():
            setattr(shard, name, value)


async def skip_pauses(console: Console) -> None:
    async with console.store.begin() as session:
        for row in await recordings.list_open(session):
            row.retry_at = None


async def test_the_replica_is_followed_from_its_present_position(
    console: Console, agents: FakeAgents, loop: RecordingLoop
) -> None:
    [request] = requests(agents)
    [row] = await rows(console)
    assert (request.shard_uid, request.replication_id, request.offset) == (2, None, None)
    assert (request.segment_seconds, request.folder) == (30, row.folder)
    assert row.folder.startswith("shop-1/changes/0-16383/")
    [identity] = await running(console)
    report(agents, identity, 100)
    await loop.sweep()
    report(agents, identity, 250, seconds=30)
    await loop.sweep()
    [row] = await rows(console)
    assert (row.start_offset, row.end_offset, row.history) == (100, 250, [[FIRST, 100]])
    assert row.recorded_until == datetime.fromtimestamp(MOMENT / 1000 + 30, UTC)
    assert [each.type for each in await events_of_bdb(console, BDB)] == ["recording_started", "backup_started"]


async def test_a_backup_is_started_once_the_pair_is_recorded(
    console: Console, agents: FakeAgents, loop: RecordingLoop
) -> None:
    assert await stored_backups.all_backups(console) == []
    report(agents, (await running(console))[0], 100)
    await loop.sweep()
    await loop.sweep()
    [backup] = await stored_backups.all_backups(console)
    assert (backup.trigger, backup.originator) == ("schedule", "system")


async def change_backup(console: Console, **columns: Any) -> None:
    """Change the newest backup."""
    uid = (await stored_backups.all_backups(console))[-1].uid
    async with console.store.begin() as session:
        row = await session.get_one(Backup, uid)
        for name, value in columns.items():
            setattr(row, name, value)


async def add_failed(console: Console, **fields: Any) -> None:
    """Add a backup that has failed 2 hours ago, and is newer than the recording."""
    ended = datetime.now(UTC) - timedelta(hours=2)
    defaults = {"location_uid": 1, "location": None, "status": "failed", "finished_at": ended}
    await stored_backups.add_backup(console, BDB, datetime.now(UTC), **{**defaults, **fields})


@pytest.fixture
async def backed_up(console: Console, agents: FakeAgents, loop: RecordingLoop) -> RecordingLoop:
    """A loop whose recording continues a successful backup."""
    report(agents, (await running(console))[0], 100)
    await loop.sweep()
    await stored_backups.end_backups(console)
    return loop


async def test_a_failed_backup_after_a_successful_one_starts_no_other(
    console: Console, backed_up: RecordingLoop
) -> None:
    await add_failed(console)
    await backed_up.sweep()
    assert [each.status for each in await stored_backups.all_backups(console)] == ["succeeded", "failed"]


@pytest.mark.parametrize("other", [{"location_uid": 2}, {"location_uid": None, "location": stored_backups.LOCATION}])
async def test_a_backup_in_another_location_is_not_continued(
    console: Console, backed_up: RecordingLoop, other: dict[str, Any]
) -> None:
    await change_backup(console, **other)
    await backed_up.sweep()
    assert [each.location_uid for each in await stored_backups.all_backups(console)] == [other["location_uid"], 1]


@pytest.mark.parametrize(
    "location", [{"type": "url", "url": "ftp://app:secret@files.example.com/backups"}, stored_backups.LOCATION]
)
def test_locations_are_stored_in_the_same_form_as_those_of_backups(location: dict[str, Any]) -> None:
    """Otherwise no backup would be in the location of the recordings, and backups would be started again and again."""
    assert recording_context._parsed(location) == locations.of_export(location).model_dump(mode="json")


@pytest.mark.parametrize("path", ["/backups", "/other"])
async def test_only_backups_in_the_location_of_the_database_are_continued(
    console: Console, agents: FakeAgents, backed_up: RecordingLoop, path: str
) -> None:
    await stored_backups.configure(console, BDB, backup_location=stored_backups.LOCATION, backup_location_uid=0)
    for _ in range(3):
        await backed_up.sweep()
    report(agents, (await running(console))[0], 100)
    await backed_up.sweep()
    await stored_backups.end_backups(console)
    backup = (await stored_backups.all_backups(console))[-1]
    assert backup.location is not None
    await change_backup(console, location={**backup.location, "path": path})
    await backed_up.sweep()
    assert len(await stored_backups.all_backups(console)) == (2 if path == "/backups" else 3)


@pytest.mark.parametrize(
    ("ended", "is_retried", "count"), [(0, False, 1), (59, False, 1), (61, False, 2), (61, True, 1)]
)
async def test_another_backup_is_started_an_hour_after_a_failed_one(
    console: Console, backed_up: RecordingLoop, ended: int, is_retried: bool, count: int
) -> None:
    now = datetime.now(UTC)
    retry_at = now + timedelta(minutes=5) if is_retried else None
    await change_backup(console, status="failed", finished_at=now - timedelta(minutes=ended), retry_at=retry_at)
    await backed_up.sweep()
    assert len(await stored_backups.all_backups(console)) == count


async def test_another_copy_continues_after_the_last_stored_position(
    console: Console, agents: FakeAgents, loop: RecordingLoop
) -> None:
    [first] = await running(console)
    report(agents, first, 100)
    await loop.sweep()
    await end(agents, first, 300, "copy-lost")
    await loop.sweep()
    [row] = await rows(console)
    assert (row.end_offset, row.detail, row.failures) == (300, "No.", 1)
    await skip_pauses(console)
    await loop.sweep()
    await loop.sweep()
    request = requests(agents)[-1]
    assert (request.shard_uid, request.replication_id, request.offset) == (1, FIRST, 300)
    assert request.folder == row.folder


async def test_a_promotion_continues_the_recording_with_a_new_replication_id(
    console: Console, agents: FakeAgents, loop: RecordingLoop
) -> None:
    [identity] = await running(console)
    report(agents, identity, 100)
    await loop.sweep()
    report(agents, identity, 200, SECOND, 30)
    await loop.sweep()
    assert [row.history for row in await rows(console)] == [[[FIRST, 100], [SECOND, 100]]]


async def test_a_recording_that_no_copy_can_continue_is_replaced_and_a_backup_is_started(
    console: Console, agents: FakeAgents, loop: RecordingLoop
) -> None:
    report(agents, (await running(console))[0], 100)
    await loop.sweep()
    await stored_backups.end_backups(console)
    for tried in (1, 2):
        [identity] = await running(console)
        await end(agents, identity, 100, "stream-lost")
        await loop.sweep()
        await loop.sweep()
        assert len(await rows(console)) == tried
    ended, current = await rows(console)
    assert (ended.end_reason, ended.lost_on) == ("stream-lost", [2, 1])
    assert current.folder != ended.folder
    assert requests(agents)[-1].offset is None
    assert "recording_lost" in {each.type for each in await events_of_bdb(console, BDB)}
    report(agents, (await running(console))[0], 700)
    await loop.sweep()
    assert len(await stored_backups.all_backups(console)) == 2


async def test_moved_slots_end_the_recording_before_the_move(
    console: Console, agents: FakeAgents, loop: RecordingLoop
) -> None:
    [identity] = await running(console)
    later = (datetime.now(UTC) + timedelta(hours=1)).timestamp() * 1000
    agents.set_transfer_progress(identity, replication_id=FIRST, offset=100, recorded_until=int(later))
    await loop.sweep()
    now = datetime.now(UTC)
    async with console.store.begin() as session:
        session.add(
            Action(
                uid="reshard",
                name="SMReshardBDB",
                object_type="bdb",
                object_uid=BDB,
                status="running",
                created_at=now,
                deadline_at=now + timedelta(hours=1),
            )
        )
    await loop.sweep()
    [row] = await rows(console)
    assert (row.end_reason, row.recorded_until) == ("slots-moved", now)
    await loop.sweep()
    assert len(await rows(console)) == 1, "nothing is recorded while slots move"
    async with console.store.begin() as session:
        (await session.get_one(Action, "reshard")).finished_at = datetime.now(UTC)
    await loop.sweep()
    assert [each.end_reason for each in await rows(console)] == ["slots-moved", ""]


@pytest.mark.parametrize("what", ["off", "deleted"])
async def test_a_recording_that_is_not_requested_is_stopped(
    console: Console, agents: FakeAgents, loop: RecordingLoop, what: str
) -> None:
    [identity] = await running(console)
    report(agents, identity, 400)
    if what == "off":
        await set_schedule(console)
    else:
        async with console.store.begin() as session:
            await session.delete(await session.get_one(Bdb, BDB))
    await loop.sweep()
    [row] = await rows(console)
    assert (row.end_reason, row.end_offset) == ("stopped", 400), "what it had received was stored"
    assert await running(console) == []
    await DataCleanupLoop(console.store, console.bus, console.agents).sweep()  # type: ignore[arg-type]
    assert agents.transfers == {}
    assert not await loop.sweep()


async def test_other_settings_restart_the_transfer_of_the_same_recording(
    console: Console, agents: FakeAgents, loop: RecordingLoop
) -> None:
    report(agents, (await running(console))[0], 400)
    await loop.sweep()
    await set_schedule(console, record_changes=True, record_segment_seconds=5)
    for _ in range(3):
        await loop.sweep()
    first, second = requests(agents)
    assert (second.segment_seconds, second.offset, second.folder) == (5, 400, first.folder)
    async with console.store.begin() as session:
        (await session.get_one(BackupLocation, 1)).location = {"type": "mount_point", "path": "/other"}
    for _ in range(3):
        await loop.sweep()
    assert requests(agents)[-1].location.path == "/other"


async def test_other_public_keys_start_another_recording(
    console: Console, agents: FakeAgents, loop: RecordingLoop
) -> None:
    report(agents, (await running(console))[0], 400)
    await loop.sweep()
    async with console.store.begin() as session:
        (await session.get_one(BackupLocation, 1)).recipients = ["age1key"]
    for _ in range(3):
        await loop.sweep()
    assert [each.end_reason for each in await rows(console)] == ["location-changed", ""]
    assert requests(agents)[-1].recipients == ["age1key"]


async def test_a_silent_node_is_replaced(
    console: Console, agents: FakeAgents, loop: RecordingLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(agents, (await running(console))[0], 400)
    await loop.sweep()
    monkeypatch.setattr(steps, "SILENCE_SECONDS", 0.0)
    monkeypatch.setattr(rules, "retry_pause", lambda _: timedelta())
    agents.unreachable.add(2)
    for _ in range(3):
        await loop.sweep()
    assert (requests(agents)[-1].shard_uid, requests(agents)[-1].offset) == (1, 400)


async def test_a_replica_without_its_primary_is_not_followed(
    console: Console, agents: FakeAgents, loop: RecordingLoop
) -> None:
    report(agents, (await running(console))[0], 400)
    await loop.sweep()
    await change_shard(console, 2, observed_link="link_down")
    for _ in range(3):
        await loop.sweep()
    assert (requests(agents)[-1].shard_uid, requests(agents)[-1].offset) == (1, 400)


async def test_a_failed_transfer_is_repeated_after_a_pause(
    console: Console, agents: FakeAgents, loop: RecordingLoop
) -> None:
    agents.end_transfer((await running(console))[0], error="The bucket does not exist")
    for _ in range(3):
        await loop.sweep()
    [row] = await rows(console)
    assert (row.failures, row.detail) == (1, "The bucket does not exist.")
    assert len(requests(agents)) == 1
    await skip_pauses(console)
    await loop.sweep()
    await loop.sweep()
    assert len(requests(agents)) == 2


class KilledError(Exception):
    """Ends a loop between the rows and the request."""


async def test_a_console_killed_at_any_step_starts_each_recording_once(
    console: Console, agents: FakeAgents, nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    await active_database.create_active_database(console, agents)
    location_uid = await stored_backups.add_location(console)
    await set_schedule(console, record_changes=True)
    await stored_backups.configure(console, BDB, backup=True, backup_location_uid=location_uid)
    start = agents.start_transfer

    async def killed(*_: Any) -> Any:
        raise KilledError

    monkeypatch.setattr(agents, "start_transfer", killed)
    await new_loop(console).sweep()
    for _ in range(2):
        with pytest.raises(KilledError):
            await new_loop(console).sweep()
    monkeypatch.setattr(agents, "start_transfer", start)
    for _ in range(2):
        await new_loop(console).sweep()
    assert len(await rows(console)) == 3
    assert len(requests(agents)) == 3
