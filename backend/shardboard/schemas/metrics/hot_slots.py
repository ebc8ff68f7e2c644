"""Models of the hash slots with the highest load."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.domain.metrics.hot_slots import HotSlot, Metric, SlotReading
from shardboard.schemas.optional_fields import OptionalInt, OptionalStr, without_default, without_none
from shardboard.schemas.timestamps import iso

OptionalFloat = Annotated[float | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]


class SlotTotals(BaseModel):
    """Totals since the shard's `counted_since`; missing if the engine does not count them."""

    cpu_usec: OptionalInt = Field(description="CPU time in microseconds.")
    network_bytes_in: OptionalInt
    network_bytes_out: OptionalInt


class HotSlotRow(BaseModel):
    slot: int
    shard_uid: str = Field(description="Primary that serves the slot.")
    node_uid: str
    key_count: int
    cpu: OptionalFloat = Field(
        description="CPU cores used by commands on the slot's keys between the last two polls, 1 = one core; "
        "missing before the second poll."
    )
    ingress_bytes: OptionalFloat = Field(description="Bytes of requests per second; missing before the second poll.")
    egress_bytes: OptionalFloat = Field(description="Bytes of replies per second; missing before the second poll.")
    total: SlotTotals


class SlotShard(BaseModel):
    """A primary that was polled."""

    shard_uid: str
    node_uid: str
    detail: str = Field(
        description="Reason why it returned no data, for example an engine without slot statistics; otherwise empty."
    )
    counted_since: OptionalStr = Field(
        description="Start of the process. Totals do not include the time before a slot was added or before CONFIG RESETSTAT."
    )


class HotSlots(BaseModel):
    bdb_uid: int
    by: Metric
    interval: OptionalFloat = Field(
        description="Duration in seconds that the rates cover; missing before the second poll."
    )
    slots: list[HotSlotRow] = Field(description="Slots, highest first: by rate or, before the second poll, by total.")
    shards: list[SlotShard]
    detail: str = Field(description="Message if not all primaries returned data; otherwise empty.")


def render(
    bdb_uid: int,
    by: Metric,
    slots: Sequence[HotSlot],
    readings: Sequence[SlotReading],
    interval: float | None,
    detail: str,
) -> dict[str, Any]:
    """Render the slots. `detail` is the reason if no primary was polled; otherwise it is derived from `told`."""
    return {
        "bdb_uid": bdb_uid,
        "by": by,
        "slots": [_slot(each) for each in slots],
        "shards": [_shard(each) for each in readings],
        "detail": detail or _missing_data(readings),
        **without_none(interval=None if interval is None else round(interval, 3)),
    }


def _slot(hot: HotSlot) -> dict[str, Any]:
    count = hot.count
    return {
        "slot": hot.slot,
        "shard_uid": str(hot.shard_uid),
        "node_uid": str(hot.node_uid),
        "key_count": count.keys,
        "total": without_none(
            cpu_usec=count.cpu_usec,
            network_bytes_in=count.network_bytes_in,
            network_bytes_out=count.network_bytes_out,
        ),
        **without_none(cpu=hot.cpu, ingress_bytes=hot.ingress_bytes, egress_bytes=hot.egress_bytes),
    }


def _shard(reading: SlotReading) -> dict[str, Any]:
    counted_since = None if reading.started_at is None else iso(datetime.fromtimestamp(reading.started_at, UTC))
    return {
        "shard_uid": str(reading.shard_uid),
        "node_uid": str(reading.node_uid),
        "detail": reading.reason,
        **without_none(counted_since=counted_since),
    }


def _missing_data(readings: Sequence[SlotReading]) -> str:
    """Return a message about primaries that returned no data, with the first reason; empty if all did."""
    missing = [each for each in readings if each.reason]
    if not missing:
        return ""
    summary = (
        f"None of the {len(readings)} primaries"
        if len(missing) == len(readings)
        else f"{len(readings) - len(missing)} of {len(readings)}"
    )
    verb = "returns data" if len(missing) == len(readings) else "primaries return data"
    return f"{summary} {verb} about slots. Shard redis:{missing[0].shard_uid}: {missing[0].reason}."
