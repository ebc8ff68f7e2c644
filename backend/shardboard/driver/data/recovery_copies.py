"""Requests to agents about copies of the console's objects, from which a lost store is rebuilt."""

from collections.abc import Iterator, Sequence

import httpx

from shardboard.contract.recovery_copies import CopyVersion, KeepCopies, ReadCopy, RecoveryCopy
from shardboard.driver import replies
from shardboard.driver.data.agent_calls import AgentCalls
from shardboard.driver.interfaces import NodeRef

COPIES_TIMEOUT = httpx.Timeout(30, connect=2)
BATCH_BYTES = 4 << 20
PATH = "/recovery_copies"


class RecoveryCopyCalls:
    """Part of `HttpAgents`."""

    async def keep_copies(
        self: AgentCalls, node: NodeRef, copies: Sequence[RecoveryCopy], names: Sequence[str]
    ) -> list[CopyVersion]:
        held: list[CopyVersion] = []
        for batch in _batches(copies):
            body = KeepCopies(copies=batch, names=list(names)).model_dump_json().encode()
            held = await self._call(node, "POST", PATH, COPIES_TIMEOUT, replies.COPY_VERSIONS, body)
        return held

    async def list_copies(self: AgentCalls, node: NodeRef) -> list[CopyVersion]:
        return await self._call(node, "GET", PATH, COPIES_TIMEOUT, replies.COPY_VERSIONS)

    async def read_copy(self: AgentCalls, node: NodeRef, name: str) -> RecoveryCopy | None:
        body = ReadCopy(name=name).model_dump_json().encode()
        found = await self._call(node, "POST", f"{PATH}/read", COPIES_TIMEOUT, replies.RECOVERY_COPIES, body)
        return next((copy for copy in found if copy.name == name), None)


def _batches(copies: Sequence[RecoveryCopy]) -> Iterator[list[RecoveryCopy]]:
    """Yield all copies in parts of limited size; one empty part without copies."""
    batch: list[RecoveryCopy] = []
    size = 0
    for copy in copies:
        if batch and size + len(copy.content) > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(copy)
        size += len(copy.content)
    yield batch
