"""Endpoint addresses that clients must stop using when a plan is carried out, reported before anything moves."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shardboard.actions.movement import ClusterView
from shardboard.domain.databases import proxy_policy
from shardboard.domain.databases.proxy_policy import ShardLocation
from shardboard.domain.placement.layout import Layout


@dataclass(frozen=True)
class EndpointAddressChange:
    """The change of one database's endpoint addresses."""

    bdb_uid: int
    old: Sequence[str]
    """Addresses with ports that clients must stop using."""
    new: Sequence[str]
    """Addresses with ports that serve the database afterwards."""
    message: str


def address_changes(
    view: ClusterView, layout: Layout, *, draining: Collection[int] = (), removed: Collection[int] = ()
) -> list[EndpointAddressChange]:
    """Return the address change of each affected database.

    `board` is the layout after the plan. In addition to nodes that are in maintenance already, `resting` nodes are in maintenance
    by then, and `leaving` nodes have been removed.
    """
    machines = view.nodes.values()
    living = {node.uid for node in machines if node.health != "down"} - set(removed)
    rests = {node.uid for node in machines if node.duty} | {*draining, *removed}
    grace = view.cluster.rules.endpoint_rebind_propagation_grace_time
    found = []
    for bdb in view.databases.values():
        held = [
            ShardLocation(copy.node, copy.pair, copy.is_primary)
            for copy in layout.copies.values()
            if copy.bdb == bdb.uid
        ]
        if not held:
            continue
        chosen = proxy_policy.bind(bdb.config["proxy_policy"], bdb.endpoint_nodes, held, living, rests)
        left = [uid for uid in bdb.endpoint_nodes if uid not in chosen and uid in view.nodes]
        if left:
            old, new = ([f"{view.nodes[uid].addr}:{bdb.port}" for uid in uids] for uids in (left, chosen))
            found.append(
                EndpointAddressChange(bdb.uid, old, new, proxy_policy.address_change_message(bdb.name, old, new, grace))
            )
    return found


def messages_text(found: Sequence[EndpointAddressChange]) -> str:
    """Return all messages as one text, to append to another sentence."""
    return "".join(f" {change.message}" for change in found)
