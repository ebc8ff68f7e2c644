"""Division of the memory limit of a database among its shards, and of each share between RAM and flash."""

from dataclasses import dataclass

MIN_SHARD_RAM = 16 * 2**20
"""A replicated shard uses 13 MiB before its first key: 3 MiB itself and 10 MiB for the replication backlog."""
MIN_FLASH = 2**20
"""Minimum that the flash module needs."""
MIN_PERCENT = 10
DEFAULT_PERCENT = 10
HEADROOM = 16
"""Values move to flash when 1/HEADROOM of the RAM limit is left, so that the engine does not have to evict keys."""


@dataclass(frozen=True)
class Tier:
    """Settings for one shard of the engine module that keeps cold values on flash."""

    ram_limit: int
    """Bytes of RAM above which values are moved to flash; 0 = all values stay in RAM."""
    flash_limit: int
    """Maximum number of bytes of values on flash; 0 = no limit."""


@dataclass(frozen=True)
class ShardMemory:
    """Limits of one shard in bytes."""

    ram: int
    """Memory limit of the engine; 0 = no limit."""
    flash: int | None = None
    """None for a database that is not on flash."""

    @property
    def tier(self) -> Tier | None:
        if self.flash is None:
            return None
        return Tier(self.ram - self.ram // HEADROOM, max(self.flash, MIN_FLASH)) if self.flash else Tier(0, 0)

    def scaled(self, shards: int, among: int) -> "ShardMemory":
        """Divide the memory of `shards` shards among another number of shards."""
        flash = None if self.flash is None else self.flash * shards // among
        return ShardMemory(self.ram * shards // among, flash)

    def maximum(self, other: "ShardMemory") -> "ShardMemory":
        """Return the larger of both limits."""
        ram = max(self.ram, other.ram) if self.ram and other.ram else 0
        return ShardMemory(ram, None if self.flash is None else max(self.flash, other.flash or 0))


def shard_memory(memory_size: int, ram_size: int, copies: int, *, on_flash: bool) -> ShardMemory:
    """Return the share of one of `copies` shards (replicas included). `memory_size` is the total of RAM and flash."""
    total_size = memory_size // copies
    if not on_flash:
        return ShardMemory(total_size)
    ram = ram_size // copies
    return ShardMemory(ram, total_size - ram)


def default_ram(memory_size: int, copies: int) -> int:
    """Return the RAM limit of a database on flash that did not request one."""
    return min(memory_size, max(-(-memory_size * DEFAULT_PERCENT // 100), copies * MIN_SHARD_RAM))
