"""A backup that restores with fake agents use."""

from collections.abc import Iterator
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
    wait_for_backup,
)
from backend.tests.reconcilers.loop_helpers import create_active_database

from shardboard.console import Console
from shardboard.contract.transfers import StartTransfer, TransferState
from shardboard.domain.data import backup_plan, restore_plan
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.reconcilers.data import backups as backup_steps
from shardboard.reconcilers.data import cleanup, inspections
from shardboard.reconcilers.data import restores as steps

DIGEST = "0123456789abcdef"


@pytest.fixture
def short_backup_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup_steps, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(backup_plan, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(cleanup, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(cleanup, "IDLE_SECONDS", 0.05)


@pytest.fixture
def short_restore_intervals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
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
