"""Keys of all types with sizes as in practice, written directly to shards."""

import random
import socket
import string
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import hiredis

from shardboard.domain.placement import slots

SEED = 58
MB = 10**6
CHUNK = 2 * MB
"""Bytes that are sent at once."""
POOL = 16 * MB
"""Bytes of text that values are taken from; more than a compressor looks back."""
LIFETIME_MS = 86_400_000
EXPIRING = 5
"""One of this many keys has an expiry time."""
ENTRIES = 100
"""Of each stream."""
Address = tuple[str, int]
Command = tuple[str | bytes | int | float, ...]
Owner = tuple[Address, slots.Ranges]
"""Address and slots of a primary."""


class MixedData:
    """Generates commands. The same seed gives the same keys."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)
        self._pool = _text(self._random, POOL)

    def commands(self, size: int) -> Iterator[tuple[str, Command]]:
        """Yield keys and commands with about `size` bytes of arguments."""
        for name, share, make in self._kinds():
            written = 0
            for number in count():
                if written >= share * size:
                    break
                key = f"{name}:{number // ENTRIES if name == 'events' else number}"
                command = make(key)
                written += sum(len(part) if isinstance(part, bytes | str) else 8 for part in command)
                yield key, command
                if number % EXPIRING == 0:
                    yield key, ("PEXPIRE", key, LIFETIME_MS + number)

    def _kinds(self) -> list[tuple[str, float, Callable[[str], Command]]]:
        """Return a name, the share of bytes, and the command of a key."""
        integer, part = self._random.randrange, self._part
        return [
            ("session", 0.25, lambda key: ("SET", key, part(200, 2_000))),
            ("page", 0.15, lambda key: ("SET", key, part(20_000, 200_000))),
            ("user", 0.15, lambda key: ("HSET", key, *self._fields(20))),
            ("index", 0.10, lambda key: ("HSET", key, *self._fields(1_000))),
            ("queue", 0.10, lambda key: ("RPUSH", key, *(part(50, 150) for _ in range(200)))),
            ("ranking", 0.10, lambda key: ("ZADD", key, *self._scores(integer(50, 2_000)))),
            ("tags", 0.05, lambda key: ("SADD", key, *(part(8, 24) for _ in range(500)))),
            ("ids", 0.02, lambda key: ("SADD", key, *(integer(10**9) for _ in range(300)))),
            ("events", 0.08, lambda key: ("XADD", key, "*", *self._fields(10))),
        ]

    def _part(self, shortest: int, longest: int) -> bytes:
        length = self._random.randrange(shortest, longest)
        start = self._random.randrange(POOL - length)
        return self._pool[start : start + length]

    def _fields(self, number: int) -> Iterator[str | bytes]:
        for field in range(number):
            yield f"field{field}"
            yield self._part(10, 60)

    def _scores(self, number: int) -> Iterator[str | bytes | float]:
        for member in range(number):
            yield self._random.random() * 1e6
            yield f"member:{member}:".encode() + self._part(4, 16)


def large_values(largest: int) -> Iterator[tuple[str, Command]]:
    """Yield keys and commands of values that are larger than others, up to `largest` bytes, which do not compress."""
    source = random.Random(SEED)
    value = source.randbytes(largest)
    parts = [value[start : start + largest // 64] for start in range(0, largest, largest // 64)]
    yield "large:string", ("SET", "large:string", value)
    yield "large:field", ("HSET", "large:field", "field", value)
    yield "large:element", ("RPUSH", "large:element", value)
    yield "large:list", ("RPUSH", "large:list", *parts)
    yield "large:hash", ("HSET", "large:hash", *(item for part in parts for item in (part[:20], part)))
    yield "large:set", ("SADD", "large:set", *parts)
    for part in parts:
        yield "large:stream", ("XADD", "large:stream", "*", "field", part)


def fill(owners: Sequence[Owner], commands: Iterator[tuple[str, Command]]) -> None:
    """Execute each command at the shard of its key's slot."""
    address_by_slot = {slot: address for address, ranges in owners for slot in slots.each(ranges)}
    shards = {address: _Pipeline(address) for address, _ in owners}
    for key, command in commands:
        shards[address_by_slot[slots.slot_of(key)]].add(command)
    for shard in shards.values():
        shard.close()


class _Pipeline:
    """Sends commands to one shard."""

    def __init__(self, address: Address) -> None:
        self._connection = socket.create_connection(address)
        self._reader = hiredis.Reader()
        self._packed: list[bytes] = []
        self._size = 0

    def add(self, command: Command) -> None:
        packed = hiredis.pack_command(command)  # type: ignore[arg-type]  # its stub knows one-element tuples only
        self._packed.append(packed)
        self._size += len(packed)
        if self._size >= CHUNK:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._connection.close()

    def _flush(self) -> None:
        """Send the collected commands and wait for all replies. Raises RuntimeError for an error."""
        self._connection.sendall(b"".join(self._packed))
        pending = len(self._packed)
        while pending:
            self._reader.feed(self._connection.recv(65536))
            while (reply := self._reader.gets()) is not False:
                if isinstance(reply, hiredis.ReplyError):
                    raise RuntimeError(f"a shard rejected a command: {reply}")
                pending -= 1
        self._packed, self._size = [], 0


def _text(source: random.Random, length: int) -> bytes:
    """Return text like JSON: words, which repeat, and numbers and identifiers, which do not."""
    words = ["".join(source.choices(string.ascii_lowercase, k=source.randrange(3, 12))) for _ in range(3_000)]
    parts: list[str] = []
    size = 0
    while size < length:
        name, word = source.choice(words), source.choice(words)
        parts.append(f'{{"{name}":"{word}","id":{source.randrange(10**9)},"hash":"{source.getrandbits(64):016x}"}},')
        size += len(parts[-1])
    return "".join(parts).encode()[:length]
