"""The collector rests while a process starts, works afterwards, and leaves alone what was there by then."""

import gc

import pytest

from shardboard import garbage


def test_it_rests_while_a_process_starts() -> None:
    with garbage.starting():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_works_on_after_a_start_that_failed() -> None:
    with pytest.raises(ImportError), garbage.starting():
        raise ImportError("no such module")
    assert gc.isenabled()


def test_what_is_there_by_then_is_looked_through_no_more() -> None:
    kept = [[] for _ in range(1000)]
    garbage.settle()
    assert gc.get_freeze_count() > 1000
    assert not any(found is kept for found in gc.get_objects())
    del kept
