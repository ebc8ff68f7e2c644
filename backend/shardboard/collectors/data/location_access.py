"""Tests of storage locations, and the search for backups in them, for example those of a cluster that was lost."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardboard.collectors.data.request_transfers import RequestTransfers
from shardboard.contract.locations import Location
from shardboard.contract.transfers import CheckLocation, DeleteFiles, ListFiles, ReadFile
from shardboard.domain.data import file_lists, folder_names
from shardboard.domain.data import manifest as manifests
from shardboard.domain.data.file_lists import InvalidFileList
from shardboard.domain.data.manifest import InvalidManifest, Manifest
from shardboard.driver.interfaces import TransferState
from shardboard.errors import Unavailable

MAX_READ = 50
"""Manifests that one request reads; another request continues."""
CONCURRENT = 4


@dataclass(frozen=True)
class FoundBackups:
    """Result of a search."""

    manifests: dict[str, Manifest]
    """By folder."""
    invalid: dict[str, str]
    """Reasons why folders with a manifest cannot be used."""
    has_more: bool


class LocationAccess:
    """Access to storage locations through nodes."""

    def __init__(self, transfers: RequestTransfers) -> None:
        self._transfers = transfers

    async def check(self, location: Location, node_uid: int | None = None) -> dict[str, Any]:
        """Test a location. Return `{"node_uid", "checks"}`. Raises NotFound, NotAcceptable, or Unavailable with the reason."""
        tested_by, state = await self._transfers.execute(CheckLocation(location=location), node_uid)
        if state.result is None:
            return {"node_uid": tested_by, "checks": [{"name": "connect", "ok": False, "error": state.error}]}
        checks = state.result.get("checks", [])
        return {"node_uid": tested_by, "checks": checks if isinstance(checks, list) else []}

    async def delete(self, location: Mapping[str, Any], paths: Sequence[str]) -> None:
        """Delete files. Raises NotAcceptable or Unavailable with the reason."""
        message = DeleteFiles.model_validate({"location": location, "paths": paths})
        _, state = await self._transfers.execute(message)
        if state.result is None:
            raise Unavailable("location_failed", state.error or "The files cannot be deleted.")

    async def list_files(self, location: Mapping[str, Any], folder: str) -> list[str]:
        """Return the paths of all files in a folder. Raises NotAcceptable or Unavailable with the reason."""
        paths: list[str] = []
        after, number, is_truncated = "", 0, True
        while is_truncated:
            number += 1
            message = ListFiles.model_validate({"location": location, "folder": folder, "after": after})
            found, is_truncated = await self._list(message, number)
            paths += found
            after = found[-1] if found else ""
        return paths

    async def _list(self, message: ListFiles, number: int = 1) -> tuple[list[str], bool]:
        """Return the paths of a page, and whether there are more."""
        _, state = await self._transfers.execute(message)
        if state.result is None:
            raise Unavailable("location_failed", state.error or "The files of the location cannot be listed.")
        try:
            return file_lists.parse_page(state.result, message.folder, message.after, number)
        except InvalidFileList as error:
            raise Unavailable("location_failed", str(error)) from error

    async def find_backups(self, location: Location, known: Collection[str]) -> FoundBackups:
        """Return the backups in a location, except those in `known` folders. Raises Unavailable with the reason."""
        suffix = f"/{folder_names.MANIFEST}"
        paths, is_truncated = await self._list(ListFiles(location=location, suffix=suffix))
        found = {path.removesuffix(suffix) for path in paths if path.endswith(suffix)}
        folders = sorted(found - set(known), reverse=True)
        limit = asyncio.Semaphore(CONCURRENT)

        async def read(folder: str) -> Manifest | str:
            async with limit:
                _, end = await self._transfers.execute(ReadFile(location=location, path=f"{folder}{suffix}"))
            return _parse(end)

        read_folders = folders[:MAX_READ]
        results = dict(zip(read_folders, await asyncio.gather(*map(read, read_folders)), strict=True))
        return FoundBackups(
            manifests={folder: each for folder, each in results.items() if isinstance(each, Manifest)},
            invalid={folder: each for folder, each in results.items() if isinstance(each, str)},
            has_more=len(folders) > MAX_READ or is_truncated,
        )


def _parse(state: TransferState) -> Manifest | str:
    """Return a manifest, or the reason why it cannot be used."""
    if state.result is None:
        return state.error
    try:
        return manifests.parse(json.loads(str(state.result.get("text"))))
    except (InvalidManifest, RecursionError) as error:
        return str(error)
    except ValueError:
        return "The manifest is not valid JSON."
