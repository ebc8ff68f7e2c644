"""Fields of storage locations in the format of the Redis Enterprise REST API."""

from collections.abc import Mapping
from typing import Any


def with_own_type(location: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with the type `ftp` for FTP servers, for which requests can also use the type `url`."""
    is_ftp = location.get("type") == "url" and str(location.get("url", "")).startswith(("ftp://", "ftps://"))
    return {**location, "type": "ftp"} if is_ftp else dict(location)
