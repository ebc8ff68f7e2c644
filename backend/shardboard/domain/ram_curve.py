"""What another amount of RAM would give a database on flash: the expected RAM-hit ratio, from how far apart uses of keys are.

Each shard tells which share of its uses would be served if so many values were in RAM and those used last stayed there
(`engine/tier/src/reuse.rs`). What so many values take follows from what its values take on flash.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

STEPS = 37
"""From a tenth of the database to all of it."""
LEAST_SHARE = 0.1
"""Of the whole database, that its RAM has at least (REST reference 3.1.1)."""
LEAST_USES = 1_000
"""Of a shard, before its curve says anything."""


@dataclass(frozen=True)
class ShardCurve:
    """What one primary told. Bytes are of its own RAM and flash."""

    shard_uid: int
    reason: str = ""
    """Why it tells nothing; empty when it does."""
    uses: int = 0
    points: Sequence[tuple[int, float]] = ()
    """Rising numbers of values, and the share of uses that they serve, 0-1."""
    values_ram: float = 0.0
    values_flash: float = 0.0
    flash_bytes: float = 0.0
    """Of its values on flash."""
    used_ram: float = 0.0

    def hit_ratio(self, ram: float) -> float:
        """With so many bytes of RAM."""
        size = self.flash_bytes / self.values_flash
        fixed = max(0.0, self.used_ram - self.values_ram * size)
        room = (ram - fixed) / size
        if room >= self.values_ram + self.values_flash:
            return 1.0
        place = bisect_right(self.points, room, key=lambda point: point[0])
        return self.points[place - 1][1] if place else 0.0


@dataclass(frozen=True)
class Point:
    """`ram` are bytes of the whole database, replicas included, as `bigstore_ram_size` has them."""

    ram: int
    hit_ratio: float


def parse(text: str) -> tuple[int, list[tuple[int, float]]]:
    """The reply to `TIER.CURVE`: `<uses> <values>:<millionths> …`. Raises ValueError."""
    uses, *pairs = text.split()
    points = [(int(values), int(share) / 1e6) for values, _, share in (pair.partition(":") for pair in pairs)]
    return int(uses), points


def is_telling(shard: ShardCurve) -> bool:
    """Enough was used, and what a value takes is known."""
    return not shard.reason and shard.uses >= LEAST_USES and bool(shard.points) and shard.values_flash > 0


def curve(shards: Sequence[ShardCurve], memory_size: int, copies: int) -> list[Point]:
    """Of a database of that many shards and replicas; empty when none of its shards can tell."""
    telling = [shard for shard in shards if is_telling(shard)]
    if not telling or not memory_size:
        return []
    least = memory_size * LEAST_SHARE
    sizes = [round(least + (memory_size - least) * step / (STEPS - 1)) for step in range(STEPS)]
    return [Point(size, at(telling, size / copies)) for size in sizes]


def at(telling: Sequence[ShardCurve], ram: float) -> float:
    """With so many bytes of RAM for each shard; those that are used more count more."""
    uses = sum(shard.uses for shard in telling)
    return sum(shard.uses * shard.hit_ratio(ram) for shard in telling) / uses
