"""Copies of the console's objects, with which a console that has lost its store rebuilds it. Only a console can read them.

    <state_dir>/recovery/<name>    the version as one line of JSON, followed by the content

A newer version replaces an older one, never the reverse.
"""

import asyncio
import logging
from pathlib import Path

from pydantic import ValidationError

from shardboard.contract.recovery_copies import (
    MAX_COPY_BYTES,
    MAX_TOTAL_BYTES,
    CopyVersion,
    KeepCopies,
    ReadCopy,
    RecoveryCopy,
)
from shardboard.pki.key_files import remove_partial_files, write_private

log = logging.getLogger(__name__)

HEAD_BYTES = 1024
"""More than the line with the version has."""


class RecoveryCopies:
    """The copies of this agent."""

    def __init__(self, state_dir: Path) -> None:
        self._directory = state_dir / "recovery"
        self._changing = asyncio.Lock()
        self._sizes: dict[str, int] = {}
        self._total = 0
        self._versions = self._read_versions()

    async def versions(self) -> list[CopyVersion]:
        return list(self._versions.values())

    async def keep(self, request: KeepCopies) -> list[CopyVersion]:
        """Store newer copies and delete those that are no longer needed. Return the versions of all copies that are on disk."""
        async with self._changing:
            await asyncio.to_thread(self._keep, request)
        return await self.versions()

    async def read(self, request: ReadCopy) -> list[RecoveryCopy]:
        """Return the copy, or nothing if there is no readable one."""
        copy = await asyncio.to_thread(_read, self._directory / request.name)
        return [copy] if copy is not None else []

    def _keep(self, request: KeepCopies) -> None:
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            for name in [] if request.names is None else self._versions.keys() - set(request.names):
                (self._directory / name).unlink(missing_ok=True)
                self._total -= self._sizes.pop(name)
                del self._versions[name]
            for copy in request.copies:
                self._store(copy)
        except OSError as error:  # the console compares the versions in the reply
            log.error("recovery copies: %s cannot be changed: %s", self._directory, error)

    def _store(self, copy: RecoveryCopy) -> None:
        held = self._versions.get(copy.name)
        if held is not None and held.order >= copy.order:
            return
        content = f"{copy.version.model_dump_json()}\n{copy.content}".encode()
        total = self._total - self._sizes.get(copy.name, 0) + len(content)
        if total > MAX_TOTAL_BYTES:
            log.error("recovery copies: %s is not stored: all copies would have %s bytes", copy.name, total)
            return
        write_private(self._directory / copy.name, content)
        self._versions[copy.name], self._sizes[copy.name], self._total = copy.version, len(content), total

    def _read_versions(self) -> dict[str, CopyVersion]:
        """Return the versions of the copies on disk. Damaged ones count as missing, and the console sends them again."""
        if not self._directory.is_dir():
            return {}
        remove_partial_files(self._directory)
        versions = {}
        for file in sorted(self._directory.iterdir()):
            if (version := _read_version(file)) is None:
                log.error("recovery copies: %s is damaged", file)
                continue
            versions[version.name] = version
            self._sizes[version.name] = file.stat().st_size
        self._total = sum(self._sizes.values())
        return versions


def _read_version(file: Path) -> CopyVersion | None:
    """Return the version of the copy in a file; None if it is missing or damaged."""
    try:
        with file.open("rb") as source:
            version = CopyVersion.model_validate_json(source.readline(HEAD_BYTES))
    except (OSError, ValidationError):
        return None
    return version if version.name == file.name else None


def _read(file: Path) -> RecoveryCopy | None:
    """Return the copy in a file; None if it is missing or damaged."""
    if (version := _read_version(file)) is None:
        return None
    try:
        with file.open("rb") as source:
            content = source.read(HEAD_BYTES + MAX_COPY_BYTES).partition(b"\n")[2]
        return RecoveryCopy(**version.model_dump(), content=content.decode("ascii"))
    except (OSError, ValidationError, UnicodeDecodeError):
        return None
