"""Limits on connections before authentication: number per source address, and time for a request to arrive."""

import asyncio
import contextlib
import errno
import logging
import resource
import socket
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from shardboard.net.client_address import source_of

LOOPBACK = "localhost"
"""Host of ports that are unreachable from other machines."""
MAX_PER_SOURCE = 1000
"""Maximum number of connections per source address; at most a quarter of the process's file limit."""
HEAD_SECONDS = 10.0
"""From the connection, or the first byte of a request, to the end of the request header."""
BODY_SECONDS = 60.0
STREAM_SECONDS = 900.0
"""Between parts of a body of any length. Longer than the receiver can take to process a part."""
_STREAMED = "shardboard-streamed-body"
REFUSALS_AT_ONCE = 100
REPEAT_SECONDS = 10.0
"""Time in which a repeated log line is not written again."""


def raise_file_limit() -> None:
    """Raise the limit of open files to the hard limit: each connection needs one, and the default is usually 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # above the kernel's limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def listen(host: str, port: int, backlog: int) -> "list[ListeningSocket]":
    """Return a listening socket for each address of the host; they share their connection counts. Raises OSError.

    An empty host means all addresses of the machine. `LOOPBACK` means 127.0.0.1, or ::1 on a machine without IPv4.
    """
    counts: Counter[str] = Counter()
    sockets: list[ListeningSocket] = []
    # Without IPv6, a name can still resolve to an IPv6 address.
    skipped = {errno.EAFNOSUPPORT, *((errno.EADDRNOTAVAIL,) if host in ("", LOOPBACK) else ())}
    try:
        for family, kind, protocol, _, address in _candidates(host, port):
            try:
                sockets.append(_open_listener((family, kind, protocol), address, backlog, counts))
            except OSError as error:
                if error.errno not in skipped:
                    raise
                continue
            if host == LOOPBACK:
                break
    except OSError:
        for listener in sockets:
            listener.close()
        raise
    if not sockets:
        raise OSError(errno.EAFNOSUPPORT, f"this machine has no address of {host or 'its own'}")
    return sockets


def _open_listener(of: tuple[int, int, int], address: Any, backlog: int, counts: Counter[str]) -> "ListeningSocket":
    listener = ListeningSocket(*of, counts=counts)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if listener.family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(backlog)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _candidates(host: str, port: int) -> Iterable[Any]:
    """Return the addresses of a host, without duplicates, as `getaddrinfo` does. IPv4 addresses come first."""
    passive = 0 if host == LOOPBACK else socket.AI_PASSIVE
    name = None if host == LOOPBACK else host or None
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=passive)
    # A name can resolve to the same address twice.
    return sorted(dict.fromkeys(found), key=lambda each: each[0] == socket.AF_INET6)


class ListeningSocket(socket.socket):
    """Listening socket that limits the number of connections per source address."""

    def __init__(self, *of: int, counts: Counter[str]) -> None:
        super().__init__(*of)
        self._counts = counts
        self._most = min(MAX_PER_SOURCE, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)

    def accept(self) -> tuple[socket.socket, Any]:
        for _ in range(REFUSALS_AT_ONCE):
            connection, address = super().accept()
            source = source_of(str(address[0]))
            if self._counts[source] < self._most:
                return _Counted(connection.detach(), source, self._counts), address
            connection.close()
        raise BlockingIOError(errno.EAGAIN, "too many rejected connections; yielding to other tasks")


class _Counted(socket.socket):
    """An accepted connection, counted until it is closed."""

    def __init__(self, descriptor: int, source: str, counts: Counter[str]) -> None:
        super().__init__(fileno=descriptor)
        counts[source] += 1
        self._end = weakref.finalize(self, _decrement, counts, source)

    def close(self) -> None:
        super().close()
        self._end()


def _decrement(counts: Counter[str], source: str) -> None:
    counts[source] -= 1
    if not counts[source]:
        del counts[source]


def allow_streamed_body(scope: MutableMapping[str, Any]) -> None:
    """Allow a request of an authenticated client whose body takes any time, as long as parts arrive."""
    scope[_STREAMED] = True


def close_matching(condition: Callable[[Mapping[str, Any]], bool]) -> None:
    """Close the connections whose client certificate meets the condition; it gets the result of `ssl.SSLSocket.getpeercert`."""
    for each in list(_open):
        session = each.transport.get_extra_info("ssl_object")
        if session is not None and condition(session.getpeercert() or {}):
            each.transport.abort()


class TimeoutProtocol(H11Protocol):
    """uvicorn's HTTP protocol with a timeout: a request that does not arrive in time ends its connection."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._awaited: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _open.add(self)
        self._await(h11.IDLE, HEAD_SECONDS)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_request()

    def on_response_complete(self) -> None:
        self._await(None)
        super().on_response_complete()
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        _open.discard(self)
        self._await(None)
        super().connection_lost(exc)

    def _await_request(self) -> None:
        """Await the rest of an incoming request, if there is one."""
        state = self.conn.their_state
        if state is h11.IDLE and self.conn.trailing_data[0]:
            self._await(state, HEAD_SECONDS)
        elif state is h11.SEND_BODY and _STREAMED in (self.scope or ()) and not self.cycle.response_complete:
            self._await(None)
            self._await(state, STREAM_SECONDS)
        elif state is h11.SEND_BODY:
            self._await(state, BODY_SECONDS)
        else:
            self._await(None)
            if state is h11.IDLE and self.timeout_keep_alive_task is None and not self.transport.is_closing():
                # No byte of the next request has arrived. uvicorn does not set this timer if the reply was faster than the
                # request's body.
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )

    def _await(self, what: object, seconds: float = 0) -> None:
        """Set the deadline for a part of a request, unless that part is already awaited."""
        if what is self._awaited:
            return
        self._awaited = what
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.transport.abort) if what is not None else None


_open: set[TimeoutProtocol] = set()


class RateLimitFilter(logging.Filter):
    """Rate limit for warnings, which clients can cause: a repeated text is logged rarely, with the number of repetitions."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno > logging.WARNING or record.exc_info:
            return True
        now = time.monotonic()
        text = str(record.msg)
        logged_at, count = self._last.get(text, (-REPEAT_SECONDS, 0))
        if now - logged_at < REPEAT_SECONDS:
            self._last[text] = (logged_at, count + 1)
            return False
        self._last[text] = (now, 0)
        if count:
            record.msg = f"{text} (repeated {count} times since)"
        return True
