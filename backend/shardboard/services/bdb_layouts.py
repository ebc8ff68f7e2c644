"""Which movements a change of a database brings with it: replicas that come or go, shards that another policy wants elsewhere,
and those that take a setting only when they start."""

from collections.abc import Collection

from shardboard.domain import io_threads, rebalance
from shardboard.domain.layout import Copy, Layout, title
from shardboard.domain.moves import Move
from shardboard.errors import NotAcceptable
from shardboard.orders import movement
from shardboard.orders.movement import ClusterView
from shardboard.services import upgrades
from shardboard.state.bdbs import Bdb
from shardboard.state.shards import Shard

MOVING = frozenset({"replication", "shards_placement"})
"""Fields whose change moves shards."""


def plan(view: ClusterView, bdb: Bdb, changed: Collection[str]) -> list[Move]:
    """`bdb` has its new values already. Raises NotAcceptable where there is no room for replicas."""
    view.databases = {**view.databases, bdb.uid: bdb}
    board = view.board()
    if "replication" in changed and "shards_placement" in changed:
        sentence = "replication and shards_placement are changed one after the other."
        raise NotAcceptable("not_supported", sentence, field="shards_placement")
    replaced = _fixed(view, bdb) if "io_threads" in changed else []
    if replaced:
        if others := sorted(MOVING & set(changed)):
            sentence = f"io_threads and {others[0]} are changed one after the other on Valkey 8."
            raise NotAcceptable("not_supported", sentence, field="io_threads")
        return _replace(view, bdb, replaced)
    if "replication" in changed:
        return _replicate(board, bdb) if bdb.replication else _bare(board, bdb)
    return rebalance.plan(board, bdb.uid) if "shards_placement" in changed else []


def _fixed(view: ClusterView, bdb: Bdb) -> list[Shard]:
    """Shards whose engine takes another number of threads only when it starts."""
    installed = {uid: node.facts["engine_version"] for uid, node in view.machines.items()}
    return [
        row for row in view.of(bdb.uid) if not io_threads.changes_live(row.observed_version or installed[row.node_uid])
    ]


def _replace(view: ClusterView, bdb: Bdb, rows: list[Shard]) -> list[Move]:
    """Each by a new process on its own node, as in an upgrade: there is never a copy less than before."""
    upgrades.installed(view, bdb, {row.node_uid for row in view.of(bdb.uid)})
    upgrades.insist_on_room(view, bdb, rows)
    threads = bdb.io_threads
    told = "without I/O threads" if threads == io_threads.OFF else f"with {threads} I/O threads"
    return [
        Move(
            bdb=bdb.uid,
            pair=row.pair,
            title=f"Replace {movement.word(row)} redis:{row.uid} on node {row.node_uid} by one {told}",
            leaves=row.uid,
            to=row.node_uid,
        )
        for row in sorted(rows, key=lambda row: (row.pair, row.current_role == "master"))
    ]


def _replicate(board: Layout, bdb: Bdb) -> list[Move]:
    planned = []
    for head in _of(board, bdb, leads=True):
        if len(board.pair(bdb.uid, head.pair)) > 1:
            continue  # left from before
        node = board.choose(Copy(0, bdb.uid, head.pair, head.node, leads=False))
        if node is None:
            sentence = f"No node has room for a replica of redis:{head.uid}; add a node, or allow overbooking."
            raise NotAcceptable("insufficient_resources", sentence, field="replication")
        board.add(bdb.uid, head.pair, node)
        told = f"Add a replica of redis:{head.uid} of {bdb.name} on node {node}"
        planned.append(Move(bdb.uid, head.pair, told, to=node))
    return planned


def _bare(board: Layout, bdb: Bdb) -> list[Move]:
    return [Move(bdb.uid, copy.pair, title(board, copy), leaves=copy.uid) for copy in _of(board, bdb, leads=False)]


def _of(board: Layout, bdb: Bdb, *, leads: bool) -> list[Copy]:
    held = [copy for copy in board.copies.values() if copy.bdb == bdb.uid and copy.leads == leads]
    return sorted(held, key=lambda copy: (copy.pair, copy.uid))
