"""Restores and imports with fake agents: the deletion of keys, transfers by node, comparison, failures, and killed consoles."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.data.data_helpers import (
    KEYS,
    add_location,
    complete_all,
    restore_result,
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
from shardboard.contract.transfers import StartTransfer, TransferState
from shardboard.domain.data import restore_plan
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.reconcilers import loop
from shardboard.reconcilers.data import backups as backup_steps
from shardboard.reconcilers.data import cleanup, inspections, restore_erasure
from shardboard.reconcilers.data import restores as steps
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]
DIGEST = "0123456789abcdef"


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(backup_steps, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(steps, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(inspections, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(restore_plan, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(cleanup, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(cleanup, "IDLE_SECONDS", 0.05)
    return


@pytest.fixture
def contents(agents: FakeAgents, monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[int, str]]:
    """Keys and digest by slot, which all snapshots contain and all restores write, limited to their slots. Can be changed."""
    held = dict.fromkeys((5, 6000, 12000), (KEYS, DIGEST))
    start = agents.start_transfer

    def slots_in(ranges: Any) -> list[dict[str, Any]]:
        return [
            {"slot": slot, "keys": keys, "digest": digest}
            for slot, (keys, digest) in held.items()
            if any(first <= slot <= last for first, last in ranges)
        ]

    async def start_transfer(node: NodeRef, request: StartTransfer) -> TransferState:
        message = request.transfer
        if message.kind == "snapshot":
            found = slots_in(message.slots)
            agents.transfer_results["snapshot"] = {
                **agents.transfer_results["snapshot"],
                "slots": found,
                "keys": sum(each["keys"] for each in found),
            }
        elif message.kind == "restore" and "restore" in agents.transfer_results:
            found = slots_in([each for target in message.targets for each in target.slots])
            written = sum(each["keys"] for each in found)
            agents.transfer_results["restore"] = restore_result(slots=found, restored=written)
        return await start(node, request)

    monkeypatch.setattr(agents, "start_transfer", start_transfer)
    complete_all(agents)
    return held


@pytest.fixture
async def backup_uid(client: httpx.AsyncClient, console: Console, contents: dict[int, tuple[int, str]]) -> int:
    """A backup of database 1, which has three shards with replicas."""
    bdb_uid = await create_active_database(console)
    await add_location(client)
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        await wait_for_backup(console, uid, "succeeded")
    return uid


async def set_pair(console: Console, pair: int, *, status: str) -> None:
    """Set the observed status of all shards of a pair."""
    async with console.store.begin() as session:
        for row in await shard_rows(console, 1):
            if row.pair == pair:
                (await session.get_one(Shard, row.uid)).observed_status = status


async def swap_roles(console: Console, pair: int) -> None:
    """Record that the replica of a pair was promoted."""
    async with console.store.begin() as session:
        for each in await shard_rows(console, 1):
            if each.pair == pair:
                row = await session.get_one(Shard, each.uid)
                row.set_role("master" if row.role == "slave" else "slave", datetime.now(UTC))


async def until_waiting(client: httpx.AsyncClient, uid: int) -> None:
    """Wait until the action of a restore shows that it waits for a primary."""
    action_uid = (await client.get(f"/v1/restores/{uid}")).json()["action_uid"]
    async with asyncio.timeout(30):
        while "no available primary" not in (await client.get(f"/v2/actions/{action_uid}")).text:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def end_soon(console: Console) -> None:
    """Set the deadline of all actions to the near future."""
    async with console.store.begin() as session:
        deadline = datetime.now(UTC) + steps.STOP_MARGIN / 2
        await session.execute(update(Action).values(deadline_at=deadline))


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
    contents[6000] = (KEYS - 1, DIGEST)
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


async def test_a_failure_after_the_deletion_is_reported_as_incomplete(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    del agents.transfer_results["restore"]
    uid = await start_restore(client, 1, backup_uid)

    async def fail_all() -> None:
        while True:
            for identity in started(agents, "restore"):
                if identity in agents.transfers and agents.transfers[identity].state == "running":
                    agents.end_transfer(identity, error="the file is corrupted", error_code="file-corrupted")
            await asyncio.sleep(0.005)

    failing = asyncio.create_task(fail_all())
    async with running(console):
        restore = await wait_for_restore(console, uid, "failed")
        failing.cancel()
        await wait_until(lambda: not agents.transfers)
    assert "failed 3 times. The file is corrupted." in restore["detail"]
    assert "were deleted before, and it is incomplete now" in restore["detail"]
    bdb = await get_bdb(console, 1)
    assert bdb is not None
    assert bdb.status == "active"
    assert "incomplete" in bdb.status_detail


async def test_a_cancelled_restore_stops_its_transfers_first(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    del agents.transfer_results["restore"]
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "restore")) == 3)
        action_uid = (await client.get(f"/v1/restores/{uid}")).json()["action_uid"]
        assert (await client.delete(f"/v1/actions/{action_uid}")).status_code == 200
        restore = await wait_for_restore(console, uid, "cancelled")
        assert not set(started(agents, "restore")) & agents.transfers.keys(), (
            "no transfer runs after the action has ended"
        )
    assert "incomplete" in restore["detail"]


async def test_a_restore_without_a_primary_fails_before_it_changes_keys(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "UNREACHABLE_TIMEOUT", timedelta())
    await set_pair(console, 1, status="down")
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        restore = await wait_for_restore(console, uid, "failed")
    assert restore["detail"] == "Replication pair 2 has no available primary."
    assert flushed(agents) == []


async def test_a_restore_that_deleted_keys_waits_for_a_promoted_replica(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "UNREACHABLE_TIMEOUT", timedelta())
    del agents.transfer_results["restore"]
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "restore")) == 3)
        await set_pair(console, 1, status="down")
        for identity in started(agents, "restore"):
            targets: Any = agents.started_transfers[identity][1].transfer
            if any(target.slots == [(5461, 10922)] for target in targets.targets):
                agents.end_transfer(identity, error="the shard is gone", error_code="shard-unavailable")
            else:
                agents.end_transfer(identity, restore_result())
        await until_waiting(client, uid)
        await swap_roles(console, 1)
        await wait_until(lambda: len(started(agents, "restore")) == 4)
        agents.end_transfer(started(agents, "restore")[-1], restore_result())
        restore = await wait_for_restore(console, uid, "succeeded_with_losses")
    assert restore["restored"] == 3 * KEYS


async def test_a_primary_that_restarts_gets_more_attempts(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    del agents.transfer_results["restore"]
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        for count in range(3, 10):
            await wait_until(lambda number=count: len(started(agents, "restore")) == number)  # type: ignore[misc]
            agents.end_transfer(started(agents, "restore")[-1], error="it is loading", error_code="shard-unavailable")
        await wait_until(lambda: len(started(agents, "restore")) == 10)
        for identity in started(agents, "restore"):
            if identity in agents.transfers and agents.transfers[identity].state == "running":
                agents.end_transfer(identity, restore_result())
        await wait_for_restore(console, uid, "succeeded_with_losses")


async def test_at_its_deadline_a_restore_stops_its_transfers(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    del agents.transfer_results["restore"]
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "restore")) == 3)
        await set_pair(console, 1, status="down")
        await end_soon(console)
        restore = await wait_for_restore(console, uid, "failed")
        assert not set(started(agents, "restore")) & agents.transfers.keys()
    assert "did not end before its deadline. The replication pair 2 has no available primary." in restore["detail"]


async def test_a_database_stays_locked_until_its_transfers_are_removed(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "STOP_SECONDS", 0.0)
    del agents.transfer_results["restore"]
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "restore")) == 3)
        first = started(agents, "restore")[0]
        agents.unreachable.add(agents.started_transfers[first][0])
        await end_soon(console)
        await wait_for_restore(console, uid, "failed")
        await wait_until(lambda: set(started(agents, "restore")) & agents.transfers.keys() == {first})
        bdb = await get_bdb(console, 1)
        assert bdb is not None
        assert bdb.status == "import-pending"
        assert "locked until the processes" in bdb.status_detail
        reply = await client.post("/v1/bdbs/1/actions/restore", json={"backup_uid": backup_uid})
        assert (reply.status_code, reply.json()["error_code"]) == (409, "busy")
        agents.unreachable.clear()
        async with asyncio.timeout(30):
            while (bdb := await get_bdb(console, 1)) is None or bdb.status != "active":  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    assert first not in agents.transfers
    assert "incomplete" in bdb.status_detail


@pytest.mark.parametrize("is_disconnected", [True, False])
async def test_a_promoted_replica_without_the_deletion_is_erased_before_keys_are_written(
    client: httpx.AsyncClient,
    console: Console,
    agents: FakeAgents,
    backup_uid: int,
    monkeypatch: pytest.MonkeyPatch,
    is_disconnected: bool,
) -> None:
    monkeypatch.setattr(restore_erasure, "CONFIRM_SECONDS", 0.0)
    rows = await shard_rows(console, 1)
    replicas = {row.pair: row.uid for row in rows if row.role == "slave"}
    agents.offsets = dict.fromkeys([row.uid for row in rows], 100)
    if is_disconnected:
        agents.unsynced.add(replicas[1])
    else:
        agents.offsets[replicas[1]] = 99
    del agents.transfer_results["restore"]
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "restore")) == 3)
        before = flushed(agents)
        assert not set(replicas.values()) & set(before)
        for pair in (0, 1):
            await swap_roles(console, pair)
        await wait_until(lambda: len(started(agents, "restore")) >= 5)
        assert [each for each in flushed(agents) if each not in before] == [replicas[1]]
        commands = [command for command in agents.commands if command[1][0] == "FLUSHALL"]
        assert commands[-1][0] == replicas[1]
        for identity in started(agents, "restore"):
            agents.end_transfer(identity, restore_result())
        restore = await wait_for_restore(console, uid, "succeeded_with_losses")
    assert restore["restored"] == 3 * KEYS


async def test_a_promoted_replica_gets_all_keys_again(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    del agents.transfer_results["restore"]
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "restore")) == 3)
        first = started(agents, "restore")[0]
        lost: Any = agents.started_transfers[first][1].transfer
        [lost_uid] = [target.shard_uid for target in lost.targets]
        agents.end_transfer(first, restore_result())
        async with console.store.begin() as session:
            rows = {row.uid: await session.get_one(Shard, row.uid) for row in await shard_rows(console, 1)}
            for row in rows.values():
                if row.pair == rows[lost_uid].pair:
                    row.set_role("slave" if row.uid == lost_uid else "master", datetime.now(UTC))
        await wait_until(lambda: len(started(agents, "restore")) == 4)
        for identity in started(agents, "restore")[1:]:
            agents.end_transfer(identity, restore_result())
        restore = await wait_for_restore(console, uid, "succeeded_with_losses")
    assert restore["restored"] == 3 * KEYS, "the keys of the former primary are not counted"


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
