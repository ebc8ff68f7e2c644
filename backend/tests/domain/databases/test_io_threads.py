"""Tests of the number of I/O threads per shard and of the limits of its nodes."""

import pytest

from shardboard.domain.databases import io_threads
from shardboard.domain.databases.io_threads import Host


def host(cores: int, shards: int, engine: str = "9.1.2", uid: int = 1) -> Host:
    return Host(uid, cores, shards, engine)


@pytest.mark.parametrize(
    ("cores", "shards", "threads"),
    [
        (2, 1, 1),
        (3, 1, 1),
        (4, 1, 2),
        (4, 2, 1),
        (8, 1, 4),
        (8, 2, 2),
        (16, 1, 8),
        (64, 4, 8),
        (64, 20, 1),
        (128, 1, 8),
    ],
)
def test_default_number_of_threads_depends_on_cores_and_shards(cores: int, shards: int, threads: int) -> None:
    assert io_threads.default_threads([host(cores, shards)]) == threads


def test_smallest_node_determines_the_number_of_threads() -> None:
    assert io_threads.default_threads([host(64, 2), host(8, 1), host(4, 4)]) == 1
    assert io_threads.default_threads([host(64, 2), host(8, 1)]) == 4
    assert io_threads.default_threads([host(64, 2), host(64, 2, "7.2.4")]) == 1
    assert io_threads.default_threads([]) == 1


def test_more_threads_than_cores_are_rejected() -> None:
    hosts = [host(8, 1), host(4, 1, uid=2)]
    assert io_threads.validation_error(4, hosts) is None
    error = io_threads.validation_error(5, hosts)
    assert error is not None
    assert (error.kind, error.code, error.field) == ("invalid", "bad_request", "io_threads")
    assert error.message.startswith("io_threads must be between 1 and 4, the cores of node 2;")


def test_engines_before_8_are_rejected_but_unknown_ones_accepted() -> None:
    error = io_threads.validation_error(2, [host(8, 1), host(8, 1, "7.2.4", 3)])
    assert error is not None
    assert error.message == "io_threads requires Valkey 8, but node 3 has 7.2.4. Upgrade it, or send 1."
    assert io_threads.validation_error(1, [host(1, 9, "7.2.4")]) is None
    assert io_threads.validation_error(2, [host(8, 1, "")]) is None


@pytest.mark.parametrize(
    ("engine", "live"), [("8.0.1", False), ("8.1.4", False), ("9.0.0", True), ("10.0", True), ("", True)]
)
def test_number_of_threads_changes_live_since_valkey_9(engine: str, live: bool) -> None:
    assert io_threads.changes_live(engine) == live


def test_too_many_threads_on_a_machine_are_reported() -> None:
    assert io_threads.thread_count(2, [1, 1, 1]) is None
    thread_count = io_threads.thread_count(4, [3, 2])
    assert thread_count is not None
    assert (thread_count.name, thread_count.value, thread_count.good) == (
        "io_threads",
        "5 threads of 2 shards on 4 cores",
        False,
    )
    fits = io_threads.thread_count(4, [3, 1])
    assert fits is not None
    assert fits.good
