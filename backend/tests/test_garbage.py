"""Tests of garbage collection: paused while a process starts, active afterwards without the objects that exist by then."""

import gc

import pytest

from shardboard import garbage


def test_collection_is_paused_while_a_process_starts() -> None:
    with garbage.starting():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collection_resumes_after_a_failed_start() -> None:
    with pytest.raises(ImportError), garbage.starting():
        raise ImportError("no such module")
    assert gc.isenabled()


def test_existing_objects_are_no_longer_scanned() -> None:
    kept = [[] for _ in range(1000)]
    garbage.settle()
    assert gc.get_freeze_count() > 1000
    assert not any(found is kept for found in gc.get_objects())
    del kept
