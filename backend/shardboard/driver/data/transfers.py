"""Requests to agents about transfers: start, poll, stop and remove them."""

import json
from collections.abc import Sequence

import httpx

from shardboard.contract.transfers import MAX_TRANSFERS, StartTransfer, TransferReferences, TransferState
from shardboard.driver import replies
from shardboard.driver.data.agent_calls import AgentCalls
from shardboard.driver.interfaces import NodeRef

TRANSFER_TIMEOUT = httpx.Timeout(30, connect=2)
"""Longer than an agent takes to start a transfer, or to kill and remove many."""


class TransferCalls:
    """Part of `HttpAgents`."""

    async def start_transfer(self: AgentCalls, node: NodeRef, request: StartTransfer) -> TransferState:
        path, body = "/transfers/start", _start_body(request)
        return await self._call(node, "POST", path, TRANSFER_TIMEOUT, replies.TRANSFER_STATE, body)

    async def transfer_states(self: AgentCalls, node: NodeRef, ids: Sequence[str]) -> list[TransferState]:
        return await _for_transfers(self, node, "/transfers/states", ids)

    async def stop_transfers(self: AgentCalls, node: NodeRef, ids: Sequence[str]) -> list[TransferState]:
        return await _for_transfers(self, node, "/transfers/stop", ids)

    async def remove_transfers(self: AgentCalls, node: NodeRef, ids: Sequence[str]) -> list[TransferState]:
        return await _for_transfers(self, node, "/transfers/remove", ids)


async def _for_transfers(calls: AgentCalls, node: NodeRef, path: str, ids: Sequence[str]) -> list[TransferState]:
    """Return the states in the order of `ids`. A transfer that the agent does not mention is absent."""
    states: dict[str, TransferState] = {}
    for start in range(0, len(ids), MAX_TRANSFERS):
        body = TransferReferences(ids=list(ids[start : start + MAX_TRANSFERS])).model_dump_json().encode()
        reply = await calls._call(node, "POST", path, TRANSFER_TIMEOUT, replies.TRANSFER_STATES, body)
        states |= {state.id: state for state in reply}
    return [states.get(identity, TransferState(id=identity, state="absent")) for identity in ids]


def _start_body(request: StartTransfer) -> bytes:
    """Serialize without default values, which an earlier release may not know, except the fields that select the models."""
    body = request.model_dump(mode="json", exclude_defaults=True)
    body["transfer"] |= {"kind": request.transfer.kind}
    body["transfer"]["location"] |= {"type": request.transfer.location.type}
    return json.dumps(body).encode()
