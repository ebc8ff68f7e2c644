"""Shapes of the replies of agents, and their parsing.

Parsing holds the interpreter's lock, so that even a thread would stop all other tasks. Large messages of many values are therefore
parsed in another process. The contract limits what the result contains, so that receiving and using it takes little time.
"""

import asyncio
import contextlib
import resource
import time
from functools import cached_property
from typing import Annotated, Any, Generic, TypeVar

from anyio import BrokenWorkerProcess, to_process
from pydantic import Field, TypeAdapter, ValidationError

from shardboard.contract import (
    CertificateReply,
    CertificateRequest,
    CommandCounts,
    CommandResult,
    DrillReply,
    FirewallReport,
    LoadLines,
    LoadReports,
    LoadState,
    NodeFacts,
    NodeLogs,
    PinningReport,
    ProxyReport,
    Sample,
    ShardOutcome,
    ShardReport,
    SlotCounts,
    SlotsMoved,
)
from shardboard.contract.base import MAX_SHARDS
from shardboard.contract.recovery_copies import MAX_COPIES, CopyVersion, RecoveryCopy
from shardboard.contract.transfers import MAX_TRANSFERS, TransferState

MAX_REPLY_BYTES, MAX_FILE_BYTES = 16 << 20, 64 << 20
"""Limits for responses, and for responses that contain logs, files, or the output of load generators."""
MAX_RESULTS = 16_384
"""Maximum number of commands in one request."""
LARGE_BYTES = 256 << 10
"""Bytes of a message that takes less than 5 ms to parse, whatever it contains."""
LARGE_VALUES = 20_000
"""Number of values from which a larger message is parsed in another process."""
PARSE_SECONDS = 30.0
PARSE_MEMORY_BYTES = 2 << 30
"""Limits of that process for one message, which it exceeds only with a message that the contract refuses anyway."""

T = TypeVar("T")


class ReplyShape(Generic[T]):
    """Type of a reply and the maximum number of its bytes."""

    def __init__(self, type_: Any, max_bytes: int = MAX_REPLY_BYTES) -> None:
        self.type = type_
        self.max_bytes = max_bytes

    @cached_property
    def adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self.type)

    def __reduce__(self) -> tuple[Any, ...]:
        return ReplyShape, (self.type, self.max_bytes)

    async def parse(self, content: bytes) -> tuple[T | None, float]:
        """Return the message, or None if it does not conform to the contract, and the CPU seconds of parsing it."""
        if not is_large(content):
            return self.parse_here(content)
        try:
            async with asyncio.timeout(PARSE_SECONDS):
                return await to_process.run_sync(_parse_in_process, self, content, cancellable=True)
        except (BrokenWorkerProcess, MemoryError):
            return None, 0.0
        except TimeoutError:
            return None, PARSE_SECONDS

    def parse_here(self, content: bytes) -> tuple[T | None, float]:
        """Do the same in this thread."""
        started = time.thread_time()
        try:
            message = self.adapter.validate_json(content)
        except ValidationError:
            message = None
        return message, time.thread_time() - started


def is_large(content: bytes) -> bool:
    """Return whether parsing a message in this process could delay other tasks. Each value follows one of three characters, and
    counting them takes less than a millisecond per megabyte.
    """
    if len(content) <= LARGE_BYTES:
        return False
    return len(content) > MAX_REPLY_BYTES or sum(map(content.count, (b",", b"[", b"{"))) > LARGE_VALUES


def _parse_in_process(shape: ReplyShape[T], content: bytes) -> tuple[T | None, float]:
    with contextlib.suppress(ValueError):  # a lower limit is set
        resource.setrlimit(resource.RLIMIT_DATA, (PARSE_MEMORY_BYTES, PARSE_MEMORY_BYTES))
    return shape.parse_here(content)


def _list_of(type_: Any, most: int) -> Any:
    return Annotated[list[type_], Field(max_length=most)]


SAMPLE = ReplyShape[Sample](Sample)
FACTS = ReplyShape[NodeFacts](NodeFacts)
CERTIFICATE_REQUEST = ReplyShape[CertificateRequest](CertificateRequest)
CERTIFICATE_REPLY = ReplyShape[CertificateReply](CertificateReply)
LOGS = ReplyShape[NodeLogs](NodeLogs, MAX_FILE_BYTES)
REPORTS = ReplyShape[list[ShardReport]](_list_of(ShardReport, MAX_SHARDS))
OUTCOMES = ReplyShape[list[ShardOutcome]](_list_of(ShardOutcome, MAX_SHARDS))
RESULTS = ReplyShape[list[CommandResult]](_list_of(CommandResult, MAX_RESULTS))
PROBE_RESULTS = ReplyShape[list[bool]](_list_of(bool, MAX_SHARDS))
PROXY = ReplyShape[ProxyReport](ProxyReport)
FIREWALL = ReplyShape[FirewallReport](FirewallReport)
PINNING = ReplyShape[PinningReport](PinningReport)
DRILL_REPLY = ReplyShape[DrillReply](DrillReply)
SLOTS_MOVED = ReplyShape[SlotsMoved](SlotsMoved)
SLOT_COUNTS = ReplyShape[list[SlotCounts]](_list_of(SlotCounts, MAX_SHARDS))
COMMAND_COUNTS = ReplyShape[CommandCounts](CommandCounts)
LOAD_STATE = ReplyShape[LoadState](LoadState)
LOAD_LINES = ReplyShape[LoadLines](LoadLines, MAX_FILE_BYTES)
LOAD_REPORTS = ReplyShape[LoadReports](LoadReports, MAX_FILE_BYTES)
TRANSFER_STATE = ReplyShape[TransferState](TransferState, MAX_FILE_BYTES)
TRANSFER_STATES = ReplyShape[list[TransferState]](_list_of(TransferState, MAX_TRANSFERS), MAX_FILE_BYTES)
COPY_VERSIONS = ReplyShape[list[CopyVersion]](_list_of(CopyVersion, MAX_COPIES))
RECOVERY_COPIES = ReplyShape[list[RecoveryCopy]](_list_of(RecoveryCopy, 1))
ALL = (
    *(SAMPLE, FACTS, CERTIFICATE_REQUEST, CERTIFICATE_REPLY, LOGS, REPORTS, OUTCOMES, RESULTS, PROBE_RESULTS, PROXY),
    *(FIREWALL, PINNING, DRILL_REPLY, SLOTS_MOVED, SLOT_COUNTS, COMMAND_COUNTS, LOAD_STATE, LOAD_LINES, LOAD_REPORTS),
    *(TRANSFER_STATE, TRANSFER_STATES, COPY_VERSIONS, RECOVERY_COPIES),
)
