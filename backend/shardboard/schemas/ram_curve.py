"""What another amount of RAM would give a database on flash, on the wire."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain import ram_curve
from shardboard.domain.ram_curve import ShardCurve
from shardboard.schemas.rows import BdbRow


class CurvePoint(BaseModel):
    ram_size: int = Field(description="Bytes for the whole database, replicas included, as bigstore_ram_size.")
    hit_ratio: float = Field(description="Expected share of fetches and writes whose value is in RAM, 0-1.")


class RamCurve(BaseModel):
    bdb_uid: int
    ram_size: int = Field(description="Bytes that the database has now.")
    expected: float | None = Field(description="The curve at that size; null without a curve.")
    measured: float | None = Field(description="The RAM-hit ratio of the newest second; null when nothing was used.")
    points: list[CurvePoint] = Field(
        description="From a tenth of memory_size to all of it; empty while nothing can be said."
    )
    uses: int = Field(description="Fetches and writes that it is estimated from; older ones count less.")
    detail: str = Field(
        description="One sentence on why there is no curve, or a part of the shards is not in it; else empty."
    )


def render(bdb: BdbRow, shards: Sequence[ShardCurve], measured: float | None) -> dict[str, Any]:
    """`measured` is the ratio of the newest second."""
    copies = bdb.shards_count * (2 if bdb.replication else 1)
    telling = [shard for shard in shards if ram_curve.is_telling(shard)]
    size = int(bdb.config["bigstore_ram_size"])
    return {
        "bdb_uid": bdb.uid,
        "ram_size": size,
        "expected": round(ram_curve.at(telling, size / copies), 4) if telling else None,
        "measured": measured,
        "points": [
            {"ram_size": point.ram, "hit_ratio": round(point.hit_ratio, 4)}
            for point in ram_curve.curve(shards, bdb.memory_size, copies)
        ],
        "uses": sum(shard.uses for shard in telling),
        "detail": _detail(bdb, shards, telling),
    }


def _detail(bdb: BdbRow, shards: Sequence[ShardCurve], telling: Sequence[ShardCurve]) -> str:
    if not bdb.memory_size:
        return "The database has no limit of memory, so there is no other size to compare with."
    if len(telling) == len(shards):
        return "" if shards else "It has no primary that could tell."
    silent = next(shard for shard in shards if not ram_curve.is_telling(shard))
    if silent.reason:
        return f"Shard redis:{silent.shard_uid}: {silent.reason}"
    if not silent.values_flash and silent.uses >= ram_curve.LEAST_USES:
        return "All values are in RAM already."
    return f"Shard redis:{silent.shard_uid} was not used enough yet: {silent.uses} of {ram_curve.LEAST_USES} fetches and writes."
