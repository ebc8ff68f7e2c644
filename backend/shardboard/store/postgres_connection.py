"""Connections to PostgreSQL: choose one of several servers, and detect within seconds that it has vanished."""

import asyncio
import socket
from typing import Any
from weakref import WeakSet

import asyncpg
from asyncpg import connect_utils
from asyncpg.exceptions import TargetServerAttributeNotMatched

from shardboard.store.postgres_url import PostgresUrl, SocketLimits
from shardboard.store.server_check import WrongServer
from shardboard.store.transient_errors import describe_error

SESSION_SETTINGS = (
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3; "
    "SET tcp_user_timeout = 10000; SET idle_in_transaction_session_timeout = {idle_milliseconds}"
)
"""The server ends sessions of a console that has vanished, or that was suspended during a transaction, with their locks."""
IDLE_MILLISECONDS = 30_000
"""Time after which the server ends a transaction that its console does not continue."""
_OTHER_SERVER_MAY_HELP = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TargetServerAttributeNotMatched)


class _UpgradeProtocol(connect_utils.TLSUpgradeProto):  # type: ignore[misc]
    """The start of a connection with TLS.

    An aborted connection cancels the task that opens another one to cancel its statement. If this task does not wait for `on_data`
    yet, asyncio would report the error of this future, which is never awaited.
    """

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self.on_data.cancelled():
            self.on_data.exception()


connect_utils.TLSUpgradeProto = _UpgradeProtocol


class PostgresConnector:
    """Opens connections. The server of the last connection is tried first."""

    def __init__(self, url: PostgresUrl, application_name: str) -> None:
        self.url = url
        self._servers = list(url.servers)
        self._connections: WeakSet[asyncpg.Connection] = WeakSet()
        given = url.arguments["server_settings"].get("application_name")
        self.application_name = f"{given[:30]} {application_name}" if given else application_name

    async def connect(self, **changes: Any) -> asyncpg.Connection:
        """Return a new connection. `changes` replace arguments of `asyncpg.connect`. Raises OSError, the errors of asyncpg, or
        WrongServer if no server accepts writes.
        """
        errors: list[Exception] = []
        for server in tuple(self._servers):
            try:
                connection = await self._connect(server, changes)
            except _OTHER_SERVER_MAY_HELP as error:
                errors.append(error)
                continue
            if self._servers[0] != server:
                self._servers.sort(key=lambda each: each != server)
            self._connections.add(connection)
            return connection
        raise _most_informative(errors)

    def abort_all(self, keep: asyncpg.Connection | None = None) -> None:
        """Close all connections without waiting for the server. Statements that are running fail with a transient error."""
        for connection in tuple(self._connections):
            if connection is not keep and not connection.is_closed():
                connection.terminate()

    async def _connect(self, server: tuple[str | None, int | None], changes: dict[str, Any]) -> asyncpg.Connection:
        settings = {**self.url.arguments["server_settings"], "application_name": self.application_name}
        arguments = {**self.url.arguments, "server_settings": settings, **changes}
        address = {name: value for name, value in zip(("host", "port"), server, strict=True) if value is not None}
        connection: asyncpg.Connection | None = None
        try:
            async with asyncio.timeout(self.url.connect_seconds):
                connection = await asyncpg.connect(**arguments, **address, timeout=None)
                limit_silence(connection, self.url.socket)
                await connection.execute(SESSION_SETTINGS.format(idle_milliseconds=IDLE_MILLISECONDS))
                return connection
        except BaseException as error:
            if connection is not None:
                connection.terminate()
            if isinstance(error, TimeoutError):
                host, port = server
                raise TimeoutError(f"{host or 'the server'}:{port or 5432} did not respond") from None
            raise


def limit_silence(connection: asyncpg.Connection, limits: SocketLimits) -> None:
    """Make TCP report the loss of the server within seconds instead of minutes."""
    tcp: socket.socket = connection._transport.get_extra_info("socket")
    if tcp.family not in (socket.AF_INET, socket.AF_INET6):
        return
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, limits.keepalives)
    options = {
        socket.TCP_KEEPIDLE: limits.idle,
        socket.TCP_KEEPINTVL: limits.interval,
        socket.TCP_KEEPCNT: limits.count,
        socket.TCP_USER_TIMEOUT: limits.user_timeout,
    }
    for option, value in options.items():
        if value:  # 0: the default of the system, as in libpq
            tcp.setsockopt(socket.IPPROTO_TCP, option, value)


def _most_informative(errors: list[Exception]) -> Exception:
    """Return the error to report: what a server answered is worth more than that another one could not be reached."""
    answers: list[Exception] = [error for error in errors if isinstance(error, asyncpg.PostgresError)]
    if not answers and any(isinstance(error, TargetServerAttributeNotMatched) for error in errors):
        return WrongServer("no server of SHARDBOARD_DATABASE_URL that can be reached accepts writes")
    if answers or len(errors) == 1:
        return (answers or errors)[0]
    return ConnectionError(f"no server can be reached ({'; '.join(map(describe_error, errors))})")
