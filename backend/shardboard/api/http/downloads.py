"""Replies that a browser stores as a file."""

from typing import Any

FILE, ARCHIVE = "application/octet-stream", "application/x-tar"


def binary_content(media_type: str) -> dict[int | str, dict[str, Any]]:
    """Return the description of a reply that is not JSON."""
    return {200: {"content": {media_type: {"schema": {"type": "string", "format": "binary"}}}}}


def attachment_headers(name: str, size: int | None = None) -> dict[str, str]:
    length = {"Content-Length": str(size)} if size is not None else {}
    return {"Content-Disposition": f'attachment; filename="{name}"', **length}
