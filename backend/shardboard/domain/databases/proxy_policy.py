"""Nodes that serve the endpoint of a database, by its proxy policy (REST reference, `proxy_policy`), and how long addresses that
clients must no longer use keep responding."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class ShardLocation:
    """A shard of the database: node, pair and role."""

    node_uid: int
    pair: int
    is_primary: bool


def bind(
    policy: str,
    bound: Sequence[int],
    locations: Iterable[ShardLocation],
    living: Collection[int],
    draining: Collection[int] = (),
) -> list[int]:
    """Return the nodes that serve the endpoint. `bound` are the current ones. Empty only if there are no shards.

    Addresses that clients know are kept as long as possible: a single endpoint moves only if its node is down, or is `resting` (in
    maintenance, or about to be removed) and has no primaries. If every node with a primary serves the endpoint, a node that lost
    its last primary continues to serve while it has a shard.
    """
    # Replicas on a node that is being emptied do not keep its endpoint there; primaries do.
    eligible = [shard for shard in locations if shard.is_primary or shard.node_uid not in draining]
    node_uids = {shard.node_uid for shard in eligible}
    primaries = {shard.node_uid for shard in eligible if shard.is_primary}
    if policy == "all-nodes":
        return sorted({*living, *(node for node in bound if node in node_uids)})
    if policy == "single":
        if bound and bound[0] in living and (bound[0] in node_uids or bound[0] not in draining):
            return [bound[0]]
        primary_shards = [shard for shard in sorted(eligible, key=lambda shard: shard.pair) if shard.is_primary]
        node_uid = next((shard.node_uid for shard in primary_shards if shard.node_uid in living), None)
        return [node_uid] if node_uid is not None else list(bound) or sorted(node_uids)[:1]
    return sorted(primaries | (set(bound) & node_uids))


def retiring_addresses(
    bound: Collection[int],
    chosen: Collection[int],
    before: Mapping[int, datetime],
    members: Collection[int],
    now: datetime,
    grace: timedelta,
) -> dict[int, datetime]:
    """Return the nodes whose old address still responds, and until when. `chosen` are the nodes that serve the endpoint now;
    `members` are the nodes of the cluster. The address of a node that leaves the cluster stops responding at once."""
    expiries = dict.fromkeys(bound, now + grace) | dict(before)
    return {
        node: retired_at
        for node, retired_at in expiries.items()
        if retired_at > now and node in members and node not in chosen
    }


def address_change_message(name: str, old: Sequence[str], new: Sequence[str], seconds: int) -> str:
    """Return the instruction for clients. `old` and `new` are addresses with ports; the old ones respond for `seconds` more."""
    subject = "the old address" if len(old) == 1 else "the old addresses"
    verb = "responds" if len(old) == 1 else "respond"
    answer = (
        f"{subject} {verb} for another {_span(seconds)}, unless the node is removed earlier"
        if seconds
        else f"{subject} no longer {verb}"
    )
    return f"Clients of {name} must change from {' and '.join(old)} to {' or '.join(new)}: {answer}."


def _span(seconds: int) -> str:
    return f"{seconds // 60} min" if seconds >= 60 and seconds % 60 == 0 else f"{seconds} s"
