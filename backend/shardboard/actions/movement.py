"""The locked view of the cluster on which shard moves are planned, and the queueing of these moves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.move_parameters import MoveParameters
from shardboard.domain.cluster.actions import ActionName, StepStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.flash import ShardMemory
from shardboard.domain.databases.shard_status import is_ready
from shardboard.domain.placement import layout
from shardboard.domain.placement.layout import Layout
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.shard_placement import NodeCapacity
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.placement.zones import Zones
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

MAX_SHARDS_PER_NODE = 512
BASE_DEADLINE = timedelta(hours=1)
DEADLINE_PER_MOVE = timedelta(minutes=10)


@dataclass
class ClusterView:
    """All data that planning moves needs."""

    cluster: Cluster
    nodes: Mapping[int, Node]
    databases: Mapping[int, Bdb]
    desired_shards: Sequence[Shard]
    """Shards that should be running."""
    occupying_shards: Sequence[Shard]
    """The same shards, and shards that are being removed."""

    def shards_of_bdb(self, bdb_uid: int) -> list[Shard]:
        return [row for row in self.desired_shards if row.bdb_uid == bdb_uid]

    def shards_of_pair(self, row: Shard) -> list[Shard]:
        return [each for each in self.desired_shards if (each.bdb_uid, each.pair) == (row.bdb_uid, row.pair)]

    def capacities(self, *, ignore_failures: bool = False) -> dict[int, NodeCapacity]:
        """Return the free capacity of nodes that take shards, by uid; with `ignore_failures`, also of unreachable nodes."""
        usable_nodes = [
            node for node in self.nodes.values() if can_take_shards(node) or (ignore_failures and accepts_shards(node))
        ]
        return {
            capacity.node_uid: capacity
            for capacity in node_capacities(usable_nodes, self.occupying_shards, list(self.databases.values()))
        }

    def layout(self, *, ignore_failures: bool = False, overbooking: bool | None = None) -> Layout:
        """Return a layout to plan moves on; with `ignore_failures`, as if all nodes were reachable and all shards in sync.
        `overbooking` replaces the policy.
        """
        ignores_memory = self.overbooking if overbooking is None else overbooking
        all_nodes = frozenset(self.nodes)
        databases = [
            layout.LayoutDatabase(
                uid=bdb.uid,
                name=bdb.name,
                dense=bdb.config["shards_placement"] == "dense",
                memory=0 if ignores_memory else bdb.shard_memory.ram,
                flash=bdb.shard_memory.flash,
                nodes=(frozenset(map(int, bdb.config["use_nodes"])) or all_nodes)
                - frozenset(map(int, bdb.config["avoid_nodes"])),
                copies=bdb.copies,
                rack_aware=bdb.rack_aware,
            )
            for bdb in self.databases.values()
        ]
        copies = [
            layout.Copy(
                row.uid,
                row.bdb_uid,
                row.pair,
                row.node_uid,
                row.current_role == ShardRole.PRIMARY,
                ignore_failures or is_in_sync(row),
            )
            for row in self.desired_shards
        ]
        return Layout(copies, databases, self.capacities(ignore_failures=ignore_failures), self.zones)

    @property
    def zones(self) -> dict[int, Zones]:
        """Zones of all nodes by uid."""
        return {uid: node.zones for uid, node in self.nodes.items()}

    def obstacles(self, bdb_uid: int) -> list[str]:
        """Return what prevents moves of a database's shards now, as text: unreachable nodes, and shards that are not in sync."""
        unreachable = [node.uid for node in self.nodes.values() if accepts_shards(node) and not can_take_shards(node)]
        lagging = [row.uid for row in self.shards_of_bdb(bdb_uid) if not is_in_sync(row)]
        return [
            *(f"node {uid} does not respond" for uid in sorted(unreachable)),
            *(f"redis:{uid} is not in sync" for uid in sorted(lagging)),
        ]

    @property
    def overbooking(self) -> bool:
        """Whether the policy allows assigning more memory to shards than nodes have."""
        return self.cluster.rules.shards_overbooking

    def memory(self, bdb: Bdb) -> int:
        """Return the bytes of memory that one more shard needs; 0 if the policy allows overbooking."""
        if self.overbooking:
            return 0
        return bdb.shard_memory.ram


