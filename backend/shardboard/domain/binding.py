"""Which nodes serve a database's endpoint, by its proxy policy (REST reference, `proxy_policy`)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Held:
    """A shard of the database as far as it matters here."""

    node_uid: int
    pair: int
    is_primary: bool


def bind(policy: str, bound: Sequence[int], held: Sequence[Held], living: Collection[int]) -> list[int]:
    """The nodes to serve from now on, of which `bound` do so already. Empty only when there are no shards.

    Addresses that clients know stay as long as they make sense: a node that lost its last primary goes on serving while it
    holds a shard, and a single endpoint moves only when its node is down or holds none any more.
    """
    holders = {shard.node_uid for shard in held}
    primaries = {shard.node_uid for shard in held if shard.is_primary}
    if policy == "all-nodes":
        return sorted({*living, *(node for node in bound if node in holders)})
    if policy == "single":
        if bound and bound[0] in living and bound[0] in holders:
            return [bound[0]]
        heads = [shard for shard in sorted(held, key=lambda shard: shard.pair) if shard.is_primary]
        chosen = next((shard.node_uid for shard in heads if shard.node_uid in living), None)
        return [chosen] if chosen is not None else list(bound) or sorted(holders)[:1]
    return sorted(primaries | (set(bound) & holders))
