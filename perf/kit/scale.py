"""Size of the benchmarks: as large as their limits require, or (`--smoke`) just enough to show that they work."""

import os
from typing import TypeVar

T = TypeVar("T")

VARIABLE = "SHARDBOARD_BENCH_SMOKE"
SMOKE = os.environ.get(VARIABLE) == "1"


def scaled(full: T, short: T) -> T:
    """Return `short` in a short run, otherwise `full`."""
    return short if SMOKE else full


def counted(name: str, full: int, short: int) -> int:
    """Return the number from the environment if set, otherwise like `scaled`."""
    return int(os.environ.get(f"SHARDBOARD_BENCH_{name}") or scaled(full, short))
