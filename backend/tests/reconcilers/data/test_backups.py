"""Backups with fake agents: choice of copies, retries, cancellation, clean-up, and killed consoles."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.data.data_helpers import (
    KEYS,
    add_location,
    complete_all,
    get_backup,
    running,
    snapshot_result,
    start_backup,
    started,
    wait_for_backup,
)
from backend.tests.reconcilers.loop_helpers import Gate, create_active_database, events_of_bdb, get_bdb, shard_rows
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.contract.transfers import Snapshot
from shardboard.domain.data.manifest import parse
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.data import backups as steps
from shardboard.reconcilers.data import transfers as transfer_steps
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import backups, transfers
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes", "short_backup_intervals")]


async def stored_on_nodes(console: Console) -> list[str]:
    async with console.store.read() as session:
        return [row.uid for row in await transfers.list_stored_on_nodes(session)]


async def wait_until_removed(console: Console, *, except_for: Sequence[str] = ()) -> None:
    """Wait until nodes store only these transfers."""

    async def is_removed() -> bool:
        return await stored_on_nodes(console) == list(except_for)

    await wait_until(is_removed)


async def test_a_backup_reads_replicas_and_writes_the_manifest_last(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    complete_all(agents)
    agents.transfer_results["write_file"] = {"sha256": "b" * 64}
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        backup = await wait_for_backup(console, uid, "succeeded")
        await wait_until_removed(console)
    replicas = {row.uid for row in await shard_rows(console, bdb_uid) if row.role == "slave"}
    assert {file["shard_uid"] for file in backup["files"]} == replicas
    assert [file["status"] for file in backup["files"]] == ["succeeded"] * 3
    assert (backup["keys"], backup["bytes"], backup["raw_bytes"]) == (3 * KEYS, 300, 900)
    kinds = [request.transfer.kind for _, request in agents.started_transfers.values()]
    assert kinds == ["snapshot"] * 3 + ["write_file"]
    [written] = started(agents, "write_file")
    text: Any = agents.started_transfers[written][1].transfer
    manifest = parse(json.loads(text.text))
    assert (manifest.keys, len(manifest.files), manifest.functions) == (3 * KEYS, 3, ["lib"])
    assert "secret-word" not in text.text
    async with console.store.read() as session:
        assert await backups.manifest(session, uid) == json.loads(text.text)
        stored = await backups.by_uid(session, uid)
    assert stored is not None
    assert stored.manifest_sha256 == "b" * 64
    assert agents.transfers == {}, "nodes keep nothing"
    bdb = await get_bdb(console, bdb_uid)
    assert bdb is not None
    assert (bdb.status, bdb.action_uid) == ("active", None)
    types = [event.type for event in await events_of_bdb(console, bdb_uid)]
    assert types[-2:] == ["backup_started", "backup_succeeded"]


async def test_other_actions_are_refused_during_a_backup(client: httpx.AsyncClient, console: Console) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    await start_backup(client, bdb_uid)
    for path in ("backup", "restore", "import", "export"):
        body = {
            "restore": {"backup_uid": 1},
            "import": {"dataset_import_sources": [{"type": "mount_point", "path": "/a/b.rdb"}]},
            "export": {"export_location": {"type": "mount_point", "path": "/a"}},
        }.get(path, {})
        reply = await client.post(f"/v1/bdbs/{bdb_uid}/actions/{path}", json=body)
        assert (reply.status_code, reply.json()["error_code"]) == (409, "busy"), reply.text
    assert (await client.put(f"/v1/bdbs/{bdb_uid}/flush")).status_code == 409


async def test_a_failed_snapshot_is_repeated_with_the_other_copy(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console, shards_count=1, sharding=False)
    await add_location(client)
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "snapshot")) == 1)
        [first] = started(agents, "snapshot")
        agents.end_transfer(first, error="the connection to the shard was closed", error_code="shard-unavailable")
        await wait_until(lambda: len(started(agents, "snapshot")) == 2)
        second = started(agents, "snapshot")[1]
        requests = [agents.started_transfers[each][1].transfer for each in (first, second)]
        assert requests[0].shard_uid != requests[1].shard_uid  # type: ignore[union-attr]
        assert requests[0].path != requests[1].path  # type: ignore[union-attr]
        complete_all(agents)
        agents.end_transfer(second, snapshot_result())
        await wait_for_backup(console, uid, "succeeded")


async def test_a_backup_fails_after_three_attempts_and_its_files_are_deleted(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    agents.transfer_refused = "The disk is full."
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        backup = await wait_for_backup(console, uid, "failed")
        assert "in 3 attempts. The disk is full." in backup["detail"]
        agents.transfer_refused = ""
        async with console.store.begin() as session:
            (await session.get_one(backups.Backup, uid)).delete_retry_at = None
        complete_all(agents)
        await wait_until(lambda: len(started(agents, "delete_files")) == 1)
        await wait_until_removed(console)
    [deletion] = started(agents, "delete_files")
    request: Any = agents.started_transfers[deletion][1].transfer
    assert request.paths[0] == f"{backup['path']}/manifest.json"
    assert all(path.startswith(backup["path"]) for path in request.paths)
    assert [event.type for event in await events_of_bdb(console, bdb_uid)][-1] == "backup_failed"


async def test_a_cancelled_backup_leaves_nothing(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "snapshot")) == 3)
        backup = await get_backup(console, uid)
        assert backup is not None
        assert (await client.delete(f"/v1/actions/{backup['action_uid']}")).status_code == 200
        complete_all(agents)
        await wait_for_backup(console, uid, "cancelled")
        await wait_until(lambda: bool(started(agents, "delete_files")))
        await wait_until_removed(console)
        assert agents.transfers == {}
        assert (await client.delete(f"/v1/backups/{uid}")).json()["status"] == "deleting"

        async def is_deleted() -> bool:
            return await get_backup(console, uid) is None

        await wait_until(is_deleted)
    assert (await client.get(f"/v1/backups/{uid}")).status_code == 404


async def test_transfers_of_an_unreachable_node_are_replaced_and_removed_later(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "SILENCE_SECONDS", 0.0)
    bdb_uid = await create_active_database(console, shards_count=1, sharding=False)
    await add_location(client)
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        await wait_until(lambda: len(started(agents, "snapshot")) == 1)
        [first] = started(agents, "snapshot")
        node_uid, request = agents.started_transfers[first]
        async with console.store.begin() as session:
            (await session.get_one(Node, node_uid)).agent_status = "disconnected"
        agents.unreachable.add(node_uid)
        complete_all(agents)
        backup = await wait_for_backup(console, uid, "succeeded")
        assert backup["files"][0]["node_uid"] != node_uid
        await wait_until_removed(console, except_for=[first])
        agents.unreachable.clear()
        async with console.store.begin() as session:
            (await session.get_one(Node, node_uid)).agent_status = "connected"
        await wait_until_removed(console)
        await wait_until(lambda: bool(started(agents, "delete_files")))
    assert first in agents.removed_transfers
    deletion: Any = agents.started_transfers[started(agents, "delete_files")[0]][1].transfer
    assert deletion.paths == [request.transfer.path], "the late file is deleted"  # type: ignore[union-attr]


async def test_the_manifest_is_written_only_if_its_node_has_the_files(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console)
    folder = {"type": "mount_point", "path": "/srv/backups"}
    assert (await client.post("/v1/backup_locations", json={"name": "nfs", "location": folder})).status_code == 200
    complete_all(agents)
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        await wait_for_backup(console, uid, "succeeded")
    request: Any = agents.started_transfers[started(agents, "write_file")[0]][1].transfer
    paths = {agents.started_transfers[each][1].transfer.path for each in started(agents, "snapshot")}  # type: ignore[union-attr]
    assert request.expected == dict.fromkeys(paths, 100)


async def test_a_transfer_without_progress_is_abandoned(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_steps, "STALLED_SECONDS", 0.05)
    bdb_uid = await create_active_database(console, shards_count=1, sharding=False)
    await add_location(client)
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        backup = await wait_for_backup(console, uid, "failed")
    assert "succeeded in 3 attempts. The transfer made no progress" in backup["detail"]
    assert len(started(agents, "snapshot")) == 3


async def test_files_are_deleted_by_another_node_if_one_does_not_respond(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "SILENCE_SECONDS", 0.0)
    bdb_uid = await create_active_database(console)
    await add_location(client)
    complete_all(agents)
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        await wait_for_backup(console, uid, "succeeded")
        await wait_until_removed(console)
        del agents.transfer_results["delete_files"]
        assert (await client.delete(f"/v1/backups/{uid}")).status_code == 200
        await wait_until(lambda: bool(started(agents, "delete_files")))
        node_uid, _ = agents.started_transfers[started(agents, "delete_files")[0]]
        agents.unreachable.add(node_uid)
        async with console.store.begin() as session:
            (await session.get_one(Node, node_uid)).agent_status = "disconnected"
        agents.transfer_results["delete_files"] = {}
        await wait_until(lambda: len(started(agents, "delete_files")) == 2)
    assert agents.started_transfers[started(agents, "delete_files")[1]][0] != node_uid


async def test_limits_of_simultaneous_transfers(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console, shards_count=9)
    await add_location(client)
    assert (await client.put("/v1/cluster/policy", json={"max_simultaneous_backups": 2})).status_code == 200
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        while (backup := await get_backup(console, uid)) is not None and backup["status"] == "running":
            by_node: dict[int, int] = {}
            for identity in started(agents, "snapshot"):
                state = agents.transfers.get(identity)
                if state is not None and state.state == "running":
                    node = agents.started_transfers[identity][0]
                    by_node[node] = by_node.get(node, 0) + 1
            assert max(by_node.values(), default=0) <= 2
            for identity in list(started(agents, "snapshot")):
                if identity in agents.transfers and agents.transfers[identity].state == "running":
                    agents.end_transfer(identity, snapshot_result())
            agents.transfer_results["write_file"] = {}
            await asyncio.sleep(0.01)
    assert backup is not None
    assert backup["status"] == "succeeded"
    assert len(started(agents, "snapshot")) == 9


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, ("gentle", None)),
        ({"backup_pace": "fast", "backup_max_bytes_per_second": 50_000_000}, ("fast", 50_000_000)),
    ],
)
async def test_snapshots_have_the_pace_of_the_policy(
    client: httpx.AsyncClient,
    console: Console,
    agents: FakeAgents,
    policy: dict[str, Any],
    expected: tuple[str, int | None],
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    assert (await client.put("/v1/cluster/policy", json=policy)).status_code == 200
    complete_all(agents)
    uid = await start_backup(client, bdb_uid)
    async with running(console):
        await wait_for_backup(console, uid, "succeeded")
    snapshots = [agents.started_transfers[identity][1].transfer for identity in started(agents, "snapshot")]
    assert {(each.pace, each.max_bytes_per_second) for each in snapshots if isinstance(each, Snapshot)} == {expected}


async def test_a_backup_of_a_deleted_database_fails(client: httpx.AsyncClient, console: Console) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    uid = await start_backup(client, bdb_uid)
    assert (await client.delete(f"/v1/bdbs/{bdb_uid}")).status_code == 200
    async with running(console):
        backup = await wait_for_backup(console, uid, "failed")
    assert "slots" not in backup["detail"], "the reason is the deletion"


async def test_a_backup_of_changed_slots_fails(client: httpx.AsyncClient, console: Console, agents: FakeAgents) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    uid = await start_backup(client, bdb_uid)
    async with console.store.begin() as session:
        for row in await shard_rows(console, bdb_uid):
            if row.pair == 0:
                (await session.get_one(Shard, row.uid)).slots = "0-99"
    async with running(console):
        backup = await wait_for_backup(console, uid, "failed")
    assert "slots" in backup["detail"]


async def test_a_database_can_be_deleted_during_a_backup(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    uid = await start_backup(client, bdb_uid)
    assert (await client.delete(f"/v1/bdbs/{bdb_uid}")).status_code == 200
    async with running(console):
        backup = await wait_for_backup(console, uid, "failed")
    assert backup["detail"] == "The database was deleted."
    bdb = await get_bdb(console, bdb_uid)
    assert bdb is not None
    assert bdb.status == "delete-pending"


async def test_killed_at_every_step_a_backup_completes(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, sampling: Sampling
) -> None:
    bdb_uid = await create_active_database(console)
    await add_location(client)
    complete_all(agents)
    for closed_at in sampling.kill_steps(6, 200):
        uid = await start_backup(client, bdb_uid)
        before, gate = len(started(agents, "snapshot")), Gate(closed_at)
        async with running(console, gate):
            ending = asyncio.create_task(wait_for_backup(console, uid, "succeeded"))
            killed = asyncio.create_task(gate.reached.wait())
            await asyncio.wait({ending, killed}, return_when=asyncio.FIRST_COMPLETED)
        async with running(console):
            backup = await ending
            await wait_until_removed(console)
        killed.cancel()
        assert backup["keys"] == 3 * KEYS, closed_at
        assert len(started(agents, "snapshot")) == before + 3, (
            f"each snapshot is taken once, killed at step {closed_at}"
        )
        assert agents.transfers == {}
        if gate.passed < closed_at:
            return
    raise AssertionError("the operation never completed")