async def locked_view(session: AsyncSession) -> ClusterView:
    """Lock the cluster row, then read: concurrent requests must not choose the same uids or the same capacity."""
    return await _view(session, await clusters.load_for_update(session))


async def current_view(session: AsyncSession) -> ClusterView:
    """Return the view without a lock, which is not for planning moves."""
    return await _view(session, await clusters.load(session))


async def _view(session: AsyncSession, cluster: Cluster) -> ClusterView:
    return ClusterView(
        cluster=cluster,
        nodes={node.uid: node for node in await nodes.list_all(session)},
        databases={bdb.uid: bdb for bdb in await bdbs.list_all(session)},
        desired_shards=await shards.list_all(session),
        occupying_shards=await shards.list_occupying(session),
    )


def node_capacities(
    eligible: Sequence[Node], occupying: Sequence[Shard], databases: Sequence[Bdb]
) -> list[NodeCapacity]:
    """Return the free capacity of each node: its memory and flash minus the shares of its shards."""
    memory_by_bdb = {bdb.uid: bdb.shard_memory for bdb in databases}
    no_memory = ShardMemory(0)
    return [
        NodeCapacity(
            node_uid=node.uid,
            free_memory=node.facts["total_memory"]
            - sum(memory_by_bdb.get(shard.bdb_uid, no_memory).ram for shard in node_shards)
            - sum(shard.memory for shard in unknown),
            shards=len(node_shards) + len(unknown),
            max_shards=node.config.get("max_redis_servers", MAX_SHARDS_PER_NODE),
            free_flash=node.flash_size
            - sum(memory_by_bdb.get(shard.bdb_uid, no_memory).flash or 0 for shard in node_shards)
            - sum(shard.flash for shard in unknown)
            if node.flash_size
            else None,
        )
        for node in eligible
        for node_shards, unknown in [
            ([shard for shard in occupying if shard.node_uid == node.uid], node.unknown_shards.shards)
        ]
    ]


def is_in_sync(row: Shard) -> bool:
    """Return whether the shard responds and has all data."""
    return is_ready(row.observed_status, row.current_role, row.observed_link)


def can_take_shards(node: Node) -> bool:
    """Return whether shards can be placed on the node now."""
    return accepts_shards(node) and node.is_available


def accepts_shards(node: Node) -> bool:
    """Return whether the node is configured to run shards, whether or not it is reachable."""
    return node.accept_servers and not node.duty


def queue_moves(
    session: AsyncSession,
    view: ClusterView,
    name: ActionName,
    moves: Sequence[Move],
    *,
    description: str,
    originator: str,
    object_type: str,
    object_uid: int,
    params: MoveParameters | None = None,
    cancellable: bool = True,
) -> Action:
    """Queue an action made of `moves`. Assigns uids to new shards, and marks the databases as busy until the action ends."""
    numbered_moves = []
    for move in moves:
        new_shard = None
        if move.to is not None:
            new_shard = view.cluster.next_shard_uid
            view.cluster.next_shard_uid += 1
        numbered_moves.append(replace(move, new_shard=new_shard))
    action = queue.enqueue(
        session,
        name,
        object_type=object_type,
        object_uid=object_uid,
        description=description,
        originator=originator,
        deadline=BASE_DEADLINE + DEADLINE_PER_MOVE * len(moves),
        params=replace(params or MoveParameters(), moves=tuple(numbered_moves), cancellable=cancellable),
    )
    action.steps = [{"name": move.title, "status": StepStatus.PENDING} for move in numbered_moves]
    for uid in {move.bdb for move in moves}:
        bdb = view.databases[uid]
        bdb.status, bdb.status_detail, bdb.action_uid = BdbStatus.CHANGE_PENDING, "", action.uid
        bdb.changed_at = datetime.now(UTC)
    return action


def role_name(row: Shard) -> str:
    """Return the role of a shard as readers know it: primary or replica."""
    return "primary" if row.current_role == ShardRole.PRIMARY else "replica"
