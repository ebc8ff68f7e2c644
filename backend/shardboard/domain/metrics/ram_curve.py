"""Expected RAM hit ratio of a database on flash for other RAM limits, derived from the reuse distances of keys.

Each shard reports the share of accesses that would be served from RAM if a number of most recently used values were there
(`engine/tier/src/reuse.rs`). The memory that these values need is derived from the size of its values on flash.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

STEPS = 37
"""Points from a tenth of the database to the complete database."""
MIN_SHARE = 0.1
"""Minimum share of the database in RAM (REST reference 3.1.1)."""
MIN_USES = 1_000
"""Minimum number of accesses of a shard before its curve is used."""


@dataclass(frozen=True)
class ShardCurve:
    """Report of one primary. Bytes are those of its RAM and flash."""

    shard_uid: int
    reason: str = ""
    """Why there is no report; empty if there is one."""
    uses: int = 0
    points: Sequence[tuple[int, float]] = ()
    """Ascending numbers of values, each with the share of accesses that they serve, 0-1."""
    values_ram: float = 0.0
    values_flash: float = 0.0
    flash_bytes: float = 0.0
    """Bytes of its values on flash."""
    used_ram: float = 0.0

    def hit_ratio(self, ram: float) -> float:
        """Return the expected hit ratio with `ram` bytes of RAM."""
        size = self.flash_bytes / self.values_flash
        fixed = max(0.0, self.used_ram - self.values_ram * size)
        capacity = (ram - fixed) / size
        if capacity >= self.values_ram + self.values_flash:
            return 1.0
        index = bisect_right(self.points, capacity, key=lambda point: point[0])
        return self.points[index - 1][1] if index else 0.0


@dataclass(frozen=True)
class Point:
    """`ram` is bytes of the complete database, replicas included, as in `bigstore_ram_size`."""

    ram: int
    hit_ratio: float


def parse(text: str) -> tuple[int, list[tuple[int, float]]]:
    """Parse the reply to `TIER.CURVE`: `<uses> <values>:<millionths> …`. Raises ValueError."""
    use_count, *pairs = text.split()
    points = [(int(values), int(share) / 1e6) for values, _, share in (pair.partition(":") for pair in pairs)]
    return int(use_count), points


def has_data(shard: ShardCurve) -> bool:
    """Return whether there were enough accesses, and the size of values is known."""
    return not shard.reason and shard.uses >= MIN_USES and bool(shard.points) and shard.values_flash > 0


def curve(shards: Sequence[ShardCurve], memory_size: int, copies: int) -> list[Point]:
    """Return the curve of a database with `copies` shards (replicas included); empty if no shard has usable data."""
    informative = [shard for shard in shards if has_data(shard)]
    if not informative or not memory_size:
        return []
    min_memory = memory_size * MIN_SHARE
    sizes = [round(min_memory + (memory_size - min_memory) * step / (STEPS - 1)) for step in range(STEPS)]
    return [Point(size, hit_ratio_at(informative, size / copies)) for size in sizes]


def hit_ratio_at(shards: Sequence[ShardCurve], ram: float) -> float:
    """Return the hit ratio with `ram` bytes for each shard; shards are weighted by their accesses."""
    use_count = sum(shard.uses for shard in shards)
    return sum(shard.uses * shard.hit_ratio(ram) for shard in shards) / use_count
