"""The node's flash: where cold values of shards go, one directory each, and the engine's module that puts them there.

What is on flash is a cache of what the engine has in its replicas or on its disk: nobody needs it after the process that wrote it.
"""

import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import psutil

from shardboard.agent.settings import AgentSettings
from shardboard.resources import PROGRAMS

MODULE = "libshardboard_tier.so"
PLACES = (PROGRAMS, Path("/usr/local/lib/shardboard"))
"""Where this installation has the module, and where the image has it."""


class FlashError(Exception):
    """Why this node cannot have flash; a sentence for the person who started the agent."""


@dataclass(frozen=True)
class Flash:
    """What was checked."""

    root: Path
    size: int
    module: Path

    def directory(self, uid: int) -> Path:
        """The directory of one shard."""
        return self.root / "shards" / str(uid)

    def prepare(self, uid: int) -> None:
        """Make it, empty. Raises OSError."""
        self.remove(uid)
        self.directory(uid).mkdir(mode=0o700, parents=True)

    def remove(self, uid: int) -> None:
        shutil.rmtree(self.directory(uid), ignore_errors=True)

    def keep(self, names: Collection[str]) -> None:
        """Remove the directories of all other shards; a shard's directory is named by its uid."""
        shards = self.root / "shards"
        for path in shards.iterdir() if shards.is_dir() else ():
            if path.name not in names:
                shutil.rmtree(path, ignore_errors=True)


def find(settings: AgentSettings) -> Flash | None:
    """The flash that the agent was given; None when it was given none. Raises FlashError."""
    if settings.flash is None:
        if settings.flash_size is not None:
            raise FlashError("--flash-size says how much of a flash disk to use; --flash must say where it is.")
        return None
    root = settings.flash.absolute()
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole = psutil.disk_usage(str(root)).total
    except OSError as error:
        raise FlashError(f"The flash directory {root} cannot be used: {error.strerror}.") from error
    if not os.access(root, os.W_OK | os.X_OK):
        raise FlashError(f"The flash directory {root} cannot be written by this user.")
    size = settings.flash_size or whole
    if size > whole:
        raise FlashError(f"--flash-size is {size} bytes, but the file system of {root} has {whole}.")
    return Flash(root, size, _module(settings))


def built() -> Path | None:
    """The engine's module for flash."""
    return next((place / MODULE for place in PLACES if (place / MODULE).is_file()), None)


def _module(settings: AgentSettings) -> Path:
    told = Path(settings.tier) if settings.tier else None
    found = built() if told is None else told if told.is_file() else None
    if found is None:
        where = " and ".join(str(place / MODULE) for place in PLACES) if told is None else str(told)
        raise FlashError(f"The engine's module for flash was not found ({where}); `make proxy` builds it.")
    return found.absolute()
