"""Passwords: made, hashed with argon2, and verified without stalling the event loop.

A verification costs about 0.1 s of CPU and 64 MiB on purpose. So few run at once, in threads, and a success is
remembered for a minute: scripts send their password with every call.
"""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from shardboard.errors import NotAcceptable, Unavailable

MIN_LENGTH = 8
MAX_LENGTH = 256
_REMEMBERED_SECONDS = 60.0
_REMEMBERED_ENTRIES = 1024
_AT_ONCE = 2
_WAITING_LIMIT = 64
_WAITING_OF_ONE = 4
"""From one network, so that it leaves places to others."""

T = TypeVar("T")

_hasher = PasswordHasher()
_dummy_hash = ""


def generate() -> str:
    """A password nobody has to remember: 144 bits."""
    return secrets.token_urlsafe(18)


def check_length(password: str, min_length: int = MIN_LENGTH) -> None:
    if not min_length <= len(password) <= MAX_LENGTH:
        raise NotAcceptable(
            "password_not_complex",
            f"A password needs {min_length} to {MAX_LENGTH} characters.",
            field="password",
        )


async def hashed(password: str) -> str:
    """The argon2 string to store."""
    return await asyncio.to_thread(_hasher.hash, password)


async def matches(password: str, password_hash: str | None) -> bool:
    """None (no such user) takes as long as a wrong password, so that the time does not tell which names exist."""
    return await asyncio.to_thread(_matches, password, password_hash)


def _matches(password: str, password_hash: str | None) -> bool:
    global _dummy_hash
    if password_hash is None and not _dummy_hash:
        _dummy_hash = _hasher.hash(secrets.token_hex())
    try:
        return _hasher.verify(password_hash or _dummy_hash, password) and password_hash is not None
    except (Argon2Error, InvalidHashError):
        return False


class Verifier:
    """Limits how many verifications run at once, and remembers successes under a key that only this process knows."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._remembered: dict[bytes, float] = {}
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._waiting: Counter[str] = Counter()
        self._flights: dict[bytes, asyncio.Task[Any]] = {}

    @asynccontextmanager
    async def turn(self, network: str) -> AsyncIterator[None]:
        """One of the few places in which a password may be verified; refuses when the queue is long, or that of the network."""
        if self._waiting[network] >= _WAITING_OF_ONE or self._waiting.total() >= _WAITING_LIMIT:
            raise Unavailable("busy", "Too many logins at this moment; try again in a few seconds.")
        self._waiting[network] += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting[network] -= 1
            if not self._waiting[network]:
                del self._waiting[network]
        try:
            yield
        finally:
            self._free.release()

    async def once(self, attempt: Sequence[str], verify: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `verify` says of a name, a password and a network; who sends the same meanwhile shares it."""
        entry = self._entry(*attempt)
        flight: asyncio.Task[T] | None = self._flights.get(entry)
        if flight is None:
            flight = self._flights[entry] = asyncio.create_task(verify())
            flight.add_done_callback(lambda _: self._flights.pop(entry))
        return await asyncio.shield(flight)

    def remember(self, username: str, password: str, password_hash: str) -> None:
        if len(self._remembered) >= _REMEMBERED_ENTRIES:
            self._remembered.clear()
        self._remembered[self._entry(username, password, password_hash)] = time.monotonic() + _REMEMBERED_SECONDS

    def remembers(self, username: str, password: str, password_hash: str) -> bool:
        """Whether this very password matched this very hash within the last minute."""
        entry = self._entry(username, password, password_hash)
        until = self._remembered.get(entry)
        if until is None:
            return False
        if until < time.monotonic():
            del self._remembered[entry]
            return False
        return True

    def _entry(self, *parts: str) -> bytes:
        return hmac.digest(self._key, b"".join(hashlib.sha256(part.encode()).digest() for part in parts), "sha256")
