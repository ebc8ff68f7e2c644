"""Lists of files that agents return, page by page."""

from collections.abc import Mapping
from typing import Any

MAX_PAGES = 200
"""Of one folder. Agents return 10,000 files at a time, so these are more files than recordings of years have."""


class InvalidFileList(ValueError):
    """The text is a message for users."""


def parse_page(result: Mapping[str, Any], folder: str, after: str, number: int) -> tuple[list[str], bool]:
    """Return the paths in a result of ListFiles, and whether there are more. `number` counts the pages of a folder from 1. Raises
    InvalidFileList.

    A faulty agent or location must not cause an endless list, or the deletion of files outside the folder.
    """
    files = result.get("files")
    if not isinstance(files, list) or not all(isinstance(each, dict) for each in files):
        raise InvalidFileList("The node returned an invalid list of files.")
    paths = [str(each.get("path")) for each in files]
    if outside := next((path for path in paths if not _is_in(path, folder)), None):
        raise InvalidFileList(f"The node returned an invalid list of files: {outside[:200]!r} is not in {folder}.")
    is_truncated = bool(result.get("truncated"))
    if (paths or is_truncated) and max(paths[-1:], default="") <= after:
        raise InvalidFileList("The node returned an invalid list of files: it does not continue the previous one.")
    if is_truncated and number >= MAX_PAGES:
        raise InvalidFileList(
            f"The list of files in {folder or 'the location'} does not end after {MAX_PAGES} parts. Check the location, and delete "
            "files that are not needed."
        )
    return paths, is_truncated


def _is_in(path: str, folder: str) -> bool:
    return not folder or (path.startswith(f"{folder}/") and ".." not in path.split("/"))
