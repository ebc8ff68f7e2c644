"""Hash slots: the 16,384 parts of the key space, and their distribution."""

import binascii
import itertools
from collections.abc import Iterable, Iterator

SLOTS = 16384

Ranges = tuple[tuple[int, int], ...]
"""First and last slot of each range: ascending, disjoint, not adjacent."""


def split(count: int) -> list[tuple[int, int]]:
    """Return first and last slot for each of `count` primaries: contiguous, complete, with sizes that differ by at most one.

    Raises ValueError unless 1 <= count <= 16384.
    """
    if not 1 <= count <= SLOTS:
        raise ValueError(f"cannot split {SLOTS} slots into {count} ranges")
    edges = [(index * SLOTS * 2 + count) // (count * 2) for index in range(count + 1)]
    return [(edges[index], edges[index + 1] - 1) for index in range(count)]


def render(ranges: Ranges) -> str:
    """Return ranges in the format of the REST API: `0-8191`, `7` for a single slot, `0-99,200-299` for several, empty for none."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def slot_text(text: str) -> str:
    """Return a result of `render` formatted for messages: `0–99, 200–299`."""
    return text.replace("-", "–").replace(",", ", ")


def parse(text: str) -> Ranges:
    """Parse a result of `render`."""
    parts = (each.partition("-") for each in text.split(",") if each)
    return tuple((int(first), int(last or first)) for first, _, last in parts)


def gather(numbers: Iterable[int]) -> Ranges:
    """Return the ranges of these slots."""
    gathered: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if gathered and gathered[-1][1] == number - 1:
            gathered[-1] = (gathered[-1][0], number)
        else:
            gathered.append((number, number))
    return tuple(gathered)


def joined(*parts: Ranges) -> Ranges:
    """Return the slots of all parts, which may overlap and be in any order."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(itertools.chain.from_iterable(parts)):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def subtract(ranges: Ranges, taken: Ranges) -> Ranges:
    """Return the slots of `ranges` that are not in `taken`."""
    remaining = []
    excluded = iter((*taken, (SLOTS, SLOTS)))
    start, end = next(excluded)
    for first, last in ranges:
        next_slot = first
        while next_slot <= last:
            if end < next_slot:
                start, end = next(excluded)
            elif start <= next_slot:
                next_slot = end + 1
            else:
                remaining.append((next_slot, min(last, start - 1)))
                next_slot = remaining[-1][1] + 1
    return tuple(remaining)


def intersect(ranges: Ranges, others: Ranges) -> Ranges:
    """Return the slots that are in both."""
    return subtract(ranges, subtract(((0, SLOTS - 1),), others))


def head(ranges: Ranges, count: int) -> Ranges:
    """Return the first `count` slots, or all if there are fewer."""
    first_ranges = []
    for first, last in ranges:
        if count <= 0:
            break
        first_ranges.append((first, min(last, first + count - 1)))
        count -= last - first + 1
    return tuple(first_ranges)


def each(ranges: Ranges) -> Iterator[int]:
    """Iterate over all slots of the ranges in ascending order."""
    return itertools.chain.from_iterable(range(first, last + 1) for first, last in ranges)


def slot_of(key: str) -> int:
    """Return the CRC16 (XMODEM) of the key, or of its first nonempty hash tag, modulo 16,384 (Valkey Cluster specification)."""
    tag = key.partition("{")[2].partition("}")
    hashed = tag[0] if tag[0] and tag[1] else key
    return binascii.crc_hqx(hashed.encode(), 0) % SLOTS


def key_of(slot: int, prefix: str = "key") -> str:
    """Return a key that hashes to `slot`."""
    return next(key for key in (f"{prefix}:{number}" for number in itertools.count()) if slot_of(key) == slot)
