"""Messages about what single hash slots cost: keys, processor time, bytes."""

from typing import Literal

from pydantic import Field

from shardboard.agent.contract.base import Message, Reply
from shardboard.agent.contract.shards import EngineIds

Metric = Literal["cpu_usec", "network_bytes_in", "network_bytes_out", "key_count"]
MOST_ROWS = 512


class HotSlots(Message):
    """Which slots of local primaries have the highest counts of one metric."""

    uids: list[int] = Field(max_length=512)
    engine_ids: EngineIds = Field(default={})
    by: Metric
    limit: int = Field(ge=1, le=MOST_ROWS)
    """Slots of each shard, at most."""


SlotCount = tuple[int, int, int | None, int | None, int | None]
"""Slot, keys, microseconds of processor time, bytes in, bytes out. Time and bytes only rise; None where the engine does not
count them."""


class SlotCounts(Reply):
    """What one shard has counted, the highest first."""

    uid: int
    reason: str = ""
    """Why there are none; empty when there may be."""
    at: float = 0.0
    """When it was asked, by the clock of its node; epoch seconds."""
    run_id: str = ""
    """Of the process that counted: another one began anew."""
    started_at: float | None = None
    """When that process began; epoch seconds. A slot that came later was counted from then on, and so was everything after
    CONFIG RESETSTAT."""
    slots: list[SlotCount] = Field(default=[])
