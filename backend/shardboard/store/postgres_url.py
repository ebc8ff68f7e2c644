"""Parameters of PostgreSQL URLs. Providers publish URLs for libpq; this module translates them for asyncpg."""

import difflib
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.engine import URL

NAME = "SHARDBOARD_DATABASE_URL"
CONNECT_SECONDS = 10.0
CONNECT_SECONDS_PER_HOST = 3.0
"""Default if several hosts are configured: while one is tried, the others are not."""
COMMAND_SECONDS = 60.0
"""Time for one statement. It ends waiting for a server that accepts data and does not respond."""


@dataclass(frozen=True)
class SocketLimits:
    """Limits after which TCP reports a vanished server, as in libpq."""

    keepalives: bool = True
    idle: int = 2
    interval: int = 1
    count: int = 3
    user_timeout: int = 5000
    """Milliseconds."""


@dataclass(frozen=True)
class PostgresUrl:
    """A parsed URL."""

    servers: Sequence[tuple[str | None, int | None]]
    """Hosts and ports; None: the default of asyncpg."""
    arguments: Mapping[str, Any] = field(repr=False)
    """Arguments of `asyncpg.connect`."""
    statement_cache: Mapping[str, int]
    """Arguments of SQLAlchemy's driver."""
    connect_seconds: float | None
    socket: SocketLimits

    @property
    def description(self) -> str:
        """The URL without password and parameters."""
        hosts = ",".join(f"{host or ''}:{port}" if port else host or "" for host, port in self.servers)
        return f"postgresql://{self.arguments.get('user') or ''}@{hosts}/{self.arguments.get('database') or ''}"


def parse(url: URL) -> PostgresUrl:
    """Return the meaning of a URL. Raises ValueError with a message that contains no secret."""
    if url.drivername != "postgresql+asyncpg":
        raise ValueError(f"{NAME}: {url.drivername} is not supported. Use postgresql://USER@HOST/DATABASE.")
    parameters = {name: _value(name, values) for name, values in url.normalized_query.items()}
    servers = _servers(url, parameters.pop("host", ""), parameters.pop("port", ""))
    values = {name: _parser(name)(name, value) for name, value in parameters.items()}
    if len(servers) > 1:
        values.setdefault("target_session_attrs", "read-write")
    default_seconds = CONNECT_SECONDS_PER_HOST if len(servers) > 1 else CONNECT_SECONDS
    return PostgresUrl(
        servers,
        _arguments(url, values),
        {name: values[name] for name in _STATEMENT_CACHE & values.keys()},
        values.get("connect_timeout", values.get("timeout", default_seconds)) or None,
        SocketLimits(**{_SOCKET[name]: values[name] for name in _SOCKET.keys() & values.keys()}),
    )


def _value(name: str, values: Sequence[str]) -> str:
    if len(values) > 1 and name != "host":
        raise ValueError(f"{NAME}: the parameter {name} is specified several times.")
    return ",".join(values)


def _servers(url: URL, hosts: str, ports: str) -> list[tuple[str | None, int | None]]:
    """Return hosts and ports. `hosts` and `ports` are the parameters of libpq, or `host` contains HOST:PORT, as for SQLAlchemy."""
    if not hosts:
        return [(url.host, url.port or (_number("port", ports) if ports else None))]
    names = hosts.split(",")
    if not ports and any(not name.startswith("/") and name.count(":") == 1 for name in names):
        names, numbers = zip(*(name.partition(":")[::2] for name in names), strict=True)
    else:
        numbers = tuple(ports.split(","))
    if len(numbers) not in (1, len(names)):
        raise ValueError(f"{NAME}: host has {len(names)} values, and port has {len(numbers)}.")
    each_number = numbers if len(numbers) == len(names) else repeat(numbers[0], len(names))
    return [
        (name, _number("port", number) if number else url.port) for name, number in zip(names, each_number, strict=True)
    ]


