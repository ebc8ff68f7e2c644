"""Tests of the loop that deletes recorded changes."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.data.data_helpers import started
from backend.tests.support import active_database, stored_backups
from backend.tests.support.active_database import BDB

from shardboard.collectors.data.change_cleanup import ChangeCleanup
from shardboard.collectors.data.location_access import LocationAccess
from shardboard.collectors.data.request_transfers import RequestTransfers
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import recordings
from shardboard.state.data.backups import Backup
from shardboard.state.data.recordings import Recording

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ID = "a" * 40


@pytest.fixture
async def cleanup(console: Console, agents: FakeAgents, nodes: list[Node]) -> ChangeCleanup:
    await active_database.create_active_database(console, agents, pairs=1)
    agents.transfer_results["delete_files"] = {}
    agents.transfer_results["list_files"] = {
        "files": [{"path": f"changes/x/{ID}-{end - 100}-{end}-1-2.changes.zst"} for end in (100, 200, 300)],
    }
    return ChangeCleanup(console.store, LocationAccess(RequestTransfers(console.store, console.agents)))  # type: ignore[arg-type]


async def add_base(console: Console, offset: int) -> int:
    positions = [{"replication_id": ID, "offset": offset, "ended": NOW.isoformat()}]
    return await stored_backups.add_backup(console, BDB, NOW, positions=positions)


async def add_recording(console: Console, **fields: Any) -> None:
    async with console.store.begin() as session:
        session.add(
            Recording(
                bdb_uid=BDB,
                pair=0,
                slots="0-16383",
                location=stored_backups.LOCATION,
                folder="changes/x",
                segment_seconds=30,
                history=[[ID, 0]],
                start_offset=0,
                end_offset=300,
                created_at=NOW,
                recorded_until=NOW + timedelta(hours=1),
                **fields,
            )
        )


def deleted(agents: FakeAgents) -> list[str]:
    requests: list[Any] = [agents.started_transfers[each][1].transfer for each in started(agents, "delete_files")]
    return [path.rpartition("/")[2].split("-")[2] for each in requests for path in each.paths]


async def remaining(console: Console) -> list[int]:
    async with console.store.read() as session:
        return [row.deleted_until for row in await recordings.list_all(session)]


async def test_files_before_the_oldest_backup_are_deleted_once(
    console: Console, agents: FakeAgents, cleanup: ChangeCleanup
) -> None:
    await add_recording(console)
    await cleanup.sweep()
    assert deleted(agents) == [], "a backup can still be started"
    await add_base(console, 250)
    oldest = await add_base(console, 200)
    await cleanup.sweep()
    await cleanup.sweep()
    assert deleted(agents) == ["100", "200"]
    assert await remaining(console) == [200]
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Backup, oldest))
        session.add(Backup(**_running()))
    await cleanup.sweep()
    assert await remaining(console) == [200], "nothing is deleted during a backup"


def _running() -> dict[str, Any]:
    return {
        "bdb_uid": BDB,
        "bdb_name": "shop",
        "location_name": "",
        "path": "",
        "kind": "backup",
        "trigger": "manual",
        "status": "running",
        "created_at": NOW,
        "shards_count": 1,
        "slots": {},
        "bdb": {},
        "originator": "",
        "action_uid": "",
    }


async def test_a_recording_that_no_backup_needs_is_deleted_with_its_files(
    console: Console, agents: FakeAgents, cleanup: ChangeCleanup
) -> None:
    await add_recording(console, ended_at=NOW, end_reason="stopped")
    await add_base(console, 400)
    await cleanup.sweep()
    assert deleted(agents) == ["100", "200", "300"]
    assert await remaining(console) == []


@pytest.mark.parametrize(
    "result",
    [
        {"files": [{"path": "shop-1/backup/0.rdb"}]},
        {"files": [{"path": "changes/x/../../shop-1/0.rdb"}]},
        {"files": [{"path": f"changes/x/{ID}-0-100-1-2.changes.zst"}], "truncated": True},
        {"files": [], "truncated": True},
    ],
    ids=["other folder", "parent folder", "endless", "empty"],
)
async def test_nothing_is_deleted_if_a_list_is_invalid(
    console: Console, agents: FakeAgents, cleanup: ChangeCleanup, result: dict[str, Any]
) -> None:
    await add_recording(console, ended_at=NOW, end_reason="stopped")
    await add_base(console, 400)
    agents.transfer_results["list_files"] = result
    await asyncio.wait_for(cleanup.sweep(), 5)
    assert deleted(agents) == []
    assert await remaining(console) == [0]


async def test_an_unavailable_location_is_tried_again(
    console: Console, agents: FakeAgents, cleanup: ChangeCleanup
) -> None:
    await add_recording(console)
    await add_base(console, 200)
    agents.transfer_refused = "The location is not mounted."
    await cleanup.sweep()
    assert await remaining(console) == [0]
    agents.transfer_refused = ""
    await cleanup.sweep()
    assert await remaining(console) == [200]
