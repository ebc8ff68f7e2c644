"""Directories of transfers that left a shard in import mode, without processes."""

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shardboard.agent.data.transfers import KEEP_SECONDS, Transfers
from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.settings import AgentSettings
from shardboard.contract.transfers import TransferReferences
from shardboard.transfer.specification import IMPORTING

ID, OTHER = "1" * 32, "2" * 32
ENGINE_ID = "a" * 40


class Shard:
    """Shard that can be loading."""

    def __init__(self) -> None:
        self.state = "running"
        self.is_loading = True
        self.ended = 0

    async def connect(self) -> Any:
        return SimpleNamespace(execute=self._execute)

    async def _execute(self, *_: str) -> None:
        if self.is_loading:
            raise EngineError("LOADING")
        self.ended += 1


@pytest.fixture
def shard() -> Shard:
    return Shard()


@pytest.fixture
async def transfers(tmp_path: Path, shard: Shard) -> Transfers:
    supervisor = SimpleNamespace(find=lambda uid, engine_id: shard)
    settings = AgentSettings(address="127.0.0.1", state_dir=tmp_path)
    transfers = Transfers(settings, cast(ShardSupervisor, supervisor))
    await transfers.adopt()
    for identity in (ID, OTHER):
        transfers._processes.directory(identity).mkdir()
    (transfers._processes.directory(ID) / IMPORTING).write_text(json.dumps([[3, ENGINE_ID]]))
    return transfers


async def test_directories_are_kept_until_the_import_mode_ends(transfers: Transfers, shard: Shard) -> None:
    request = TransferReferences(ids=[ID, OTHER])
    for _ in range(2):
        assert [each.state for each in await transfers.remove(request)] == ["ended", "absent"]
        assert (transfers._processes.exists(ID), transfers._processes.exists(OTHER)) == (True, False)
    shard.is_loading = False
    assert [each.state for each in await transfers.remove(request)] == ["absent", "absent"]
    assert not transfers._processes.exists(ID)
    assert shard.ended == 1


async def test_expired_directories_are_kept_until_the_import_mode_ends(transfers: Transfers, shard: Shard) -> None:
    for identity in (ID, OTHER):
        os.utime(transfers._processes.directory(identity), (time.time() - KEEP_SECONDS - 60,) * 2)
    await transfers._remove_expired()
    assert (transfers._processes.exists(ID), transfers._processes.exists(OTHER)) == (True, False)
    shard.is_loading = False
    await transfers._remove_expired()
    assert not transfers._processes.exists(ID)
    assert shard.ended == 1
