"""Transfers that a request waits for, such as the test of a location."""

import asyncio
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from shardboard.contract.transfers import StartTransfer
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.domain.data.statuses import TransferKind, TransferStatus
from shardboard.driver.interfaces import Agents, NodeRef, TransferState
from shardboard.errors import AgentError, NotAcceptable, NotFound, Unavailable
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import transfers
from shardboard.state.data.transfers import Transfer
from shardboard.store.db import Store

POLL_SECONDS = 0.2
TIMEOUT_SECONDS = 30
"""Longer than a store takes to refuse a connection."""


class RequestTransfers:
    """Runs one transfer for each call, and has it removed from its node afterwards."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def execute(self, message: Any, node_uid: int | None = None) -> tuple[int, TransferState]:
        """Run a transfer on a node, or on any connected node. Return the node and the final state.

        Raises NotFound, NotAcceptable, or Unavailable with the reason.
        """
        identity = uuid.uuid4().hex
        async with self._store.begin() as session:
            node = _choose_node(await nodes.list_all(session), node_uid)
            # Stored first, so that the transfer is removed if this console is killed.
            session.add(
                Transfer(
                    uid=identity,
                    node_uid=node.uid,
                    kind=TransferKind(message.kind),
                    status=TransferStatus.RUNNING,
                    is_stored_on_node=True,
                    created_at=datetime.now(UTC),
                )
            )
        reference = NodeRef(node.uid, node.addr, node.agent_port)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return node.uid, await self._end_of(reference, StartTransfer(id=identity, transfer=message))
        except AgentError as error:
            message = f"Node {node.uid} cannot access the location: {error.reason}"
            raise Unavailable("node_not_connected", message) from None
        except TimeoutError:
            message = (
                f"Node {node.uid} did not finish within {TIMEOUT_SECONDS} s. Check that it can reach the location."
            )
            raise Unavailable("location_timeout", message) from None
        finally:
            await self._abandon(identity)

    async def _end_of(self, node: NodeRef, request: StartTransfer) -> TransferState:
        state = await self._agents.start_transfer(node, request)
        while state.state == "running":
            await asyncio.sleep(POLL_SECONDS)
            [state] = await self._agents.transfer_states(node, [request.id])
        return state

    async def _abandon(self, identity: str) -> None:
        """Make the loop that removes transfers from nodes remove this one."""
        async with self._store.begin() as session:
            if (row := await transfers.by_uid(session, identity)) is not None:
                row.status, row.finished_at = TransferStatus.ABANDONED, datetime.now(UTC)


def _choose_node(rows: Sequence[Node], node_uid: int | None) -> Node:
    for node in rows:
        if node.uid == node_uid or (node_uid is None and node.agent_status == AgentStatus.CONNECTED):
            return node
    if node_uid is not None:
        raise NotFound("node_not_found", f"Node {node_uid} does not exist.")
    message = "No agent responds, so no node can access the location."
    raise NotAcceptable("node_not_connected", message, field="node_uid")
