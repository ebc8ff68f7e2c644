"""Restores and imports with fake agents: the deletion of keys, transfers by node, comparison, and killed consoles."""

import asyncio
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.data.data_helpers import (
    KEYS,
    running,
    start_backup,
    start_restore,
    started,
    wait_for_backup,
    wait_for_restore,
)
from backend.tests.reconcilers.loop_helpers import Gate, create_active_database, events_of_bdb, get_bdb, shard_rows
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.real_shards import wait_until
from sqlalchemy import update

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.bdbs import Bdb

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes", "short_restore_intervals")]


def requests(agents: FakeAgents) -> list[Any]:
    return [agents.started_transfers[each][1].transfer for each in started(agents, "restore")]


def flushed(agents: FakeAgents) -> list[int]:
    return [uid for uid, argv in agents.commands if argv[0] == "FLUSHALL"]


async def test_a_restore_deletes_all_keys_and_compares_the_result(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    uid = await start_restore(client, 1, backup_uid)
    bdb = await get_bdb(console, 1)
    assert bdb is not None
    assert bdb.status == "import-pending"
    async with running(console):
        restore = await wait_for_restore(console, uid, "succeeded")
    primaries = {row.uid for row in await shard_rows(console, 1) if row.role == "master"}
    assert set(flushed(agents)) == primaries
    assert {target.shard_uid for each in requests(agents) for target in each.targets} == primaries
    assert all(len(each.files) == len(each.targets) for each in requests(agents)), "each shard reads its own file"
    assert (restore["restored"], restore["skipped"], restore["mismatched_slots"]) == (3 * KEYS, 0, 0)
    assert restore["erased"]
    bdb = await get_bdb(console, 1)
    assert bdb is not None
    assert (bdb.status, bdb.status_detail, bdb.action_uid) == ("active", "", None)
    types = [event.type for event in await events_of_bdb(console, 1)]
    assert types[-2:] == ["import_started", "import_succeeded"]


@pytest.mark.parametrize("shards_count", [1, 5])
async def test_a_restore_into_another_number_of_shards(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int, shards_count: int
) -> None:
    target = await create_active_database(console, "other", shards_count=shards_count, sharding=shards_count > 1)
    uid = await start_restore(client, target, backup_uid)
    async with running(console):
        restore = await wait_for_restore(console, uid, "succeeded")
    assert (restore["restored"], restore["mismatched_slots"]) == (3 * KEYS, 0)
    files = {file.path for each in requests(agents) for file in each.files}
    assert len(files) == 3
    assert sum(len(each.targets) for each in requests(agents)) == shards_count


async def test_merging_keeps_other_keys(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    uid = await start_restore(client, 1, backup_uid, mode="merge", key_patterns=["user:*"])
    async with running(console):
        restore = await wait_for_restore(console, uid, "succeeded")
    assert flushed(agents) == []
    assert requests(agents)[0].key_patterns == ["user:*"]
    assert (restore["erased"], restore["mismatched_slots"]) == (False, None)


async def test_differences_from_the_manifest_are_reported(
    client: httpx.AsyncClient, console: Console, backup_uid: int, contents: dict[int, tuple[int, str]]
) -> None:
    contents[5] = (KEYS, "f" * 16)
    contents[6000] = (KEYS - 1, contents[6000][1])
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        restore = await wait_for_restore(console, uid, "succeeded_with_losses")
    assert restore["mismatched_slots"] == 2
    assert "2 slots differ" in restore["detail"]


async def test_no_keys_are_deleted_if_a_node_cannot_read_the_files(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    del agents.transfer_results["check_files"]
    uid = await start_restore(client, 1, backup_uid)

    async def fail_one_node() -> None:
        while True:
            for identity in started(agents, "check_files"):
                if identity in agents.transfers and agents.transfers[identity].state == "running":
                    is_first = agents.started_transfers[identity][0] == 1
                    agents.end_transfer(
                        identity, error="No such file" if is_first else "", error_code="wrong-file-path"
                    )
            await asyncio.sleep(0.005)

    failing = asyncio.create_task(fail_one_node())
    async with running(console):
        restore = await wait_for_restore(console, uid, "failed")
        failing.cancel()
    assert restore["detail"] == "Node 1 cannot read the files. No such file."
    assert not restore["erased"]
    assert flushed(agents) == []
    assert requests(agents) == []


@pytest.mark.parametrize("is_complete", [True, False])
async def test_files_are_read_completely_before_keys_are_deleted(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int, is_complete: bool
) -> None:
    uid = await start_restore(client, 1, backup_uid, verify_files=is_complete)
    async with running(console):
        await wait_for_restore(console, uid, "succeeded")
    checks = [agents.started_transfers[each][1].transfer for each in started(agents, "check_files")]
    assert len({path for each in checks for path in each.paths}) == 3
    for each in checks:
        assert each.sha256 == (dict.fromkeys(each.paths, "a" * 64) if is_complete else {})


async def test_a_damaged_file_costs_no_keys(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    del agents.transfer_results["check_files"]
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "check_files")) == 3)
        [first, *others] = started(agents, "check_files")
        agents.set_transfer_progress(others[0], bytes=150)
        await wait_until(lambda: _progress_is(client, uid, 15.0))
        agents.end_transfer(first, error="The checksum differs.", error_code="file-corrupted")
        restore = await wait_for_restore(console, uid, "failed")
    assert "cannot read the files. The checksum differs." in restore["detail"]
    assert flushed(agents) == []
    assert len(started(agents, "check_files")) == 3, "a damaged file is not read again"


async def _progress_is(client: httpx.AsyncClient, uid: int, progress: float) -> bool:
    found: float = (await client.get(f"/v1/restores/{uid}")).json()["progress"]
    return found == progress


async def test_a_backup_that_is_too_large_is_refused(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    agents.transfer_results["snapshot"] |= {"raw_bytes": 2**33}
    large = await start_backup(client, 1)
    async with running(console):
        await wait_for_backup(console, large, "succeeded")
    body = {"backup_uid": large}
    reply = await client.post("/v1/bdbs/1/actions/restore", json={**body, "force": True})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "file-larger-than-mem-limit"), "it does not evict"
    async with console.store.begin() as session:
        row = await session.get_one(Bdb, 1)
        row.config = {**row.config, "eviction_policy": "allkeys-lru"}
    reply = await client.post("/v1/bdbs/1/actions/restore", json=body)
    assert reply.status_code == 406
    assert "at least 25,769,803,776 bytes" in reply.json()["description"]
    assert "allows 300,000,000 bytes" in reply.json()["description"]
    for accepted in ({"key_patterns": ["user:*"]}, {"slots": "1-4"}, {"force": True}):
        reply = await client.post("/v1/bdbs/1/actions/restore", json={**body, **accepted})
        assert reply.status_code == 200, reply.text
        async with console.store.begin() as session:
            await session.execute(update(Action).values(status="completed"))
            await session.execute(update(Bdb).values(status="active"))


async def test_only_selected_slots_are_restored(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    uid = await start_restore(client, 1, backup_uid, mode="merge", slots="7000,0-99")
    async with running(console):
        restore = await wait_for_restore(console, uid, "succeeded")
    assert (restore["slots"], restore["expected_keys"], restore["restored"]) == ("0-99,7000", KEYS, KEYS)
    slots = sorted(target.slots for each in requests(agents) for target in each.targets)
    assert slots == [[(0, 99)], [(7000, 7000)]]
    assert all(each.key_patterns == ["*"] for each in requests(agents)), "function libraries are kept"


@pytest.mark.parametrize("slots", ["5-1", "0-16384", "16384"])
async def test_invalid_slots_are_rejected(client: httpx.AsyncClient, backup_uid: int, slots: str) -> None:
    reply = await client.post("/v1/bdbs/1/actions/restore", json={"backup_uid": backup_uid, "slots": slots})
    assert (reply.status_code, reply.json()["error_code"]) == (406, "invalid_slots")


async def test_an_import_reads_sources_in_order(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    sources = [
        {"type": "mount_point", "path": "/srv/dumps/a.rdb.gz"},
        {"type": "s3", "bucket_name": "b", "subdir": "dir", "filename": "b.rdb", "secret_access_key": "secret-word"},
        {"type": "url", "url": "https://user:secret-word@example.org/dumps/c.rdb?signature=secret-word"},
    ]
    reply = await client.post("/v1/bdbs/1/actions/import", json={"dataset_import_sources": sources})
    assert reply.status_code == 200, reply.text
    async with running(console):
        restore = await wait_for_restore(console, reply.json()["restore_uid"], "succeeded")
    assert [(each.location.type, each.files[0].path) for each in requests(agents)] == [
        *[("mount_point", "a.rdb.gz")] * 3,
        *[("s3", "b.rdb")] * 3,
        *[("url", "c.rdb")] * 3,
    ]
    assert requests(agents)[0].location.path == "/srv/dumps"
    assert (restore["kind"], restore["source"]) == ("import", "/srv/dumps (a.rdb.gz) and 2 other files")
    shown = (await client.get("/v1/restores")).text + str(
        [each.description for each in await events_of_bdb(console, 1)]
    )
    assert "secret-word" not in shown


async def test_killed_at_every_step_a_restore_completes(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int, sampling: Sampling
) -> None:
    for closed_at in sampling.kill_steps(12, 200):
        agents.commands.clear()
        uid = await start_restore(client, 1, backup_uid)
        before, gate = len(started(agents, "restore")), Gate(closed_at)
        async with running(console, gate):
            ending = asyncio.create_task(wait_for_restore(console, uid, "succeeded"))
            killed = asyncio.create_task(gate.reached.wait())
            await asyncio.wait({ending, killed}, return_when=asyncio.FIRST_COMPLETED)
        async with running(console):
            restore = await ending
            await wait_until(lambda: not agents.transfers)
        killed.cancel()
        assert (restore["restored"], restore["mismatched_slots"]) == (3 * KEYS, 0), closed_at
        assert len(started(agents, "restore")) == before + 3, closed_at
        assert len(set(flushed(agents))) == 3, closed_at
        if gate.passed < closed_at:
            return
    raise AssertionError("the operation never completed")
