"""Passwords: generated, hashed with Argon2, and verified without blocking the event loop.

A verification deliberately costs about 0.1 s of CPU and 64 MiB. Few run at a time, in threads, and a success is cached for a
minute, because scripts send their password with each call.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, TypeVar

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import Argon2Error, InvalidHashError
from argon2.low_level import hash_secret

from shardboard.errors import NotAcceptable
from shardboard.services.access.concurrency_limiter import ConcurrencyLimiter

MIN_LENGTH = 8
MAX_LENGTH = 256
_CACHE_SECONDS = 60.0
_CACHE_ENTRIES = 1024
_MAX_CONCURRENT = 2
_WAITING_LIMIT = 64
_WAITING_PER_NETWORK = 4
"""Limit for one client network, so that others can still log in."""

T = TypeVar("T")

_hasher = PasswordHasher()
_dummy_hash = ""


def generate() -> str:
    """Return a generated password of 144 bits."""
    return secrets.token_urlsafe(18)


def check_length(password: str, min_length: int = MIN_LENGTH) -> None:
    if not min_length <= len(password) <= MAX_LENGTH:
        raise NotAcceptable(
            "password_not_complex",
            f"The password must have {min_length} to {MAX_LENGTH} characters.",
            field="password",
        )


async def hash_password(password: str, salt_of: str | None = None) -> str:
    """Return the Argon2 string to store.

    It shares the salt of `beside`, a hash of the same user, so that one computation shows which of the user's passwords was
    sent. Several computations would take longer and reveal that the user exists.
    """
    return await asyncio.to_thread(_hasher.hash if salt_of is None else partial(_hash_with_salt_of, salt_of), password)


async def find_matching_hash(password: str, password_hashes: Sequence[str]) -> str | None:
    """Return which of a user's hashes matches the password; None if none does.

    An empty list (unknown user) takes as long as a wrong password, so that the response time does not reveal which users exist.
    """
    return await asyncio.to_thread(_find_matching_hash, password, password_hashes)


def _find_matching_hash(password: str, password_hashes: Sequence[str]) -> str | None:
    global _dummy_hash
    if not password_hashes and not _dummy_hash:
        _dummy_hash = _hasher.hash(secrets.token_hex())
    try:
        hashed = _hash_with_salt_of(next(iter(password_hashes), _dummy_hash), password)
    except (Argon2Error, InvalidHashError):
        return None
    return next((each for each in password_hashes if hmac.compare_digest(each.encode(), hashed.encode())), None)


def _hash_with_salt_of(password_hash: str, password: str) -> str:
    """Return the hash of a password with the parameters and the salt of another hash.

    Raises Argon2Error and InvalidHashError.
    """
    parameters = extract_parameters(password_hash)
    salt = password_hash.split("$")[-2]
    try:
        return hash_secret(
            password.encode(),
            base64.b64decode(salt + "=" * (-len(salt) % 4), validate=True),
            time_cost=parameters.time_cost,
            memory_cost=parameters.memory_cost,
            parallelism=parameters.parallelism,
            hash_len=parameters.hash_len,
            type=parameters.type,
            version=parameters.version,
        ).decode()
    except binascii.Error as error:
        raise InvalidHashError from error


class Verifier:
    """Concurrency limit for verifications, and a cache of successful ones under a key that only this process has."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._remembered: dict[bytes, float] = {}
        self._turns = ConcurrencyLimiter(_MAX_CONCURRENT, _MAX_CONCURRENT, _WAITING_LIMIT, _WAITING_PER_NETWORK)
        self._flights: dict[bytes, asyncio.Task[Any]] = {}

    def slot(self, network: str) -> AbstractAsyncContextManager[None]:
        """Wait for a slot to verify a password. Raises Unavailable if too many logins wait, in total or from that network."""
        return self._turns.slot(network)

    async def share_concurrent(self, attempt: Sequence[str], verify: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of `verify` for a name, a password and a network. Concurrent equal attempts share one call."""
        entry = self._entry(*attempt)
        running_check: asyncio.Task[T] | None = self._flights.get(entry)
        if running_check is None:
            running_check = self._flights[entry] = asyncio.create_task(verify())
            running_check.add_done_callback(lambda _: self._flights.pop(entry))
        return await asyncio.shield(running_check)

    def cache_success(self, username: str, password: str, password_hash: str, seconds: float = _CACHE_SECONDS) -> None:
        if len(self._remembered) >= _CACHE_ENTRIES:
            self._remembered.clear()
        self._remembered[self._entry(username, password, password_hash)] = time.monotonic() + seconds

    def is_cached(self, username: str, password: str, password_hash: str) -> bool:
        """Return whether this password was verified against this hash recently."""
        entry = self._entry(username, password, password_hash)
        cached_until = self._remembered.get(entry)
        if cached_until is None:
            return False
        if cached_until < time.monotonic():
            del self._remembered[entry]
            return False
        return True

    def _entry(self, *parts: str) -> bytes:
        return hmac.digest(self._key, b"".join(hashlib.sha256(part.encode()).digest() for part in parts), "sha256")


def digest(secret: str) -> str:
    """Return the hash of a generated secret. It has too many bits to be guessed, so it needs no salt and can be looked up."""
    return hashlib.sha256(secret.encode()).hexdigest()
