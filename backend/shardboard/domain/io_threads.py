"""How many threads of a shard read requests and write replies; commands are always carried out by its main thread alone.

Valkey's own advice is to use two or three of four cores and six of eight, and none of fewer than three. Here a machine runs several
shards and a proxy, so what counts is how many cores there are for each shard, and half of them are enough.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shardboard.domain.rules import RequestFault

FIELD = "io_threads"
OFF = 1
MOST = 128
"""Valkey 8 takes no more."""
CORES_OF_A_SHARD = 4
"""With fewer there are no threads unless somebody asks for them: a second one on two cores took a quarter to a half of the
throughput."""
USUALLY_MOST = 8


@dataclass(frozen=True)
class Host:
    """A node that holds shards of the database, or will."""

    node_uid: int
    cores: int
    """Of its machine."""
    shards: int
    """Of all databases on its machine, those of this one included."""
    engine: str
    """Version of its valkey-server; empty when it is not known."""


@dataclass(frozen=True)
class Crowd:
    """How many threads there are on a machine, as one of the checks of a host."""

    value: str
    good: bool
    name: str = FIELD
    costs: str = "More threads than cores wait for each other, and one of them is the shard's main thread."
    mends: str = f'PUT /v1/bdbs/<uid> {{"{FIELD}": {OFF}}} for the databases with shards here'


def usual(hosts: Sequence[Host]) -> int:
    """Threads of each shard of a database that did not ask for a number: what all its nodes can give."""
    return min((_given(host) for host in hosts), default=OFF)


def fault(threads: int, hosts: Sequence[Host]) -> RequestFault | None:
    """What speaks against so many threads on these nodes."""
    if threads == OFF or not hosts:
        return None
    for host in hosts:
        if host.engine and _series(host.engine) < 8:
            sentence = f"{FIELD} needs Valkey 8; node {host.node_uid} has {host.engine}. Upgrade it, or send {OFF}."
            return RequestFault("invalid", "not_supported", sentence, FIELD)
    smallest = min(hosts, key=lambda host: host.cores)
    if threads > smallest.cores:
        sentence = (
            f"{FIELD} must be between {OFF} and {smallest.cores}, the cores of node {smallest.node_uid}; more threads than "
            "cores wait for each other."
        )
        return RequestFault("invalid", "bad_request", sentence, FIELD)
    return None


def crowd(cores: int, threads: Sequence[int]) -> Crowd | None:
    """`threads` are those of each shard on a machine; None when no shard has more than its main thread."""
    if max(threads, default=OFF) == OFF:
        return None
    word = "shard" if len(threads) == 1 else "shards"
    return Crowd(f"{sum(threads)} threads of {len(threads)} {word} on {cores} cores", good=sum(threads) <= cores)


def changes_live(engine: str) -> bool:
    """Whether a running shard of that version takes another number: from Valkey 9 on. An unknown one is asked."""
    return not engine or _series(engine) >= 9


def _given(host: Host) -> int:
    each = host.cores // max(host.shards, 1)
    if each < CORES_OF_A_SHARD or (host.engine and _series(host.engine) < 8):
        return OFF
    return min(each // 2, USUALLY_MOST)


def _series(engine: str) -> int:
    number = re.match(r"\d+", engine)
    return int(number[0]) if number is not None else 0
