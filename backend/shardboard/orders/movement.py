"""The locked view of the cluster on which shard moves are planned, and the queueing of these moves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import layout
from shardboard.domain.flash import Share
from shardboard.domain.layout import Layout
from shardboard.domain.moves import Move
from shardboard.domain.observe import is_ready
from shardboard.domain.placement import Room
from shardboard.orders import queue
from shardboard.state import bdbs, nodes, shards
from shardboard.state import cluster as clusters
from shardboard.state.actions import Action
from shardboard.state.bdbs import Bdb
from shardboard.state.cluster import Cluster
from shardboard.state.nodes import Node
from shardboard.state.shards import Shard

MAX_SHARDS_PER_NODE = 512
BASE_DEADLINE = timedelta(hours=1)
DEADLINE_PER_MOVE = timedelta(minutes=10)


@dataclass
class ClusterView:
    """All data that planning moves needs, read under the lock of the cluster row."""

    cluster: Cluster
    machines: Mapping[int, Node]
    databases: Mapping[int, Bdb]
    rows: Sequence[Shard]
    """Shards that should be running."""
    occupying: Sequence[Shard]
    """The same shards, and shards that are being removed."""

    def of(self, bdb_uid: int) -> list[Shard]:
        return [row for row in self.rows if row.bdb_uid == bdb_uid]

    def pair_of(self, row: Shard) -> list[Shard]:
        return [each for each in self.rows if (each.bdb_uid, each.pair) == (row.bdb_uid, row.pair)]

    def rooms(self, *, all_well: bool = False) -> dict[int, Room]:
        """Return the free capacity of nodes that take shards, by uid; with `all_well`, also of unreachable nodes."""
        usable = [
            node for node in self.machines.values() if takes_shards(node) or (all_well and is_meant_for_shards(node))
        ]
        return {room.node_uid: room for room in rooms_of(usable, self.occupying, list(self.databases.values()))}

    def board(self, *, all_well: bool = False) -> Layout:
        """Return a layout to plan moves on; with `all_well`, as if all nodes were reachable and all shards in sync."""
        all_nodes = frozenset(self.machines)
        databases = [
            layout.LayoutDatabase(
                uid=bdb.uid,
                name=bdb.name,
                dense=bdb.config["shards_placement"] == "dense",
                memory=self.memory(bdb),
                flash=bdb.share.flash,
                nodes=(frozenset(map(int, bdb.config["use_nodes"])) or all_nodes)
                - frozenset(map(int, bdb.config["avoid_nodes"])),
                copies=2 if bdb.replication else 1,
            )
            for bdb in self.databases.values()
        ]
        copies = [
            layout.Copy(
                row.uid, row.bdb_uid, row.pair, row.node_uid, row.current_role == "master", all_well or ready(row)
            )
            for row in self.rows
        ]
        return Layout(copies, databases, self.rooms(all_well=all_well))

    def hindrances(self, bdb_uid: int) -> list[str]:
        """Return what prevents moves of a database's shards now, as text: unreachable nodes, and shards that are not in sync."""
        unreachable = [
            node.uid for node in self.machines.values() if is_meant_for_shards(node) and not takes_shards(node)
        ]
        behind = [row.uid for row in self.of(bdb_uid) if not ready(row)]
        return [
            *(f"node {uid} does not respond" for uid in sorted(unreachable)),
            *(f"redis:{uid} is not in sync" for uid in sorted(behind)),
        ]

    @property
    def overbooking(self) -> bool:
        """Whether the policy allows assigning more memory to shards than nodes have."""
        return self.cluster.rules.shards_overbooking

    def memory(self, bdb: Bdb) -> int:
        """Return the bytes of memory that one more shard needs; 0 if the policy allows overbooking."""
        if self.overbooking:
            return 0
        return bdb.share.ram


async def locked_view(session: AsyncSession) -> ClusterView:
    """Lock the cluster row, then read: concurrent requests must not choose the same uids or the same capacity."""
    cluster = await clusters.load_for_update(session)
    return ClusterView(
        cluster=cluster,
        machines={node.uid: node for node in await nodes.every(session)},
        databases={bdb.uid: bdb for bdb in await bdbs.every(session)},
        rows=await shards.every(session),
        occupying=await shards.occupying(session),
    )


def rooms_of(eligible: Sequence[Node], occupying: Sequence[Shard], databases: Sequence[Bdb]) -> list[Room]:
    """Return the free capacity of each node: its memory and flash minus the shares of its shards."""
    promised = {bdb.uid: bdb.share for bdb in databases}
    nothing = Share(0)
    return [
        Room(
            node_uid=node.uid,
            free_memory=node.facts["total_memory"]
            - sum(promised.get(shard.bdb_uid, nothing).ram for shard in held)
            - sum(shard.memory for shard in unknown),
            shards=len(held) + len(unknown),
            max_shards=node.config.get("max_redis_servers", MAX_SHARDS_PER_NODE),
            free_flash=node.flash_size
            - sum(promised.get(shard.bdb_uid, nothing).flash or 0 for shard in held)
            - sum(shard.flash for shard in unknown)
            if node.flash_size
            else None,
        )
        for node in eligible
        for held, unknown in [
            ([shard for shard in occupying if shard.node_uid == node.uid], node.unknown_shards.shards)
        ]
    ]


def ready(row: Shard) -> bool:
    """Return whether the shard responds and has all data."""
    return is_ready(row.observed_status, row.current_role, row.observed_link)


def takes_shards(node: Node) -> bool:
    """Return whether shards can be placed on the node now."""
    return is_meant_for_shards(node) and node.agent_status == "connected" and node.health == "up"


def is_meant_for_shards(node: Node) -> bool:
    """Return whether the node is configured to run shards, whether or not it is reachable."""
    return node.accept_servers and not node.duty


def order(
    session: AsyncSession,
    view: ClusterView,
    name: str,
    moves: Sequence[Move],
    *,
    description: str,
    originator: str,
    object_type: str,
    object_uid: int,
    params: Mapping[str, Any] | None = None,
    cancellable: bool = True,
) -> Action:
    """Queue an action made of `moves`. Assigns uids to new shards, and marks the databases as busy until the action ends."""
    numbered = []
    for move in moves:
        newcomer = None
        if move.to is not None:
            newcomer = view.cluster.next_shard_uid
            view.cluster.next_shard_uid += 1
        numbered.append(replace(move, newcomer=newcomer))
    action = queue.start(
        session,
        name,
        object_type=object_type,
        object_uid=object_uid,
        description=description,
        originator=originator,
        deadline=BASE_DEADLINE + DEADLINE_PER_MOVE * len(moves),
        params={**(params or {}), "moves": [move.param() for move in numbered], "cancellable": cancellable},
    )
    action.steps = [{"name": move.title, "status": "pending"} for move in numbered]
    for uid in {move.bdb for move in moves}:
        bdb = view.databases[uid]
        bdb.status, bdb.status_detail, bdb.action_uid = "active-change-pending", "", action.uid
        bdb.changed_at = datetime.now(UTC)
    return action


def word(row: Shard) -> str:
    """Return the role of a shard as readers know it: primary or replica."""
    return "primary" if row.current_role == "master" else "replica"
