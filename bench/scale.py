"""How much each benchmark does: as much as its limits are about, or (`--smoke`) as little as shows that it works."""

import os
from typing import TypeVar

T = TypeVar("T")

VARIABLE = "SHARDBOARD_BENCH_SMOKE"
SMOKE = os.environ.get(VARIABLE) == "1"


def scaled(full: T, short: T) -> T:
    """`short` in a short run."""
    return short if SMOKE else full


def counted(name: str, full: int, short: int) -> int:
    """The same, unless the environment says how many."""
    return int(os.environ.get(f"SHARDBOARD_BENCH_{name}") or scaled(full, short))
