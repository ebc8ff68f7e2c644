"""Numbers in messages."""


def plural(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: "1 shard", "2 shards", "1 primary", "1,200 primaries"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
