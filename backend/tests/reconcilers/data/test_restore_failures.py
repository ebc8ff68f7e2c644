"""Restores that fail, are cancelled, or wait for a primary, with fake agents."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.data.data_helpers import (
    KEYS,
    restore_result,
    running,
    start_restore,
    started,
    wait_for_restore,
)
from backend.tests.reconcilers.loop_helpers import get_bdb, shard_rows
from backend.tests.support.real_shards import wait_until
from sqlalchemy import update

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers import loop
from shardboard.reconcilers.data import restore_erasure
from shardboard.reconcilers.data import restores as steps
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes", "short_restore_intervals")]


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


def flushed(agents: FakeAgents) -> list[int]:
    return [uid for uid, argv in agents.commands if argv[0] == "FLUSHALL"]


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
    assert "had already been deleted, so it is incomplete" in restore["detail"]
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


async def test_a_promoted_replica_has_its_files_checked_before_keys_are_deleted(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, backup_uid: int
) -> None:
    del agents.transfer_results["check_files"]
    uid = await start_restore(client, 1, backup_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "check_files")) == 3)
        first, *others = started(agents, "check_files")
        for identity in others:
            agents.end_transfer(identity, {})
        await swap_roles(console, 0)
        agents.end_transfer(first, {})
        await wait_until(lambda: len(started(agents, "check_files")) == 4)
        assert flushed(agents) == []
        agents.end_transfer(started(agents, "check_files")[-1], {})
        restore = await wait_for_restore(console, uid, "succeeded")
    again: Any = agents.started_transfers[started(agents, "check_files")[-1]][1].transfer
    assert any("/0-5460." in path for path in again.paths)
    assert restore["restored"] == 3 * KEYS


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
