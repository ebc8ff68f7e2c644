"""Model of the RAM curve, the estimated effect of the RAM size of a database on flash."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain.metrics import ram_curve
from shardboard.domain.metrics.ram_curve import ShardCurve
from shardboard.schemas.row_protocols import BdbRow


class CurvePoint(BaseModel):
    ram_size: int = Field(description="RAM of the database in bytes, including replicas, as in `bigstore_ram_size`.")
    hit_ratio: float = Field(description="Expected ratio of reads and writes whose value is in RAM, 0-1.")


class RamCurve(BaseModel):
    bdb_uid: int
    ram_size: int = Field(description="Current RAM of the database in bytes.")
    expected: float | None = Field(description="Expected ratio at the current size; null without a curve.")
    measured: float | None = Field(description="RAM hit ratio of the newest second; null if there was no access.")
    points: list[CurvePoint] = Field(
        description="Points from 10% to 100% of memory_size; empty if no estimate is possible."
    )
    uses: int = Field(
        description="Number of reads and writes that the estimate is based on; older ones have less weight."
    )
    detail: str = Field(description="Reason why there is no curve or some shards are not included; otherwise empty.")


def render(bdb: BdbRow, shards: Sequence[ShardCurve], measured: float | None) -> dict[str, Any]:
    """Render the curve. `measured` is the hit ratio of the newest second."""
    copies = bdb.shards_count * (2 if bdb.replication else 1)
    shards_with_data = [shard for shard in shards if ram_curve.has_data(shard)]
    size = int(bdb.config["bigstore_ram_size"])
    return {
        "bdb_uid": bdb.uid,
        "ram_size": size,
        "expected": round(ram_curve.hit_ratio_at(shards_with_data, size / copies), 4) if shards_with_data else None,
        "measured": measured,
        "points": [
            {"ram_size": point.ram, "hit_ratio": round(point.hit_ratio, 4)}
            for point in ram_curve.curve(shards, bdb.memory_size, copies)
        ],
        "uses": sum(shard.uses for shard in shards_with_data),
        "detail": _detail(bdb, shards, shards_with_data),
    }


def _detail(bdb: BdbRow, shards: Sequence[ShardCurve], usable: Sequence[ShardCurve]) -> str:
    if not bdb.memory_size:
        return "The database has no memory limit, so there are no other sizes to compare."
    if len(usable) == len(shards):
        return "" if shards else "The database has no primary to query."
    unusable = next(shard for shard in shards if not ram_curve.has_data(shard))
    if unusable.reason:
        return f"Shard redis:{unusable.shard_uid}: {unusable.reason}"
    if not unusable.values_flash and unusable.uses >= ram_curve.MIN_USES:
        return "All values are already in RAM."
    count = f"{unusable.uses} of {ram_curve.MIN_USES} reads and writes so far"
    return f"Shard redis:{unusable.shard_uid} needs more accesses: {count}."
