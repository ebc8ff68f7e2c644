"""Garbage collector tuning for long-lived processes: objects that exist after start-up are permanent."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def settle() -> None:
    """Collect once and exclude the remaining objects from later collections, which would spend most of their time on them."""
    gc.collect()
    gc.freeze()


@contextmanager
def starting() -> Iterator[None]:
    """Disable collection while modules are imported: there is almost no garbage, but searching for it takes a sixth of the time."""
    gc.disable()
    try:
        yield
        settle()
    finally:
        gc.enable()
