"""How the memory of a database is divided: what each shard may keep in RAM, and of a database on flash, what beside it."""

from dataclasses import dataclass

MIN_SHARD_RAM = 16 * 2**20
"""A replicated shard takes 13 MiB before its first key: its own 3, and 10 of replication backlog."""
MIN_FLASH = 2**20
"""What the module needs to keep anything on flash."""
LEAST_PERCENT = 10
DEFAULT_PERCENT = 10
HEADROOM = 16
"""Values begin to move to flash when this part of the RAM is left, so that the engine need not evict keys meanwhile."""


@dataclass(frozen=True)
class Tier:
    """Settings of the engine's module that keeps cold values on flash, for one shard."""

    ram_limit: int
    """Bytes of RAM above which values go to flash; 0 = all stay in RAM."""
    flash_limit: int
    """Bytes of values on flash; 0 = no limit."""


@dataclass(frozen=True)
class Share:
    """Bytes for one shard."""

    ram: int
    """What the engine may take; 0 = no limit."""
    flash: int | None = None
    """None for a database that is not on flash."""

    @property
    def tier(self) -> Tier | None:
        if self.flash is None:
            return None
        return Tier(self.ram - self.ram // HEADROOM, max(self.flash, MIN_FLASH)) if self.flash else Tier(0, 0)

    def scaled(self, shards: int, among: int) -> "Share":
        """The same memory of `shards` shards, shared `among` another number of them."""
        flash = None if self.flash is None else self.flash * shards // among
        return Share(self.ram * shards // among, flash)

    def wider(self, other: "Share") -> "Share":
        """As much as either has."""
        ram = max(self.ram, other.ram) if self.ram and other.ram else 0
        return Share(ram, None if self.flash is None else max(self.flash, other.flash or 0))


def share(memory_size: int, ram_size: int, copies: int, *, on_flash: bool) -> Share:
    """Of a database with `copies` shards, replicas included: `memory_size` is for all of them, RAM and flash together."""
    whole = memory_size // copies
    if not on_flash:
        return Share(whole)
    ram = ram_size // copies
    return Share(ram, whole - ram)


def default_ram(memory_size: int, copies: int) -> int:
    """RAM of a database on flash that did not ask for a certain amount."""
    return min(memory_size, max(-(-memory_size * DEFAULT_PERCENT // 100), copies * MIN_SHARD_RAM))
