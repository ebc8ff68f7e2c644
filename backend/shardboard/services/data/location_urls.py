"""URLs of storage locations: which are valid, and whether credentials would be sent to another server."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from shardboard.contract.locations import Location
from shardboard.errors import NotAcceptable
from shardboard.schemas.data.locations import without_password

URLS = ("url", "sftp_url", "proxy_url", "endpoint")
_DESTINATION = ("endpoint", "proxy_url", "ca_cert", "known_hosts", "account_name", "sftp_url")
"""Fields that determine which server receives the credentials."""


def check(location: Location) -> None:
    """Check the URLs, so that their passwords are recognized as such. Raises NotAcceptable without the URL."""
    for name in URLS:
        if error := _error(getattr(location, name, ""), may_have_user=name != "endpoint"):
            raise NotAcceptable("invalid_backup_location", f"{name} {error}", field=f"location.{name}")


def _error(url: str, *, may_have_user: bool) -> str:
    try:
        parts = urlsplit(url)
        has_port = parts.port is not None
    except ValueError:
        return "is not a valid URL. Percent-encode special characters in the user and the password."
    if "@" in parts.netloc:
        return "" if may_have_user else "must not contain a user or a password. Use the fields for credentials."
    if has_port and "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return "contains an @ after the host. Percent-encode special characters: @ as %40, and / in a password as %2F."
    return ""


def changed_destination(location: Mapping[str, Any], stored: Mapping[str, Any]) -> str:
    """Return the first field that makes another server receive the credentials; empty if none does."""
    return next((name for name in _DESTINATION if _value(location, name) != _value(stored, name)), "")


def _value(location: Mapping[str, Any], name: str) -> str:
    value = str(location.get(name) or "")
    if name == "sftp_url":
        parts = urlsplit(without_password(value))
        return parts.netloc.rpartition("@")[2]
    return value.rstrip("/")
