"""Starts servers with the tier."""

import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testkit"))

from lab import Lab
from wire import Connection

MODULE = Path(__file__).resolve().parents[2] / "target/release/libshardboard_tier.so"
ALL_ON_FLASH = {"ram-limit": 1, "min-value": 64, "segment-size": 65536}
"""Settings that demote every possible value at once. Small segments are compacted continuously."""

APPEND_ONLY = ("--appendonly", "yes", "--appendfsync", "no")
"""Options of servers whose file must contain each acknowledged write when they are killed. With "everysec", the engine
replies before it writes to the file if the previous fsync takes long.
"""


def options(flash: Path, **settings: Any) -> list[str]:
    """Return the options of a server with its values in directory `flash`. Tier settings use `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in settings.items()}
    words = (word for name, value in {"flash-path": flash, **named}.items() for word in (f"--tier.{name}", str(value)))
    return ["--loadmodule", str(MODULE), *words]


def all_on_flash(lab: Lab, port: int) -> list[str]:
    """Return the options of a server that keeps no value in RAM if it can be on flash."""
    return options(lab.directory / f"flash-{port}", **ALL_ON_FLASH)


def info(wire: Connection, section: str = "tier") -> dict[str, str]:
    """Return the fields of an INFO section."""
    lines = wire.execute("INFO", section).decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def is_cold(wire: Connection, name: str) -> bool:
    """Return whether the value is on flash."""
    return bool(wire.execute("TIER.WHERE", name) == b"flash")


class TieredLab(Lab):
    """A lab whose servers have the tier and keep no value in RAM if it can be on flash."""

    def __init__(self, address: str, *more: str, plain: Collection[int] = ()) -> None:
        super().__init__(address)
        self.more, self.plain = more, plain
        self.by_port: dict[int, subprocess.Popen[bytes]] = {}

    def server(self, port: int, *options: str, through: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start a server. If its port is in `plain`, it does not have the tier."""
        tier = () if port in self.plain else (*self.more, *all_on_flash(self, port))
        self.by_port[port] = super().server(port, *options, *tier, through=through)
        return self.by_port[port]

    def kill(self, port: int) -> None:
        """Kill the server to simulate a crash."""
        self.by_port[port].kill()
        self.by_port[port].wait()