def _arguments(url: URL, values: Mapping[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {"user": url.username, "password": url.password, "database": url.database}
    arguments["command_timeout"] = values.get("command_timeout", COMMAND_SECONDS) or None
    arguments |= {name: values[name] for name in _PASSED & values.keys()}
    name = values.get("application_name", values.get("fallback_application_name"))
    arguments["server_settings"] = {"application_name": name} if name else {}
    if "options" in values:
        arguments["server_settings"]["options"] = values["options"]
    in_dsn = {name: values[name] for name in _IN_DSN & values.keys()}
    if "ssl" in values:
        in_dsn.setdefault("sslmode", values["ssl"])
    if in_dsn.get("sslrootcert") == "system":
        arguments["ssl"] = _system_trust(in_dsn)
    elif in_dsn:
        arguments["dsn"] = f"postgresql://?{urlencode(in_dsn)}"
    return {name: value for name, value in arguments.items() if value is not None}


def _system_trust(values: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context for `sslrootcert=system`, which asyncpg does not implement."""
    if values.get("sslmode", "verify-full") != "verify-full":
        raise ValueError(f"{NAME}: sslrootcert=system requires sslmode=verify-full.")
    context = ssl.create_default_context()
    if "sslcert" in values:
        try:
            context.load_cert_chain(values["sslcert"], values.get("sslkey"), lambda: values.get("sslpassword", ""))
        except OSError as error:
            raise ValueError(f"{NAME}: sslcert and sslkey cannot be used: {error.strerror or error}.") from error
    return context


def _text(_name: str, text: str) -> str:
    return text


def _file(name: str, text: str) -> str:
    """Return the path of a readable file; empty: none, as in libpq."""
    try:
        if text and (name, text) != ("sslrootcert", "system"):
            Path(text).open("rb").close()
    except OSError as error:
        raise ValueError(f"{NAME}: {name} is not readable: {error.strerror}: {text}.") from error
    return text


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{NAME}: {name} must be a number.")
    return int(text)


def _seconds(name: str, text: str) -> int:
    """Return a time limit; 0 means none, as in libpq."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{NAME}: {name} must be a number of seconds.")
    return int(text)


def _one_of(*choices: str, hint: str = "") -> Callable[[str, str], str]:
    def parse_choice(name: str, text: str) -> str:
        if text not in choices:
            raise ValueError(f"{NAME}: {name} must be {_or(choices)}{hint}.")
        return text

    return parse_choice


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


_SSLMODE = _one_of("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_PARSERS: Mapping[str, Callable[[str, str], Any]] = {
    "application_name": _text,
    "channel_binding": _one_of("prefer", "disable", hint="; for more security, use sslmode=verify-full"),
    "client_encoding": _one_of("auto", "utf8", "UTF8"),
    "command_timeout": _seconds,
    "connect_timeout": _seconds,
    "fallback_application_name": _text,
    "gssencmode": _one_of("disable", "prefer"),
    "gsslib": _one_of("gssapi"),
    "keepalives": _number,
    "keepalives_count": _number,
    "keepalives_idle": _number,
    "keepalives_interval": _number,
    "krbsrvname": _text,
    "load_balance_hosts": _one_of("disable"),
    "max_cached_statement_lifetime": _number,
    "options": _text,
    "passfile": _text,
    "prepared_statement_cache_size": _number,
    "ssl": _SSLMODE,
    "ssl_max_protocol_version": _one_of("TLSv1.2", "TLSv1.3"),
    "ssl_min_protocol_version": _one_of("TLSv1.2", "TLSv1.3"),
    "sslcert": _file,
    "sslcrl": _file,
    "sslkey": _file,
    "sslmode": _SSLMODE,
    "sslnegotiation": _one_of("postgres", "direct"),
    "sslpassword": _text,
    "sslrootcert": _file,
    "statement_cache_size": _number,
    "target_session_attrs": _one_of(
        "read-write", "primary", "any", hint="; the console needs a server that accepts writes"
    ),
    "tcp_user_timeout": _number,
    "timeout": _seconds,
}
_IN_DSN = frozenset(
    {
        *("sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl", "sslnegotiation"),
        *("ssl_min_protocol_version", "ssl_max_protocol_version"),
    }
)
"""Parameters that asyncpg only accepts in a URL."""
_PASSED = frozenset(
    {
        *("gsslib", "krbsrvname", "passfile", "target_session_attrs"),
        *("max_cached_statement_lifetime", "statement_cache_size"),
    }
)
_STATEMENT_CACHE = frozenset({"prepared_statement_cache_size"})
_SOCKET = {
    "keepalives": "keepalives",
    "keepalives_idle": "idle",
    "keepalives_interval": "interval",
    "keepalives_count": "count",
    "tcp_user_timeout": "user_timeout",
}


def _parser(name: str) -> Callable[[str, str], Any]:
    if name in _PARSERS:
        return _PARSERS[name]
    similar = difflib.get_close_matches(name, _PARSERS, n=1)
    hint = f"Did you mean {similar[0]}?" if similar else "Remove it."
    raise ValueError(f"{NAME}: the parameter {name} is not supported. {hint}")
