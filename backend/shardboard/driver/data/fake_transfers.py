"""Transfers of `FakeAgents`. They run until a test ends them."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

from shardboard.contract.file_streams import ReceiveFile, SendFile
from shardboard.contract.transfers import ErrorCode, RecordResult, StartTransfer, TransferProgress, TransferState
from shardboard.driver.interfaces import NodeRef
from shardboard.errors import AgentRefused


class FakeTransfers:
    """Part of `FakeAgents`."""

    def __init__(self) -> None:
        self.transfers: dict[str, TransferState] = {}
        """States by id; tests replace them."""
        self.started_transfers: dict[str, tuple[int, StartTransfer]] = {}
        """Node and request by id, also of removed transfers."""
        self.transfer_results: dict[str, dict[str, Any]] = {
            "check_location": {"checks": []},
            "list_files": {"files": []},
            "read_file": {"text": "{}"},
        }
        """Results by kind: transfers of this kind end immediately. By default, those that requests wait for."""
        self.transfer_refused = ""
        """Error message with which agents refuse to start a transfer."""
        self.removed_transfers: set[str] = set()
        self.files: dict[str, bytes] = {}
        """Contents of files by path, in any location."""
        self.file_errors: dict[int, str] = {}
        """Error messages with which nodes refuse to send or receive files."""
        self.stream_nodes: list[int] = []
        """Nodes that were requested to send or receive files."""

    def set_transfer_progress(self, identity: str, **progress: int | str) -> None:
        """Set the fields of `TransferProgress` of a running transfer."""
        self._replace_transfer(identity, progress=TransferProgress.model_validate(progress))

    def end_transfer(
        self,
        identity: str,
        result: dict[str, Any] | None = None,
        *,
        error: str = "",
        error_code: ErrorCode = "general-error",
    ) -> None:
        """End a transfer with a result or an error."""
        failure = {"error": error, "error_code": error_code} if error else {"result": result or {}}
        self._replace_transfer(identity, state="ended", **failure)

    async def start_transfer(self, node: NodeRef, request: StartTransfer) -> TransferState:
        self._record_call("start_transfer", node)
        if self.transfer_refused:
            return TransferState(id=request.id, state="absent", error=self.transfer_refused, error_code="general-error")
        if request.id not in self.transfers:
            self.started_transfers[request.id] = (node.uid, request)
            self.transfers[request.id] = TransferState(id=request.id, state="running")
            if (result := self.transfer_results.get(request.transfer.kind)) is not None:
                self.end_transfer(request.id, result)
        return self._transfer_state(node, request.id)

    async def transfer_states(self, node: NodeRef, ids: Sequence[str]) -> list[TransferState]:
        self._record_call("transfer_states", node)
        return [self._transfer_state(node, identity) for identity in ids]

    async def stop_transfers(self, node: NodeRef, ids: Sequence[str]) -> list[TransferState]:
        self._record_call("stop_transfers", node)
        for identity in ids:
            if (state := self._transfer_state(node, identity)).state == "running":
                self._stop_transfer(state)
        return [self._transfer_state(node, identity) for identity in ids]

    async def remove_transfers(self, node: NodeRef, ids: Sequence[str]) -> list[TransferState]:
        self._record_call("remove_transfers", node)
        for identity in ids:
            if self._transfer_state(node, identity).state != "absent":
                del self.transfers[identity]
            self.removed_transfers.add(identity)
        return [self._transfer_state(node, identity) for identity in ids]

    async def send_file(self, node: NodeRef, request: SendFile) -> AsyncGenerator[bytes]:
        self._record_call("send_file", node)
        self._start_stream(node)
        if request.path not in self.files:
            raise AgentRefused(f"No such file or directory: {request.path}")
        content = self.files[request.path]
        yield content[:1]
        yield content[1:]

    async def receive_file(self, node: NodeRef, request: ReceiveFile, content: AsyncIterator[bytes]) -> dict[str, Any]:
        self._record_call("receive_file", node)
        self._start_stream(node)
        received = b"".join([part async for part in content])
        if len(received) != request.bytes:
            raise AgentRefused(f"The connection ended after {len(received)} of {request.bytes} bytes.")
        self.files[request.path] = received
        return {"bytes": len(received), "sha256": hashlib.sha256(received).hexdigest()}

    def _start_stream(self, node: NodeRef) -> None:
        self.stream_nodes.append(node.uid)
        if error := self.file_errors.get(node.uid):
            raise AgentRefused(error)

    def _transfer_state(self, node: NodeRef, identity: str) -> TransferState:
        state = self.transfers.get(identity)
        if state is None or self.started_transfers[identity][0] != node.uid:
            return TransferState(id=identity, state="absent")
        return state

    def _stop_transfer(self, state: TransferState) -> None:
        """End a transfer as agents do: a recording succeeds at the position of its progress."""
        if self.started_transfers[state.id][1].transfer.kind != "record":
            self.end_transfer(state.id, error="The transfer was stopped.", error_code="stopped")
            return
        done = state.progress
        result = RecordResult(
            replication_id=done.replication_id,
            offset=done.offset,
            recorded_until=done.recorded_until,
            reason="stopped",
        )
        self.end_transfer(state.id, result.model_dump())

    def _replace_transfer(self, identity: str, **update: Any) -> None:
        self.transfers[identity] = self.transfers[identity].model_copy(update=update)

    def _record_call(self, call: str, node: NodeRef) -> None:
        raise NotImplementedError
