"""Inspections of files with fake agents: the report, imports that refer to it, failures, cancellation, and killed consoles."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.data.data_helpers import (
    KEYS,
    complete_all,
    inspect_result,
    running,
    started,
    wait_for_restore,
)
from backend.tests.reconcilers.loop_helpers import Gate, create_active_database, get_bdb
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.kit import age_keys
from shardboard.reconcilers.data import cleanup, inspections
from shardboard.reconcilers.data import restores as steps
from shardboard.state.data.restores import Restore

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]
SOURCES = [{"type": "mount_point", "path": f"/srv/dumps/{name}.rdb"} for name in ("a", "b")]
LOSSES = {"modules": {"ReJSON-RL": 3}, "databases": {"0": 6, "1": 1}}


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(inspections, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(steps, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(cleanup, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(cleanup, "IDLE_SECONDS", 0.05)
    return


@pytest.fixture(autouse=True)
async def database(console: Console, agents: FakeAgents, nodes: None) -> None:
    complete_all(agents)
    await create_active_database(console)
    agents.commands.clear()


async def inspect(client: httpx.AsyncClient, sources: Any = SOURCES) -> int:
    reply = await client.post("/v1/bdbs/1/actions/inspect", json={"dataset_import_sources": sources})
    assert reply.status_code == 200, reply.text
    uid: int = reply.json()["restore_uid"]
    return uid


async def inspected(client: httpx.AsyncClient, console: Console, **result: Any) -> tuple[int, dict[str, Any]]:
    """Inspect files with this result. Return the uid and the report."""
    agents: Any = console.agents
    agents.transfer_results["inspect"] = inspect_result(**result)
    uid = await inspect(client)
    async with running(console):
        await wait_for_restore(console, uid, "succeeded")
    reply = await client.get(f"/v1/restores/{uid}/report")
    assert reply.status_code == 200, reply.text
    return uid, reply.json()


async def start_import(client: httpx.AsyncClient, **more: Any) -> httpx.Response:
    return await client.post("/v1/bdbs/1/actions/import", json={"dataset_import_sources": SOURCES, **more})


async def test_an_inspection_reports_the_contents_of_each_file(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    uid, report = await inspected(client, console)
    assert (report["forecast"], report["keys"], report["needed_bytes"]) == ("possible", 2 * KEYS, 1800)
    assert [file["path"] for file in report["files"]] == ["a.rdb", "b.rdb"]
    assert report["files"][0]["format"] == "Redis RDB 80 (7.4.1)"
    assert report["memory_limit"] == 300_000_000
    bdb = await get_bdb(console, 1)
    assert bdb is not None
    assert (bdb.status, bdb.action_uid) == ("active", None)
    assert (await client.get("/v1/bdbs/1")).json()["import_status"] == ""
    assert agents.commands == []
    [listed] = (await client.get("/v1/restores")).json()
    assert (listed["uid"], listed["kind"], listed["forecast"]) == (uid, "inspection", "possible")


async def test_private_keys_are_used_and_deleted(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    agents.transfer_results["inspect"] = inspect_result()
    key = age_keys.generate_identity()
    body = {"dataset_import_sources": SOURCES, "identities": key}
    inspection = (await client.post("/v1/bdbs/1/actions/inspect", json=body)).json()["restore_uid"]
    async with running(console):
        await wait_for_restore(console, inspection, "succeeded")
        reply = await client.post("/v1/bdbs/1/actions/import", json={**body, "inspection_uid": inspection})
        assert reply.status_code == 200, reply.text
        await wait_for_restore(console, reply.json()["restore_uid"], "succeeded")
    for kind in ("inspect", "restore"):
        requests: list[Any] = [agents.started_transfers[each][1].transfer for each in started(agents, kind)]
        assert requests
        assert all(each.identities == [key] for each in requests)
    async with console.store.read() as session:
        rows = [await session.get_one(Restore, uid) for uid in (inspection, reply.json()["restore_uid"])]
    assert [each["identities"] for row in rows for each in row.sources] == [[], [], [], []]


async def test_losses_must_be_accepted(client: httpx.AsyncClient, console: Console, agents: FakeAgents) -> None:
    uid, report = await inspected(client, console, **LOSSES)
    assert (report["forecast"], report["lost_keys"]) == ("losses", 8)
    assert [(each["code"], each["keys"]) for each in report["losses"]] == [("module_values", 6), ("other_databases", 2)]
    refused = await start_import(client, inspection_uid=uid)
    assert (refused.status_code, refused.json()["error_code"]) == (406, "import_with_losses")
    assert "ReJSON-RL" in refused.json()["description"]
    accepted = await start_import(client, inspection_uid=uid, accept_losses=True)
    assert accepted.status_code == 200, accepted.text
    before = len(started(agents, "inspect"))
    async with running(console):
        restore = await wait_for_restore(console, accepted.json()["restore_uid"], "succeeded")
    assert restore["forecast"] == "losses"
    assert len(started(agents, "inspect")) == before, "the files are not inspected again"


@pytest.mark.parametrize(
    ("sources", "bdb_uid"),
    [(SOURCES[:1], 1), ([*SOURCES[:1], {**SOURCES[1], "path": "/srv/other/b.rdb"}], 1), (SOURCES, 2)],
)
async def test_an_inspection_of_something_else_does_not_count(
    client: httpx.AsyncClient, console: Console, sources: Any, bdb_uid: int
) -> None:
    uid, _ = await inspected(client, console)
    if bdb_uid == 2:
        await create_active_database(console, "other")
    body = {"dataset_import_sources": sources, "inspection_uid": uid}
    reply = await client.post(f"/v1/bdbs/{bdb_uid}/actions/import", json=body)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "inspection_not_usable")


async def test_files_that_do_not_fit_are_not_imported(client: httpx.AsyncClient, console: Console) -> None:
    uid, report = await inspected(client, console, memory_bytes=2 * 10**8)
    assert report["forecast"] == "impossible"
    assert [each["code"] for each in report["problems"]] == ["file-larger-than-mem-limit"]
    assert "400,000,000 bytes" in report["problems"][0]["message"]
    reply = await start_import(client, inspection_uid=uid, accept_losses=True, force=True)
    assert (reply.status_code, reply.json()["error_code"]) == (406, "file-larger-than-mem-limit")


async def test_an_import_without_an_inspection_checks_files_before_it_deletes_keys(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    agents.transfer_results["inspect"] = inspect_result(memory_bytes=2 * 10**8)
    too_large = (await start_import(client)).json()["restore_uid"]
    async with running(console):
        restore = await wait_for_restore(console, too_large, "failed")
    assert "400,000,000 bytes" in restore["detail"]
    assert (await client.get("/v1/bdbs/1")).json()["import_failure_reason"] == "file-larger-than-mem-limit"
    agents.transfer_results["inspect"] = inspect_result(**LOSSES)
    lossy = (await start_import(client)).json()["restore_uid"]
    agents.transfer_results["restore"] = {
        "restored": 1,
        "expired": 0,
        "skipped": 0,
        "unsupported": {"value of a module": 3},
        "bytes": 1,
        "raw_bytes": 1,
    }
    assert not restore["erased"]
    assert agents.commands == []
    async with running(console):
        restore = await wait_for_restore(console, lossy, "succeeded_with_losses")
    assert "value of a module" in restore["detail"]
    bdb = (await client.get("/v1/bdbs/1")).json()
    assert (bdb["import_status"], bdb["import_failure_reason"]) == ("succeeded", "")


async def test_a_damaged_file_is_reported_at_once_and_others_are_tried_again(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    del agents.transfer_results["inspect"]
    uid = await inspect(client)

    async def fail_all() -> None:
        while True:
            for identity in started(agents, "inspect"):
                if identity in agents.transfers and agents.transfers[identity].state == "running":
                    path = agents.started_transfers[identity][1].transfer.files[0].path  # type: ignore[union-attr]
                    code: Any = "file-corrupted" if path == "a.rdb" else "download-error"
                    agents.end_transfer(identity, error="cannot be read", error_code=code)
            await asyncio.sleep(0.005)

    failing = asyncio.create_task(fail_all())
    async with running(console):
        await wait_for_restore(console, uid, "succeeded")
    failing.cancel()
    report = (await client.get(f"/v1/restores/{uid}/report")).json()
    assert [each["code"] for each in report["problems"]] == ["file-corrupted", "download-error"]
    assert len(started(agents, "inspect")) == 1 + 3
    nodes = {agents.started_transfers[each][0] for each in started(agents, "inspect")}
    assert len(nodes) == 3, "other nodes are tried"


async def test_a_cancelled_inspection_ends_its_transfers(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    del agents.transfer_results["inspect"]
    uid = await inspect(client)
    async with running(console):
        await wait_until(lambda: len(started(agents, "inspect")) == 2)
        action_uid = (await client.get(f"/v1/restores/{uid}")).json()["action_uid"]
        assert (await client.delete(f"/v1/actions/{action_uid}")).status_code == 200
        await wait_for_restore(console, uid, "cancelled")
        await wait_until(lambda: not agents.transfers)
    assert (await client.get(f"/v1/restores/{uid}/report")).status_code == 404


async def test_killed_at_every_step_an_inspection_completes(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, sampling: Sampling
) -> None:
    for closed_at in sampling.kill_steps(8, 100):
        uid, before, gate = await inspect(client), len(started(agents, "inspect")), Gate(closed_at)
        async with running(console, gate):
            ending = asyncio.create_task(wait_for_restore(console, uid, "succeeded"))
            killed = asyncio.create_task(gate.reached.wait())
            await asyncio.wait({ending, killed}, return_when=asyncio.FIRST_COMPLETED)
        async with running(console):
            restore = await ending
            await wait_until(lambda: not agents.transfers)
        killed.cancel()
        assert restore["forecast"] == "possible", closed_at
        assert len(started(agents, "inspect")) == before + 2, closed_at
        if gate.passed < closed_at:
            return
    raise AssertionError("the operation never completed")
