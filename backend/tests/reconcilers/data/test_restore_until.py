"""Restores to a point in time with fake agents: choice of the backup and of the files with changes, and failures before keys are
deleted.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.data.data_helpers import running, started, wait_for_restore
from backend.tests.reconcilers.loop_helpers import create_active_database

from shardboard.console import Console
from shardboard.domain.data import file_lists
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.data.backups import Backup
from shardboard.state.data.recordings import Recording

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes", "short_restore_intervals")]

ID = "a" * 40
PAIRS = 3
BASE = 1000
"""Offset of the files of the backup."""


def moment(console_backup: datetime, seconds: float) -> datetime:
    return console_backup + timedelta(seconds=seconds)


@pytest.fixture
async def recorded_at(console: Console, agents: FakeAgents, backup_uid: int) -> datetime:
    """End of the backup, whose changes are recorded for an hour, in files of 1000 bytes and 20 minutes. Restores replay them."""
    async with console.store.begin() as session:
        backup = await session.get_one(Backup, backup_uid)
        ended = datetime(2026, 11, 30, 12, tzinfo=UTC)
        backup.positions = [{"replication_id": ID, "offset": BASE, "ended": ended.isoformat()}] * PAIRS
        for pair in range(PAIRS):
            session.add(
                Recording(
                    bdb_uid=1,
                    pair=pair,
                    slots=backup.slots[str(pair)],
                    location_uid=backup.location_uid,
                    location=backup.location,
                    folder=f"changes/{pair}",
                    segment_seconds=30,
                    history=[[ID, 500]],
                    start_offset=500,
                    end_offset=4000,
                    created_at=ended,
                    recorded_until=ended + timedelta(hours=1),
                )
            )
    start = agents.start_transfer

    async def answer(node: Any, request: Any) -> Any:
        if request.transfer.kind == "list_files":
            agents.transfer_results["list_files"] = {"files": files(request.transfer.folder, ended)}
        state = await start(node, request)
        if request.transfer.kind == "restore":
            agents.transfers[request.id] = state = state.model_copy(update={"result": {**state.result, "replayed": 7}})
        return state

    agents.start_transfer = answer  # type: ignore[method-assign]
    return ended


def files(folder: str, ended: datetime, *, missing: int = -1) -> list[dict[str, Any]]:
    first = int(ended.timestamp() * 1000)
    times = [(first + (n - 1) * 1_200_000, first + n * 1_200_000) for n in range(4)]
    names = [f"{n * 1000 + 500}-{n * 1000 + 1500}-{since}-{until}" for n, (since, until) in enumerate(times)]
    return [{"path": f"{folder}/{ID}-{name}.changes.zst"} for n, name in enumerate(names) if n != missing]


async def restore(client: httpx.AsyncClient, until: datetime, bdb_uid: int = 1, **more: Any) -> httpx.Response:
    body = {"until": until.isoformat(), **more}
    return await client.post(f"/v1/bdbs/{bdb_uid}/actions/restore", json=body)


def requests(agents: FakeAgents) -> list[Any]:
    return [agents.started_transfers[each][1].transfer for each in started(agents, "restore")]


async def test_changes_until_the_time_are_replayed(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, recorded_at: datetime
) -> None:
    until = moment(recorded_at, 1500)
    reply = await restore(client, until)
    assert reply.status_code == 200, reply.text
    async with running(console):
        result = await wait_for_restore(console, reply.json()["restore_uid"], "succeeded")
    assert (result["until"], result["mismatched_slots"]) == ("2026-11-30T12:25:00Z", None)
    assert result["replayed"] == 7 * len(requests(agents))
    for file in (each for request in requests(agents) for each in request.files):
        names = [path.rpartition("/")[2].split("-")[1] for path in file.changes]
        assert names == ["500", "1500", "2500"], "from the file with the offset to the one with the time"
        assert (file.changes_after, file.changes_until) == (BASE, int(until.timestamp() * 1000))
    slots = [each.changes_slots for request in requests(agents) for each in request.files]
    assert sorted(slots) == [[(0, 5460)], [(5461, 10922)], [(10923, 16383)]]


async def test_another_database_with_another_number_of_shards_receives_the_data(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, recorded_at: datetime
) -> None:
    target = await create_active_database(console, "other", shards_count=2)
    reply = await restore(client, moment(recorded_at, 60), target, source_bdb_uid=1)
    async with running(console):
        await wait_for_restore(console, reply.json()["restore_uid"], "succeeded")
    assert len({file.path for each in requests(agents) for file in each.files}) == PAIRS


async def test_a_missing_file_costs_no_keys(
    client: httpx.AsyncClient,
    console: Console,
    agents: FakeAgents,
    recorded_at: datetime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    complete = files
    monkeypatch.setitem(globals(), "files", lambda folder, ended: complete(folder, ended, missing=2))
    reply = await restore(client, moment(recorded_at, 3000))
    async with running(console):
        result = await wait_for_restore(console, reply.json()["restore_uid"], "failed")
    assert "A file with recorded changes is missing in changes/" in result["detail"]
    assert not result["erased"]
    assert requests(agents) == []


async def test_a_damaged_file_with_changes_costs_no_keys(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, recorded_at: datetime
) -> None:
    del agents.transfer_results["check_files"]
    start = agents.start_transfer

    async def check(node: Any, request: Any) -> Any:
        state = await start(node, request)
        if request.transfer.kind != "check_files":
            return state
        is_damaged = any("1500-2500-" in path for path in request.transfer.paths)
        error = "The file is damaged." if is_damaged else ""
        agents.end_transfer(request.id, error=error, error_code="file-corrupted")
        return agents.transfers[request.id]

    agents.start_transfer = check  # type: ignore[method-assign]
    reply = await restore(client, moment(recorded_at, 1500))
    async with running(console):
        result = await wait_for_restore(console, reply.json()["restore_uid"], "failed")
    assert "cannot read the files. The file is damaged." in result["detail"]
    assert not result["erased"]
    assert requests(agents) == []


@pytest.mark.parametrize(
    "page",
    [
        {"files": [], "truncated": True},
        {"files": [{"path": "other/a"}]},
        {"files": [{"path": "changes/../a"}], "truncated": True},
    ],
)
async def test_invalid_lists_of_changes_are_reported(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, recorded_at: datetime, page: dict[str, Any]
) -> None:
    answer_lists(agents, lambda _: page)
    reply = await restore(client, moment(recorded_at, 1500))
    async with running(console):
        result = await wait_for_restore(console, reply.json()["restore_uid"], "failed")
    assert "cannot be listed. The node returned an invalid list of files" in result["detail"]
    assert requests(agents) == []


def answer_lists(agents: FakeAgents, page: Callable[[Any], dict[str, Any]]) -> None:
    """Let agents answer requests for lists with a page."""
    start = agents.start_transfer

    async def answer(node: Any, request: Any) -> Any:
        state = await start(node, request)
        if request.transfer.kind == "list_files" and state.result is not None:
            agents.end_transfer(request.id, page(request.transfer))
            state = agents.transfers[request.id]
        return state

    agents.start_transfer = answer  # type: ignore[method-assign]


async def test_lists_without_end_fail(
    client: httpx.AsyncClient,
    console: Console,
    agents: FakeAgents,
    recorded_at: datetime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(file_lists, "MAX_PAGES", 3)
    answer_lists(agents, lambda request: {"files": [{"path": f"{request.after}a"}], "truncated": True})
    reply = await restore(client, moment(recorded_at, 1500))
    async with running(console):
        result = await wait_for_restore(console, reply.json()["restore_uid"], "failed")
    assert "does not end after 3 parts" in result["detail"]
    assert not result["erased"]


async def test_lists_are_continued_after_files_of_other_programs(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, recorded_at: datetime
) -> None:
    """The last file of a page is in a folder below that of the recording."""

    def page(request: Any) -> dict[str, Any]:
        if request.after.endswith("/"):
            return {"files": [{"path": f"{request.folder}/0/other"}], "truncated": True}
        assert request.after == f"{request.folder}/0/other"
        return {"files": files(request.folder, recorded_at)}

    answer_lists(agents, page)
    reply = await restore(client, moment(recorded_at, 1500))
    async with running(console):
        await wait_for_restore(console, reply.json()["restore_uid"], "succeeded")
    assert len(started(agents, "list_files")) == 2


async def test_the_nearest_restorable_times_are_named(client: httpx.AsyncClient, recorded_at: datetime) -> None:
    windows = (await client.get("/v1/bdbs/1/restore_windows")).json()
    expected = {"from": "2026-11-30T12:00:00Z", "to": "2026-11-30T13:00:00Z", "backup_uid": 1, "bdb_uid": 1}
    assert windows == [expected]
    assert (await client.get("/v1/restore_windows")).json() == windows
    for seconds, nearest in ((-1, "12:00:00"), (3601, "13:00:00")):
        reply = await restore(client, moment(recorded_at, seconds))
        assert (reply.status_code, reply.json()["error_code"]) == (406, "no_restore_point")
        assert f"The nearest restorable time is 2026-11-30 {nearest} UTC." in reply.json()["description"]


async def test_invalid_requests_are_rejected(client: httpx.AsyncClient, recorded_at: datetime) -> None:
    path, until = "/v1/bdbs/1/actions/restore", moment(recorded_at, 60).isoformat()
    for body in ({}, {"until": until, "backup_uid": 1}, {"until": "2026-11-30T12:00:00"}):
        assert (await client.post(path, json=body)).status_code == 400, body
    assert (await client.post(path, json={"until": until, "mode": "merge"})).json()["error_code"] == "not_supported"
    assert (await client.post(path, json={"until": until, "source_bdb_uid": 9})).status_code == 404
    assert (await client.get("/v1/bdbs/9/restore_windows")).status_code == 404
    target = (await client.post("/v1/bdbs", json={"name": "empty", "memory_size": 10**8, "sharding": False})).json()
    assert (await client.get(f"/v1/bdbs/{target['uid']}/restore_windows")).json() == []
