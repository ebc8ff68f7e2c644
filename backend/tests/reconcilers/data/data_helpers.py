"""Loops of backups and restores, requests for them, and results of transfers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from backend.tests.reconcilers.loop_helpers import Gate, GatedAgents, GatedStore
from backend.tests.support.real_shards import wait_until

from shardboard.api.data.backups import render_backups
from shardboard.api.data.restores import render_restores
from shardboard.console import Console
from shardboard.domain.cluster.actions import ActionName
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.data.backups import BackupBdb
from shardboard.reconcilers.data.cleanup import DataCleanupLoop
from shardboard.reconcilers.data.inspections import InspectFiles
from shardboard.reconcilers.data.restores import RestoreBdb
from shardboard.reconcilers.loop import ActionLoop
from shardboard.state.data import backups, restores

LOCATION = {"type": "s3", "bucket_name": "backups", "access_key_id": "id", "secret_access_key": "secret-word"}
KEYS = 10
"""Keys of each fake snapshot."""


@asynccontextmanager
async def running(console: Console, gate: Gate | None = None) -> AsyncIterator[None]:
    """Run the loops of backups and restores. At the end, they stop as in a killed console."""
    store: Any = GatedStore(console.store, gate) if gate is not None else console.store
    agents: Any = GatedAgents(console.agents, gate) if gate is not None else console.agents  # type: ignore[arg-type]
    steppers = {
        ActionName.BACKUP_BDB: BackupBdb(store, agents),
        ActionName.RESTORE_BDB: RestoreBdb(store, agents),
        ActionName.INSPECT_FILES: InspectFiles(store, agents),
    }
    loop = ActionLoop(store, console.bus, steppers, "test")
    cleanup = DataCleanupLoop(console.store, console.bus, console.agents)
    tasks = [asyncio.create_task(loop.run()), asyncio.create_task(cleanup.run())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *loop._tasks.values(), return_exceptions=True)


def snapshot_result(slot: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "bytes": 100,
        "raw_bytes": 300,
        "sha256": "a" * 64,
        "keys": KEYS,
        "expires": 1,
        "rdb_version": 80,
        "types": {"string": KEYS},
        "functions": ["lib"],
        "slots": [{"slot": slot, "keys": KEYS, "digest": "0123456789abcdef"}],
        "analysis": {"types": {"string": {"keys": KEYS, "bytes": 300}}},
        **more,
    }


def restore_result(**more: Any) -> dict[str, Any]:
    return {"restored": KEYS, "expired": 0, "skipped": 0, "bytes": 100, "raw_bytes": 300, **more}


def inspect_result(**more: Any) -> dict[str, Any]:
    return {**snapshot_result(), "family": "redis", "engine_version": "7.4.1", "memory_bytes": 900, **more}


def complete_all(agents: FakeAgents) -> None:
    """Make all transfers succeed as soon as they start. Each restore writes the keys of one slot."""
    agents.transfer_results = {
        "snapshot": snapshot_result(),
        "restore": restore_result(),
        "check_files": {},
        "inspect": inspect_result(),
        "write_file": {},
        "delete_files": {},
    }


async def add_location(client: httpx.AsyncClient, name: str = "store") -> int:
    reply = await client.post("/v1/backup_locations", json={"name": name, "location": LOCATION})
    assert reply.status_code == 200, reply.text
    uid: int = reply.json()["uid"]
    return uid


async def start_backup(client: httpx.AsyncClient, bdb_uid: int) -> int:
    reply = await client.post(f"/v1/bdbs/{bdb_uid}/actions/backup", json={})
    assert reply.status_code == 200, reply.text
    uid: int = reply.json()["backup_uid"]
    return uid


async def start_restore(client: httpx.AsyncClient, bdb_uid: int, backup_uid: int, **more: Any) -> int:
    body = {"backup_uid": backup_uid, **more}
    reply = await client.post(f"/v1/bdbs/{bdb_uid}/actions/restore", json=body)
    assert reply.status_code == 200, reply.text
    uid: int = reply.json()["restore_uid"]
    return uid


async def get_backup(console: Console, uid: int) -> dict[str, Any] | None:
    async with console.store.read() as session:
        row = await backups.by_uid(session, uid)
        return (await render_backups(session, [row]))[0] if row is not None else None


async def get_restore(console: Console, uid: int) -> dict[str, Any]:
    async with console.store.read() as session:
        row = await restores.by_uid(session, uid)
        assert row is not None
        return (await render_restores(session, [row]))[0]


async def wait_for_backup(console: Console, uid: int, status: str) -> dict[str, Any]:
    async def reached() -> dict[str, Any] | None:
        backup = await get_backup(console, uid)
        assert backup is None or backup["status"] in ("running", status), backup
        return backup if backup is not None and backup["status"] == status else None

    backup: dict[str, Any] = await wait_until(reached)
    return backup


async def wait_for_restore(console: Console, uid: int, status: str) -> dict[str, Any]:
    async def reached() -> dict[str, Any] | None:
        restore = await get_restore(console, uid)
        assert restore["status"] in ("running", status), restore
        return restore if restore["status"] == status else None

    restore: dict[str, Any] = await wait_until(reached)
    return restore


def started(agents: FakeAgents, kind: str) -> list[str]:
    """Return the ids of the transfers of this kind that were started."""
    return [uid for uid, (_, request) in agents.started_transfers.items() if request.transfer.kind == kind]
