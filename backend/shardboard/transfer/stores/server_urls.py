"""URLs of FTP and SFTP servers."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from shardboard.transfer.errors import TransferError


@dataclass(frozen=True)
class ServerUrl:
    """Parts of `scheme://user:password@host:port/path`."""

    scheme: str
    host: str
    port: int | None
    user: str
    password: str = field(repr=False)
    path: str


def parse_server_url(url: str, schemes: tuple[str, ...]) -> ServerUrl:
    """Return the parts of a URL. Raises TransferError, without the URL, which contains the password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TransferError("wrong-file-path", "The URL of the location is not valid.") from error
    if parts.scheme not in schemes or not parts.hostname:
        names = " or ".join(f"{scheme}://" for scheme in schemes)
        raise TransferError("wrong-file-path", f"The URL of the location must start with {names} and a host name.")
    path = unquote(parts.path)
    if any(ord(character) < ord(" ") for character in path):
        raise TransferError("wrong-file-path", "The path in the URL of the location contains control characters.")
    return ServerUrl(
        scheme=parts.scheme,
        host=parts.hostname,
        port=port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        path=path,
    )
