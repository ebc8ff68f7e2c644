"""Endpoint addresses that clients must stop using when a plan is carried out, reported before anything moves."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shardboard.actions.movement import ClusterView
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.databases import proxy_policy
from shardboard.domain.databases.proxy_policy import ShardLocation
from shardboard.domain.placement.layout import Layout
from shardboard.kit.addresses import host_port


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
    up_node_uids = {node.uid for node in machines if node.health != NodeHealth.DOWN} - set(removed)
    nodes_with_duty = {node.uid for node in machines if node.duty} | {*draining, *removed}
    grace = view.cluster.rules.endpoint_rebind_propagation_grace_time
    changes = []
    for bdb in view.databases.values():
        locations = [
            ShardLocation(copy.node, copy.pair, copy.is_primary)
            for copy in layout.copies.values()
            if copy.bdb == bdb.uid
        ]
        if not locations:
            continue
        node_uids = proxy_policy.bind(
            bdb.config["proxy_policy"], bdb.endpoint_nodes, locations, up_node_uids, nodes_with_duty
        )
        removed_nodes = [uid for uid in bdb.endpoint_nodes if uid not in node_uids and uid in view.nodes]
        if removed_nodes:
            old, new = (
                [host_port(view.nodes[uid].addr, bdb.port) for uid in uids] for uids in (removed_nodes, node_uids)
            )
            changes.append(
                EndpointAddressChange(bdb.uid, old, new, proxy_policy.address_change_message(bdb.name, old, new, grace))
            )
    return changes


def messages_text(found: Sequence[EndpointAddressChange]) -> str:
    """Return all messages as one text, to append to another sentence."""
    return "".join(f" {change.message}" for change in found)
