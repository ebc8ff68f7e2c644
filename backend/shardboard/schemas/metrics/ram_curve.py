"""Model of the RAM curve, the estimated effect of the RAM size of a database on flash."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain.benchmarks import cost_model
from shardboard.domain.benchmarks.cost_model import CostModel, NodeSize
from shardboard.domain.metrics import ram_curve
from shardboard.domain.metrics.ram_curve import ShardCurve
from shardboard.schemas.benchmarks.cost_model import Cost
from shardboard.schemas.row_protocols import BdbRow


class CurvePoint(BaseModel):
    ram_size: int = Field(description="RAM of the database in bytes, including replicas, as in `bigstore_ram_size`.")
    hit_ratio: float = Field(description="Expected ratio of reads and writes whose value is in RAM, 0-1.")
    nodes: int | None = Field(description="Nodes that the database needs with this RAM.")
    amount: float | None = Field(description="Cost with this RAM.")


class RamCurveCosts(BaseModel):
    """Nodes and cost of the database, on nodes like the smallest of this cluster that have flash."""

    currency: str | None = Field(
        description="Currency of the cost model; null without prices, and amounts are null then."
    )
    node_ram: int = Field(description="RAM of a node in bytes; 0 if unknown.")
    node_flash: int = Field(description="Flash of a node in bytes.")
    ram_only: Cost = Field(description="With all values in RAM.")
    now: Cost = Field(description="With the current RAM limit, and the rest on flash.")
    node_factor: float | None = Field(description="How many times the nodes RAM only needs.")
    saving: float | None = Field(
        description="Share of the cost of RAM only that flash saves, 0-1; negative if it costs more."
    )


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
    costs: RamCurveCosts
    detail: str = Field(description="Reason why there is no curve or some shards are not included; otherwise empty.")


def render(
    bdb: BdbRow, shards: Sequence[ShardCurve], measured: float | None, prices: CostModel | None, node: NodeSize
) -> dict[str, Any]:
    """Render the curve. `measured` is the hit ratio of the newest second."""
    copies = bdb.shards_count * (2 if bdb.replication else 1)
    shards_with_data = [shard for shard in shards if ram_curve.has_data(shard)]
    size = int(bdb.config["bigstore_ram_size"])

    def compare(ram: int) -> cost_model.CostComparison:
        min_nodes = 2 if bdb.replication else 1
        return cost_model.compare(prices, node, data=bdb.memory_size, ram=ram, min_nodes=min_nodes)

    return {
        "bdb_uid": bdb.uid,
        "ram_size": size,
        "expected": round(ram_curve.hit_ratio_at(shards_with_data, size / copies), 4) if shards_with_data else None,
        "measured": measured,
        "points": [
            {
                "ram_size": point.ram,
                "hit_ratio": round(point.hit_ratio, 4),
                "nodes": (with_flash := compare(point.ram).with_flash).nodes,
                "amount": with_flash.amount,
            }
            for point in ram_curve.curve(shards, bdb.memory_size, copies)
        ],
        "costs": _costs(prices, node, compare(size)),
        "uses": sum(shard.uses for shard in shards_with_data),
        "detail": _detail(bdb, shards, shards_with_data),
    }


def _costs(prices: CostModel | None, node: NodeSize, comparison: cost_model.CostComparison) -> dict[str, Any]:
    return {
        "currency": None if prices is None else prices.currency,
        "node_ram": node.ram,
        "node_flash": node.flash,
        "ram_only": asdict(comparison.ram_only),
        "now": asdict(comparison.with_flash),
        "node_factor": comparison.node_factor,
        "saving": comparison.saving,
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
