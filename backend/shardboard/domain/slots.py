"""Hash slots: the 16,384 parts of the key space and how they are shared out."""

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
