"""Database URLs as users write them, in the form that SQLAlchemy parses."""

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

DEFAULT_PORT = "5432"
_SEVERAL_HOSTS = re.compile(r"(?P<head>[\w+]+://(?:[^@]*@)?)(?P<hosts>[^/?@]*,[^/?@]*)(?P<tail>.*)", re.DOTALL)
_HOST = re.compile(r"(?P<host>\[[^\]]+\]|[^:]+)(?::(?P<port>\d+))?")


def parse(text: str) -> "URL":
    """Return a URL with an asynchronous driver. The several hosts of a libpq URL become the parameters `host` and `port`, and its
    parameters `user`, `password`, and `dbname` become parts of the URL. Raises ValueError with a message without the password.
    """
    from sqlalchemy.engine import make_url  # slow to import, and most commands do not need it
    from sqlalchemy.exc import ArgumentError

    several = _SEVERAL_HOSTS.fullmatch(text)
    try:
        url = make_url(f"{several['head']}{several['tail']}" if several else text)
    except (ArgumentError, ValueError):
        raise ValueError(
            "SHARDBOARD_DATABASE_URL is invalid. Use postgresql://USER@HOST:PORT/DATABASE, and encode special characters."
        ) from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+asyncpg")
    if several:
        if {"host", "port"} & url.query.keys():
            raise ValueError(
                "SHARDBOARD_DATABASE_URL: hosts must be either before the database or in the parameter host."
            )
        hosts, ports = _split_hosts(several["hosts"])
        url = url.update_query_dict({"host": ",".join(hosts), "port": ",".join(ports)})
    if url.get_backend_name() != "postgresql":
        return url
    parts = {name: value for name in ("user", "password", "dbname") if isinstance(value := url.query.get(name), str)}
    url = url.set(
        username=parts.get("user", url.username),
        password=parts.get("password", url.password),
        database=parts.get("dbname", url.database),
    )
    return url.difference_update_query(list(parts))


def _split_hosts(text: str) -> tuple[list[str], list[str]]:
    matches = [_HOST.fullmatch(host) for host in text.split(",")]
    hosts = [unquote(match["host"]).strip("[]") for match in matches if match]
    if len(hosts) < len(matches):
        raise ValueError("SHARDBOARD_DATABASE_URL: each host must be HOST or HOST:PORT, separated by commas.")
    return hosts, [match["port"] or DEFAULT_PORT for match in matches if match]


def secrets_of(text: str) -> set[str]:
    """Return the passwords in a URL. A URL that cannot be parsed is itself a secret."""
    try:
        url = parse(text)
    except ValueError:
        return {text}
    return {url.password or "", *url.normalized_query.get("sslpassword", ())} - {""}
