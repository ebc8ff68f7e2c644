"""Shard moves that a change of a database requires: replicas that are added or removed, shards that the new placement policy puts
elsewhere, and shards that must restart to apply a setting."""

from collections.abc import Collection

from shardboard.actions import movement
from shardboard.actions.movement import ClusterView
from shardboard.domain.databases import io_threads
from shardboard.domain.placement import rebalance
from shardboard.domain.placement.layout import Copy, Layout, move_title
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.errors import NotAcceptable
from shardboard.services.databases import upgrades
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

MOVING_FIELDS = frozenset({"replication", "shards_placement", "rack_aware"})
"""Fields that move shards when they change."""


def plan_moves(view: ClusterView, bdb: Bdb, changed: Collection[str]) -> list[Move]:
    """Return the moves. `bdb` already has its new values. Raises NotAcceptable if replicas do not fit on any node."""
    view.databases = {**view.databases, bdb.uid: bdb}
    layout = view.layout()
    if "shards_placement" in changed and (other := sorted({"replication", "rack_aware"} & set(changed))):
        message = f"{other[-1]} and shards_placement must be changed in separate requests."
        raise NotAcceptable("not_supported", message, field="shards_placement")
    restart_moves = _applied_at_start(view, bdb) if "io_threads" in changed else []
    if restart_moves:
        if moving_fields := sorted(MOVING_FIELDS & set(changed)):
            message = f"io_threads and {moving_fields[0]} must be changed in separate requests on Valkey 8."
            raise NotAcceptable("not_supported", message, field="io_threads")
        return _replace(view, bdb, restart_moves)
    if "replication" in changed:
        return _replicate(layout, bdb) if bdb.replication else _remove_replicas(layout, bdb)
    if "rack_aware" in changed:
        return _separate(layout, bdb) if bdb.rack_aware else []
    return rebalance.plan(layout, bdb.uid) if "shards_placement" in changed else []


def _separate(layout: Layout, bdb: Bdb) -> list[Move]:
    """Move copies of pairs that are in one zone. All pairs must be in different zones afterwards."""
    moves = rebalance.separate(layout, bdb.uid)
    for copy in _copies(layout, bdb, is_primary=False):
        if layout.is_zone_violation(bdb.uid, copy.pair):
            reason = layout.obstacle(copy) if copy.ready else "it is not in sync; try again when it is"
            message = f"Replica redis:{copy.uid} of {bdb.name} cannot be placed in a different zone from its primary: {reason}."
            raise NotAcceptable("rack_awareness_violation", message, field="rack_aware")
    return moves


def _applied_at_start(view: ClusterView, bdb: Bdb) -> list[Shard]:
    """Return the shards whose engine applies a changed number of threads only at start."""
    installed = {uid: node.facts["engine_version"] for uid, node in view.nodes.items()}
    return [
        row
        for row in view.shards_of_bdb(bdb.uid)
        if not io_threads.changes_live(row.observed_version or installed[row.node_uid])
    ]


def _replace(view: ClusterView, bdb: Bdb, rows: list[Shard]) -> list[Move]:
    """Replace each shard by a new process on its own node, as in an upgrade, so that the number of copies never drops."""
    upgrades.installed_version(view, bdb, {row.node_uid for row in view.shards_of_bdb(bdb.uid)})
    upgrades.check_capacity(view, bdb, rows)
    threads = bdb.io_threads
    label = "without I/O threads" if threads == io_threads.OFF else f"with {threads} I/O threads"
    return [
        Move(
            bdb=bdb.uid,
            pair=row.pair,
            title=f"Replace {movement.role_name(row)} redis:{row.uid} on node {row.node_uid} with one {label}",
            removed=row.uid,
            to=row.node_uid,
        )
        for row in sorted(rows, key=lambda row: (row.pair, row.current_role == ShardRole.PRIMARY))
    ]


def _replicate(layout: Layout, bdb: Bdb) -> list[Move]:
    moves = []
    for primary in _copies(layout, bdb, is_primary=True):
        if len(layout.pair(bdb.uid, primary.pair)) > 1:
            continue  # the replica of an earlier attempt still exists
        replica = Copy(0, bdb.uid, primary.pair, primary.node, is_primary=False)
        node = layout.choose(replica)
        if node is None and layout.lacks_zones(replica):
            message = f"A replica of redis:{primary.uid} cannot be placed: {layout.obstacle(replica)}."
            raise NotAcceptable("rack_awareness_violation", message, field="replication")
        if node is None:
            message = (
                f"No node has enough capacity for a replica of redis:{primary.uid}; add a node or allow overbooking."
            )
            raise NotAcceptable("insufficient_resources", message, field="replication")
        layout.add(bdb.uid, primary.pair, node)
        label = f"Add a replica of redis:{primary.uid} of {bdb.name} on node {node}"
        moves.append(Move(bdb.uid, primary.pair, label, to=node))
    return moves


def _remove_replicas(layout: Layout, bdb: Bdb) -> list[Move]:
    return [
        Move(bdb.uid, copy.pair, move_title(layout, copy), removed=copy.uid)
        for copy in _copies(layout, bdb, is_primary=False)
    ]


def _copies(layout: Layout, bdb: Bdb, *, is_primary: bool) -> list[Copy]:
    copies = [copy for copy in layout.copies.values() if copy.bdb == bdb.uid and copy.is_primary == is_primary]
    return sorted(copies, key=lambda copy: (copy.pair, copy.uid))
