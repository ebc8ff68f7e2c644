"""Memory management of long-lived processes: objects that exist after start-up are permanent, and free memory is returned."""

import asyncio
import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

TRIM_SECONDS = 60.0


def freeze_objects() -> None:
    """Collect once and exclude the remaining objects from later collections, which would spend most of their time on them."""
    gc.collect()
    gc.freeze()


@contextmanager
def importing() -> Iterator[None]:
    """Disable collection while modules are imported: there is almost no garbage, but searching for it takes a sixth of the time."""
    gc.disable()
    try:
        yield
        freeze_objects()
    finally:
        gc.enable()


async def return_free_memory() -> None:
    """Return free memory to the operating system once a minute, until cancelled.

    The C library keeps what it has allocated once. A console that has created 512 shards would keep 50 MB.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    while True:
        await asyncio.sleep(TRIM_SECONDS)
        if trim is not None:
            trim(0)
