"""Number of threads of a shard that read requests and write replies. Only the main thread executes commands.

Valkey recommends two or three threads on four cores, six on eight, and none on fewer than three. Here a machine runs several shards
and a proxy. Therefore the number of cores per shard counts, and half of them are used.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shardboard.domain.rules import ValidationError

FIELD = "io_threads"
OFF = 1
MAX_THREADS = 128
"""Maximum of Valkey 8."""
CORES_PER_SHARD = 4
"""With fewer cores per shard, threads are used on request only: on two cores a second thread reduced the throughput by a quarter to
a half."""
DEFAULT_MAX_THREADS = 8


@dataclass(frozen=True)
class Host:
    """A node that has shards of the database, or will have."""

    node_uid: int
    cores: int
    """Cores of its machine."""
    shards: int
    """Shards of all databases on its machine, including this one."""
    engine: str
    """Version of its valkey-server; empty if unknown."""


@dataclass(frozen=True)
class ThreadCount:
    """Number of threads on a machine, as one of the host checks."""

    value: str
    good: bool
    name: str = FIELD
    impact: str = "More threads than cores wait for each other, and one of them is the shard's main thread."
    remedy: str = f'PUT /v1/bdbs/<uid> {{"{FIELD}": {OFF}}} for the databases with shards on this machine'


def default_threads(hosts: Sequence[Host]) -> int:
    """Return the threads per shard of a database that did not request a number: what all its nodes support."""
    return min((_supported(host) for host in hosts), default=OFF)


def validation_error(threads: int, hosts: Sequence[Host]) -> ValidationError | None:
    """Return why these nodes do not support the number of threads, or None."""
    if threads == OFF or not hosts:
        return None
    for host in hosts:
        if host.engine and _series(host.engine) < 8:
            message = (
                f"{FIELD} requires Valkey 8, but node {host.node_uid} has {host.engine}. Upgrade it, or send {OFF}."
            )
            return ValidationError("invalid", "not_supported", message, FIELD)
    smallest = min(hosts, key=lambda host: host.cores)
    if threads > smallest.cores:
        message = (
            f"{FIELD} must be between {OFF} and {smallest.cores}, the cores of node {smallest.node_uid}; more threads than "
            "cores wait for each other."
        )
        return ValidationError("invalid", "bad_request", message, FIELD)
    return None


def thread_count(cores: int, threads: Sequence[int]) -> ThreadCount | None:
    """Return the check; `threads` contains the number of each shard on a machine. None if no shard has more than its main
    thread."""
    if max(threads, default=OFF) == OFF:
        return None
    word = "shard" if len(threads) == 1 else "shards"
    return ThreadCount(f"{sum(threads)} threads of {len(threads)} {word} on {cores} cores", good=sum(threads) <= cores)


def changes_live(engine: str) -> bool:
    """Return whether a running shard of this version can change its number, as Valkey 9 and later can. An unknown version counts
    as able."""
    return not engine or _series(engine) >= 9


def _supported(host: Host) -> int:
    each = host.cores // max(host.shards, 1)
    if each < CORES_PER_SHARD or (host.engine and _series(host.engine) < 8):
        return OFF
    return min(each // 2, DEFAULT_MAX_THREADS)


def _series(engine: str) -> int:
    number = re.match(r"\d+", engine)
    return int(number[0]) if number is not None else 0
