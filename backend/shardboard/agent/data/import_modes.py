"""Import mode of shards, in which no key expires. Transfers that replay changes use it. The agent ends it if they are killed."""

import asyncio
import json
import logging
from collections.abc import Iterable

from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.detached_processes import DetachedProcesses
from shardboard.transfer.specification import IMPORTING

TIMEOUT_SECONDS = 5

log = logging.getLogger(__name__)


class ImportModes:
    """Shards that ended transfers have left in import mode."""

    def __init__(self, processes: DetachedProcesses, supervisor: ShardSupervisor) -> None:
        self._processes = processes
        self._supervisor = supervisor

    async def end(self, identities: Iterable[str]) -> set[str]:
        """End the import mode of the shards of these transfers, except those that run. Return those for which this failed."""
        failed = set()
        for identity in identities:
            marker = self._processes.directory(identity) / IMPORTING
            if self._processes.is_running(identity) or not marker.exists():
                continue
            try:
                shards = json.loads(marker.read_text())
            except ValueError:  # killed while it wrote the file, so before the mover was started
                shards = []
            if all([await self._end(uid, engine_id) for uid, engine_id in shards]):
                marker.unlink(missing_ok=True)
            else:
                failed.add(identity)
        return failed

    async def _end(self, uid: int, engine_id: str) -> bool:
        """Return whether the shard is not in import mode."""
        shard = self._supervisor.find(uid, engine_id)
        if shard is None or shard.state != "running":  # a shard that is started again is not in import mode
            return True
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await (await shard.connect()).execute("CONFIG", "SET", "import-mode", "no")
        except (EngineError, TimeoutError) as error:
            log.error("shard %s: ending the import mode failed: %s", uid, error or "no reply")
            return False
        return True
