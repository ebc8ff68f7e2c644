"""Hash slots: the 16,384 parts of the key space and how they are shared out."""

import binascii
import itertools
from collections.abc import Iterable, Iterator

SLOTS = 16384

Ranges = tuple[tuple[int, int], ...]
"""First and last slot of each run of slots: ascending, disjoint, none touching the next."""


def split(count: int) -> list[tuple[int, int]]:
    """First and last slot of each of `count` primaries: contiguous, complete, sizes differing by at most one.

    Raises ValueError unless 1 <= count <= 16384.
    """
    if not 1 <= count <= SLOTS:
        raise ValueError(f"cannot split {SLOTS} slots into {count} ranges")
    edges = [(index * SLOTS * 2 + count) // (count * 2) for index in range(count + 1)]
    return [(edges[index], edges[index + 1] - 1) for index in range(count)]


def render(ranges: Ranges) -> str:
    """The REST form: `0-8191`, `7` for a single slot, `0-99,200-299` for several ranges, empty for none."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def spoken(text: str) -> str:
    """What `render` made, in a sentence: `0–99, 200–299`."""
    return text.replace("-", "–").replace(",", ", ")


def parse(text: str) -> Ranges:
    """What `render` made."""
    ends = (each.partition("-") for each in text.split(",") if each)
    return tuple((int(first), int(last or first)) for first, _, last in ends)


def gather(numbers: Iterable[int]) -> Ranges:
    """The ranges that hold just these slots."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


def joined(*parts: Ranges) -> Ranges:
    """The slots of all parts, which may overlap and come in any order."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(itertools.chain.from_iterable(parts)):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def without(ranges: Ranges, taken: Ranges) -> Ranges:
    """The slots of `ranges` that are not among the taken ones."""
    found = []
    gone = iter((*taken, (SLOTS, SLOTS)))
    begin, end = next(gone)
    for first, last in ranges:
        rest = first
        while rest <= last:
            if end < rest:
                begin, end = next(gone)
            elif begin <= rest:
                rest = end + 1
            else:
                found.append((rest, min(last, begin - 1)))
                rest = found[-1][1] + 1
    return tuple(found)


def head(ranges: Ranges, count: int) -> Ranges:
    """The first `count` slots, or all when there are fewer."""
    found = []
    for first, last in ranges:
        if count <= 0:
            break
        found.append((first, min(last, first + count - 1)))
        count -= last - first + 1
    return tuple(found)


def each(ranges: Ranges) -> Iterator[int]:
    """Every slot of the ranges, ascending."""
    return itertools.chain.from_iterable(range(first, last + 1) for first, last in ranges)


def slot_of(key: str) -> int:
    """CRC16 (XMODEM) of the key, or of its first non-empty hash tag, modulo 16,384 (Valkey Cluster specification)."""
    tag = key.partition("{")[2].partition("}")
    hashed = tag[0] if tag[0] and tag[1] else key
    return binascii.crc_hqx(hashed.encode(), 0) % SLOTS


def key_of(slot: int, prefix: str = "key") -> str:
    """Some key that hashes to `slot`."""
    return next(key for key in (f"{prefix}:{number}" for number in itertools.count()) if slot_of(key) == slot)
