"""Encryption and progress of backups with fake agents."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.data.data_helpers import (
    add_location,
    complete_all,
    get_backup,
    running,
    start_backup,
    started,
    wait_for_backup,
)
from backend.tests.reconcilers.loop_helpers import create_active_database, shard_rows
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.domain.data.manifest import parse
from shardboard.driver.fake_agents import FakeAgents
from shardboard.kit import age, age_keys
from shardboard.reconcilers.data import backups as steps
from shardboard.state.data import backups

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(steps, "POLL_SECONDS", 0.01)
    return


async def test_encrypted_backups_name_their_public_keys(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    identity = age_keys.generate_identity()
    recipient = age_keys.recipient_of(identity)
    bdb_uid = await create_active_database(console)
    await add_location(client)
    assert (await client.put("/v1/backup_locations/1", json={"recipients": [recipient]})).status_code == 200
    complete_all(agents)
    uid = await start_backup(client, bdb_uid)
    assert (await client.put("/v1/backup_locations/1", json={"recipients": []})).status_code == 200
    async with running(console):
        await wait_for_backup(console, uid, "succeeded")
    requests: list[Any] = [agents.started_transfers[each][1].transfer for each in started(agents, "snapshot")]
    assert [each.recipients for each in requests] == [[recipient]] * 3, "the keys when the backup was requested apply"
    assert all(each.path.endswith(".rdb.zst.age") for each in requests)
    written: Any = agents.started_transfers[started(agents, "write_file")[0]][1].transfer
    sealed = parse(json.loads(written.text))
    assert (sealed.recipients, list(sealed.slots), len(sealed.files)) == ([recipient], [], 3)
    private = json.loads(age.decrypt_text(sealed.sealed, [identity]))
    async with console.store.read() as session:
        stored = await backups.manifest(session, uid)
    assert stored is not None
    assert (private["slots"], private["functions"]) == (stored["slots"], ["lib"])


async def test_progress_of_a_first_backup_is_estimated_from_the_memory(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    for row in await shard_rows(console, bdb_uid):
        agents.info[row.uid, "memory"] = "# Memory\r\nused_memory:900\r\nused_memory_dataset:600\r\n"
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "snapshot")) == 3)
        for identity in started(agents, "snapshot"):
            agents.set_transfer_progress(identity, raw_bytes=150)
        async with asyncio.timeout(60):
            while True:
                backup = await get_backup(console, uid)
                assert backup is not None
                if {file["progress"] for file in backup["files"]} == {25.0} and backup["progress"] > 20:
                    break
                await asyncio.sleep(0.005)
    assert [file["is_estimate"] for file in backup["files"]] == [True] * 3
