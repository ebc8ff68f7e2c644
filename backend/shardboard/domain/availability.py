"""Can clients of a database read and write all of it? Decided from how its shards and its endpoint were last seen."""

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

AvailabilityFault = Literal["shard_unreachable", "port_unbound"]
"""As the REST reference names them."""

SENTENCES: dict[AvailabilityFault, str] = {
    "shard_unreachable": "Some of its slots are served by no primary.",
    "port_unbound": "No proxy serves its endpoint.",
}


class Copy(NamedTuple):
    """A shard as it was last seen."""

    pair: int
    leads: bool
    ready: bool
    """A primary serves; a replica answers and has all data."""


def faults(copies: Collection[Copy], *, bound: bool) -> list[AvailabilityFault]:
    """What keeps clients from it; `bound`: a proxy of its endpoint listens. No shards at all serve no slots."""
    found: list[AvailabilityFault] = []
    served = {copy.pair for copy in copies if copy.leads and copy.ready}
    if not served or {copy.pair for copy in copies} - served:
        found.append("shard_unreachable")
    if not bound:
        found.append("port_unbound")
    return found


def behind(copies: Iterable[Copy]) -> list[int]:
    """Pairs with a replica that has not all data, or does not answer."""
    return sorted({copy.pair for copy in copies if not copy.leads and not copy.ready})
