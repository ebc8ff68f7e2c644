"""Parameters of PostgreSQL URLs. Providers publish URLs for libpq, and asyncpg accepts some of its parameters only in a DSN."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.engine import URL

DSN_PARAMETERS = frozenset(
    {
        *("sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl", "sslnegotiation"),
        *("ssl_min_protocol_version", "ssl_max_protocol_version", "passfile", "application_name", "options"),
    }
)
DRIVER_PARAMETERS = frozenset(
    {
        *("host", "port", "ssl", "timeout", "command_timeout", "target_session_attrs", "krbsrvname", "gsslib"),
        *("prepared_statement_cache_size", "statement_cache_size", "max_cached_statement_lifetime"),
    }
)
"""Parameters that SQLAlchemy and asyncpg accept as they are."""
TIMEOUT_SECONDS = 10


def split(url: URL) -> tuple[URL, Mapping[str, Any]]:
    """Return the URL for SQLAlchemy and the arguments for asyncpg. Raises ValueError with a message for an unknown parameter."""
    arguments: dict[str, Any] = {"timeout": TIMEOUT_SECONDS}
    query = dict(url.query)
    dsn = {name: query.pop(name) for name in DSN_PARAMETERS & query.keys()}
    if dsn:
        arguments["dsn"] = f"postgresql://?{urlencode(dsn, doseq=True)}"
    if (timeout := query.pop("connect_timeout", None)) is not None:
        if not (isinstance(timeout, str) and timeout.isascii() and timeout.isdigit()):
            raise ValueError("SHARDBOARD_DATABASE_URL: connect_timeout must be a number of seconds.")
        arguments["timeout"] = int(timeout) or None
    if query.pop("channel_binding", "prefer") not in ("prefer", "disable"):
        raise ValueError(
            "SHARDBOARD_DATABASE_URL: channel_binding=require is not supported. Remove it, and use sslmode=verify-full."
        )
    if unsupported := sorted(query.keys() - DRIVER_PARAMETERS):
        raise ValueError(f"SHARDBOARD_DATABASE_URL: the parameter {unsupported[0]} is not supported.")
    return url.set(query=query), arguments
