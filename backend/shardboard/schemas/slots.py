"""The hash slots that take most, on the wire."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.domain.hot_slots import HotSlot, Metric, Told
from shardboard.schemas.absent import OptionalInt, OptionalStr, present, without_default
from shardboard.schemas.times import iso

OptionalFloat = Annotated[float | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]


class SlotTotals(BaseModel):
    """Since the shard's `counted_since`; absent where the engine does not count it."""

    cpu_usec: OptionalInt = Field(description="Microseconds of processor time.")
    network_bytes_in: OptionalInt
    network_bytes_out: OptionalInt


class HotSlotRow(BaseModel):
    slot: int
    shard_uid: str = Field(description="The primary that serves it.")
    node_uid: str
    key_count: int
    cpu: OptionalFloat = Field(
        description="Processors that commands on its keys take, 1 = one core, between the last two looks; absent before."
    )
    ingress_bytes: OptionalFloat = Field(description="Bytes of requests per second; absent until there were two looks.")
    egress_bytes: OptionalFloat = Field(description="Bytes of replies per second; absent until there were two looks.")
    total: SlotTotals


class SlotShard(BaseModel):
    """A primary that was asked."""

    shard_uid: str
    node_uid: str
    detail: str = Field(description="Why it told nothing, for example an engine that does not count; else empty.")
    counted_since: OptionalStr = Field(
        description="Start of its process. A slot that came later, or what was counted before CONFIG RESETSTAT, is not in it."
    )


class HotSlots(BaseModel):
    bdb_uid: int
    by: Metric
    interval: OptionalFloat = Field(description="Seconds that rates are of; absent until there were two looks.")
    slots: list[HotSlotRow] = Field(description="The highest first: by rate, and where there is none yet by total.")
    shards: list[SlotShard]
    detail: str = Field(description="One sentence when nobody could be asked or not all told; else empty.")


def render(
    bdb_uid: int, by: Metric, slots: Sequence[HotSlot], told: Sequence[Told], interval: float | None, detail: str
) -> dict[str, Any]:
    """`detail` says why nobody was asked; who did not tell is read from `told`."""
    return {
        "bdb_uid": bdb_uid,
        "by": by,
        "slots": [_slot(each) for each in slots],
        "shards": [_shard(each) for each in told],
        "detail": detail or _silence(told),
        **present(interval=None if interval is None else round(interval, 3)),
    }


def _slot(hot: HotSlot) -> dict[str, Any]:
    count = hot.count
    return {
        "slot": hot.slot,
        "shard_uid": str(hot.shard_uid),
        "node_uid": str(hot.node_uid),
        "key_count": count.keys,
        "total": present(
            cpu_usec=count.cpu_usec,
            network_bytes_in=count.network_bytes_in,
            network_bytes_out=count.network_bytes_out,
        ),
        **present(cpu=hot.cpu, ingress_bytes=hot.ingress_bytes, egress_bytes=hot.egress_bytes),
    }


def _shard(told: Told) -> dict[str, Any]:
    begun = None if told.started_at is None else iso(datetime.fromtimestamp(told.started_at, UTC))
    return {
        "shard_uid": str(told.shard_uid),
        "node_uid": str(told.node_uid),
        "detail": told.reason,
        **present(counted_since=begun),
    }


def _silence(told: Sequence[Told]) -> str:
    """Who did not tell, and the first reason."""
    silent = [each for each in told if each.reason]
    if not silent:
        return ""
    who = (
        f"None of its {len(told)} primaries"
        if len(silent) == len(told)
        else f"{len(told) - len(silent)} of {len(told)}"
    )
    verb = "tells" if len(silent) == len(told) else "primaries tell"
    return f"{who} {verb} which slots take most. Shard redis:{silent[0].shard_uid}: {silent[0].reason}."
