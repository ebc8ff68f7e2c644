"""Tests of garbage collection: paused while a process starts, active afterwards without the objects that exist by then."""

import gc
import subprocess
import sys

import pytest

from shardboard.kit import gc_tuning


def test_collection_is_paused_while_a_process_starts() -> None:
    with gc_tuning.importing():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collection_resumes_after_a_failed_start() -> None:
    with pytest.raises(ImportError), gc_tuning.importing():
        raise ImportError("no such module")
    assert gc.isenabled()


def test_existing_objects_are_no_longer_scanned() -> None:
    objects = [[] for _ in range(1000)]
    gc_tuning.freeze_objects()
    assert gc.get_freeze_count() > 1000
    assert not any(scanned is objects for scanned in gc.get_objects())
    del objects


RETURN_MEMORY = """
import asyncio, psutil
from shardboard.kit import gc_tuning

process = psutil.Process()
blocks = [bytes(2000) for _ in range(50_000)]
kept = blocks[::1000]  # the heap cannot shrink below them
before = process.memory_info().rss
del blocks
gc_tuning.TRIM_SECONDS = 0.01

async def wait_until_returned():
    task = asyncio.create_task(gc_tuning.return_free_memory())
    while before - process.memory_info().rss < 50_000_000:
        await asyncio.sleep(0.01)

asyncio.run(asyncio.wait_for(wait_until_returned(), 30))
"""


def test_free_memory_is_returned_to_the_operating_system() -> None:
    subprocess.run([sys.executable, "-c", RETURN_MEMORY], check=True)
