"""Endpoint addresses that clients must stop using when a plan is carried out, reported before anything moves."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shardboard.domain import binding
from shardboard.domain.binding import Held
from shardboard.domain.layout import Layout
from shardboard.orders.movement import ClusterView


@dataclass(frozen=True)
class Change:
    """The change of one database's endpoint addresses."""

    bdb_uid: int
    old: Sequence[str]
    """Addresses with ports that clients must stop using."""
    new: Sequence[str]
    """Addresses with ports that serve the database afterwards."""
    sentence: str


def changes(
    view: ClusterView, board: Layout, *, resting: Collection[int] = (), leaving: Collection[int] = ()
) -> list[Change]:
    """Return the address change of each affected database.

    `board` is the layout after the plan. In addition to nodes that are in maintenance already, `resting` nodes are in maintenance
    by then, and `leaving` nodes have been removed.
    """
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
    """Return all messages as one text, to append to another sentence."""
    return "".join(f" {change.sentence}" for change in found)
