"""Availability of a database for clients, derived from the last known state of its shards and its endpoint."""

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

AvailabilityFault = Literal["shard_unreachable", "port_unbound"]
"""Named as in the REST reference."""

MESSAGES: dict[AvailabilityFault, str] = {
    "shard_unreachable": "Some of its slots are not served by a primary.",
    "port_unbound": "No proxy serves its endpoint.",
}


class CopyStatus(NamedTuple):
    """The last known state of a shard."""

    pair: int
    is_primary: bool
    ready: bool
    """A primary serves its slots; a replica responds and has all data."""


def faults(copies: Collection[CopyStatus], *, bound: bool) -> list[AvailabilityFault]:
    """Return what prevents clients from using the database. `bound` states whether a proxy of its endpoint listens. A database
    without shards serves no slots."""
    result: list[AvailabilityFault] = []
    served_pairs = {copy.pair for copy in copies if copy.is_primary and copy.ready}
    if not served_pairs or {copy.pair for copy in copies} - served_pairs:
        result.append("shard_unreachable")
    if not bound:
        result.append("port_unbound")
    return result


def pairs_out_of_sync(copies: Iterable[CopyStatus]) -> list[int]:
    """Return pairs with a replica that does not have all data or does not respond."""
    return sorted({copy.pair for copy in copies if not copy.is_primary and not copy.ready})
