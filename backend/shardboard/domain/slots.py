"""Hash slots: the 16,384 parts of the key space and how they are shared out."""

import binascii
import itertools

SLOTS = 16384


def split(count: int) -> list[tuple[int, int]]:
    """First and last slot of each of `count` primaries: contiguous, complete, sizes differing by at most one.

    Raises ValueError unless 1 <= count <= 16384.
    """
    if not 1 <= count <= SLOTS:
        raise ValueError(f"cannot split {SLOTS} slots into {count} ranges")
    edges = [(index * SLOTS * 2 + count) // (count * 2) for index in range(count + 1)]
    return [(edges[index], edges[index + 1] - 1) for index in range(count)]


def render(first: int, last: int) -> str:
    """The REST form of a slot range: `0-8191`, or `7` for a single slot."""
    return str(first) if first == last else f"{first}-{last}"


def slot_of(key: str) -> int:
    """CRC16 (XMODEM) of the key, or of its first non-empty hash tag, modulo 16,384 (Valkey Cluster specification)."""
    tag = key.partition("{")[2].partition("}")
    hashed = tag[0] if tag[0] and tag[1] else key
    return binascii.crc_hqx(hashed.encode(), 0) % SLOTS


def key_of(slot: int, prefix: str = "key") -> str:
    """Some key that hashes to `slot`."""
    return next(key for key in (f"{prefix}:{number}" for number in itertools.count()) if slot_of(key) == slot)
