"""Which addresses clients must leave once a plan is carried out: told before anything moves."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shardboard.domain import binding
from shardboard.domain.binding import Held
from shardboard.domain.layout import Layout
from shardboard.orders.movement import ClusterView


@dataclass(frozen=True)
class Change:
    """One database's."""

    bdb_uid: int
    old: Sequence[str]
    """Addresses with ports that clients must leave."""
    new: Sequence[str]
    """Those that serve in the end."""
    sentence: str


def changes(
    view: ClusterView, board: Layout, *, resting: Collection[int] = (), leaving: Collection[int] = ()
) -> list[Change]:
    """`board` is how shards are in the end; then `resting` nodes are in maintenance too, and `leaving` ones gone."""
    machines = view.machines.values()
    living = {node.uid for node in machines if node.health != "down"} - set(leaving)
    rests = {node.uid for node in machines if node.duty} | {*resting, *leaving}
    grace = view.cluster.rules.endpoint_rebind_propagation_grace_time
    found = []
    for bdb in view.databases.values():
        held = [Held(copy.node, copy.pair, copy.leads) for copy in board.copies.values() if copy.bdb == bdb.uid]
        if not held:
            continue
        chosen = binding.bind(bdb.config["proxy_policy"], bdb.endpoint_nodes, held, living, rests)
        left = [uid for uid in bdb.endpoint_nodes if uid not in chosen and uid in view.machines]
        if left:
            old, new = ([f"{view.machines[uid].addr}:{bdb.port}" for uid in uids] for uids in (left, chosen))
            found.append(Change(bdb.uid, old, new, binding.sentence(bdb.name, old, new, grace)))
    return found


def told(found: Sequence[Change]) -> str:
    """All sentences, to go on with after another one."""
    return "".join(f" {change.sentence}" for change in found)
