"""The node's flash: one directory per shard for cold values, and the engine module that stores them there.

Data on flash is a cache of what the engine also has in its replicas or on disk. It is worthless after the process that wrote it
ends.
"""

import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import psutil

from shardboard.agent.settings import AgentSettings
from shardboard.kit.resources import PROGRAMS

MODULE = "libshardboard_tier.so"
MODULE_DIRECTORIES = (PROGRAMS, Path("/usr/local/lib/shardboard"))
"""Directories that can contain the module: of this installation, and of the container image."""


class FlashError(Exception):
    """The node cannot use flash. The message is for the person who started the agent."""


@dataclass(frozen=True)
class Flash:
    """A validated flash directory with its size in bytes and the engine module."""

    root: Path
    size: int
    module: Path

    def directory(self, uid: int) -> Path:
        """Return the directory of a shard."""
        return self.root / "shards" / str(uid)

    def prepare(self, uid: int) -> None:
        """Create an empty directory for a shard. Raises OSError."""
        self.remove(uid)
        self.directory(uid).mkdir(mode=0o700, parents=True)

    def remove(self, uid: int) -> None:
        shutil.rmtree(self.directory(uid), ignore_errors=True)

    def remove_others(self, names: Collection[str]) -> None:
        """Remove the directories of all shards except `names`. A shard's directory is named by its uid."""
        shards = self.root / "shards"
        for path in shards.iterdir() if shards.is_dir() else ():
            if path.name not in names:
                shutil.rmtree(path, ignore_errors=True)


def open_flash(settings: AgentSettings) -> Flash | None:
    """Return the flash that the settings configure, or None. Raises FlashError."""
    if settings.flash is None:
        if settings.flash_size is not None:
            raise FlashError("--flash-size needs --flash, the directory on the flash disk.")
        return None
    root = settings.flash.absolute()
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        total_bytes = psutil.disk_usage(str(root)).total
    except OSError as error:
        raise FlashError(f"The flash directory {root} is not usable: {error.strerror}.") from error
    if not os.access(root, os.W_OK | os.X_OK):
        raise FlashError(f"The flash directory {root} is not writable for this user.")
    _secure_shards(root / "shards")
    size = settings.flash_size or total_bytes
    if size > total_bytes:
        raise FlashError(f"--flash-size is {size} bytes, but the file system of {root} has {total_bytes}.")
    return Flash(root, size, _module(settings))


def _secure_shards(shards: Path) -> None:
    """Create the directory of all shards for this user only. Raises FlashError if another user could replace its content."""
    try:
        shards.mkdir(mode=0o700, exist_ok=True)
        if shards.is_symlink() or shards.stat().st_uid != os.geteuid():
            raise FlashError(f"{shards} must be a directory that belongs to the user of the agent, and no link.")
        shards.chmod(0o700)
    except OSError as error:
        raise FlashError(f"The flash directory {shards} is not usable: {error.strerror}.") from error


def find_module() -> Path | None:
    """Return the path of the engine module for flash; None if it is not installed."""
    return next((directory / MODULE for directory in MODULE_DIRECTORIES if (directory / MODULE).is_file()), None)


def _module(settings: AgentSettings) -> Path:
    configured = Path(settings.tier) if settings.tier else None
    module = find_module() if configured is None else configured if configured.is_file() else None
    if module is None:
        searched_paths = (
            " and ".join(str(directory / MODULE) for directory in MODULE_DIRECTORIES)
            if configured is None
            else str(configured)
        )
        raise FlashError(f"The engine module for flash was not found ({searched_paths}). Build it with `make proxy`.")
    return module.absolute()
