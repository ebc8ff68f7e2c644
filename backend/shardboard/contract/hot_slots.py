"""Messages about the cost of single hash slots: keys, CPU time, bytes."""

from typing import Annotated, Literal

from pydantic import Field

from shardboard.contract.base import Count, Message, Name, Number, Reply, Text, Uid
from shardboard.contract.shards import EngineIds

Metric = Literal["cpu_usec", "network_bytes_in", "network_bytes_out", "key_count"]
MAX_SLOTS_PER_SHARD = 512


class ReadHotSlots(Message):
    """Requests the slots of local primaries with the highest counts of one metric."""

    uids: list[int] = Field(max_length=512)
    engine_ids: EngineIds = Field(default={})
    by: Metric
    limit: int = Field(ge=1, le=MAX_SLOTS_PER_SHARD)
    """Maximum number of slots per shard."""


SlotCount = tuple[Annotated[int, Field(ge=0, le=16_383)], Count, Count | None, Count | None, Count | None]
"""Slot, keys, microseconds of CPU time, bytes in, bytes out. Time and bytes are counters, or None if not counted."""


class SlotCounts(Reply):
    """Counts of one shard, highest first."""

    uid: Uid
    reason: Text = ""
    """Why there are no counts; empty otherwise."""
    at: Number = 0.0
    """When it was polled, by the clock of its node; epoch seconds."""
    run_id: Name = ""
    """Of the counting process: a new process starts at zero."""
    started_at: Number | None = None
    """When that process started; epoch seconds. Slots that were added later, and all slots after CONFIG RESETSTAT, are counted from
    that moment on.
    """
    slots: list[SlotCount] = Field(default=[], max_length=MAX_SLOTS_PER_SHARD)
