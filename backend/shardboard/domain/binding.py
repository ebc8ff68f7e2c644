"""Which nodes serve a database's endpoint, by its proxy policy (REST reference, `proxy_policy`), and for how long addresses that
clients must leave still answer."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Held:
    """A shard of the database as far as it matters here."""

    node_uid: int
    pair: int
    is_primary: bool


def bind(
    policy: str, bound: Sequence[int], held: Iterable[Held], living: Collection[int], resting: Collection[int] = ()
) -> list[int]:
    """The nodes to serve from now on, of which `bound` do so already. Empty only when there are no shards.

    Addresses that clients know stay as long as they can: a single endpoint moves only when its node is down, or `resting` (in
    maintenance, or about to be removed) and without leads. Where every node with a primary serves, one that lost its last goes on
    while it holds a shard.
    """
    # What is still on a node that is being emptied does not keep its endpoint there, unless all leads are.
    kept = [shard for shard in held if shard.is_primary or shard.node_uid not in resting]
    holders = {shard.node_uid for shard in kept}
    primaries = {shard.node_uid for shard in kept if shard.is_primary}
    if policy == "all-nodes":
        return sorted({*living, *(node for node in bound if node in holders)})
    if policy == "single":
        if bound and bound[0] in living and (bound[0] in holders or bound[0] not in resting):
            return [bound[0]]
        heads = [shard for shard in sorted(kept, key=lambda shard: shard.pair) if shard.is_primary]
        chosen = next((shard.node_uid for shard in heads if shard.node_uid in living), None)
        return [chosen] if chosen is not None else list(bound) or sorted(holders)[:1]
    return sorted(primaries | (set(bound) & holders))


def retiring(
    bound: Collection[int],
    chosen: Collection[int],
    before: Mapping[int, datetime],
    members: Collection[int],
    now: datetime,
    grace: timedelta,
) -> dict[int, datetime]:
    """Nodes whose address clients must leave and that answer meanwhile, and until when. `chosen` serve from now on, `members` are
    the nodes that are part of the cluster: who leaves it ends early."""
    left = dict.fromkeys(bound, now + grace) | dict(before)
    return {node: until for node, until in left.items() if until > now and node in members and node not in chosen}


def sentence(name: str, old: Sequence[str], new: Sequence[str], seconds: int) -> str:
    """What clients have to do. `old` and `new` are addresses with ports; the old ones answer for so long."""
    answer = (
        f"{'the old one answers' if len(old) == 1 else 'the old ones answer'} for {_span(seconds)} more, "
        "unless the node leaves earlier"
        if seconds
        else f"{'the old one answers' if len(old) == 1 else 'the old ones answer'} no more"
    )
    return f"Clients of {name} must change from {' and '.join(old)} to {' or '.join(new)}: {answer}."


def _span(seconds: int) -> str:
    return f"{seconds // 60} min" if seconds >= 60 and seconds % 60 == 0 else f"{seconds} s"
