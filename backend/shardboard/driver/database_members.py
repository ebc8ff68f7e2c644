"""Shards of a database that the store does not contain: proof that they belong to it, and their roles and slots."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.access.acl_rules import CONSOLE
from shardboard.domain.placement import slots
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver import replication
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef, command
from shardboard.valkey.replies import cluster_lines

TIMEOUT_SECONDS = 5.0
"""Seconds that a node may take to respond."""


@dataclass(frozen=True)
class MemberRoles:
    """Roles of shards without a row, and of the stored shards that replicate from them. Keys and primaries are engine ids."""

    primaries: Mapping[str, str]
    """Slots of each primary."""
    replicas: Mapping[str, str]
    """Primary of each replica, including stored ones."""


async def prove(agents: Agents, candidates: Sequence[ShardRef], password: str) -> tuple[list[ShardRef], list[ShardRef]]:
    """Return the shards that accept the internal password of the database, which is random, and those that did not respond."""
    digest = hashlib.sha256(password.encode()).hexdigest()
    replies = await command(agents, candidates, "ACL", "GETUSER", CONSOLE, timeout=TIMEOUT_SECONDS)
    proven = [each for each in candidates if replies[each.uid].ok and digest in replies[each.uid].reply]
    return proven, [each for each in candidates if not replies[each.uid].ok]


async def read_roles(
    agents: Agents, members: Sequence[ShardRef], stored: Sequence[ShardRef], *, cluster: bool
) -> MemberRoles:
    """Read the roles of `members` and the links of `stored` shards. Shards that do not respond are missing."""
    return await (_cluster_roles(agents, members) if cluster else _link_roles(agents, members, stored))


async def _cluster_roles(agents: Agents, members: Sequence[ShardRef]) -> MemberRoles:
    replies = await command(agents, members, "CLUSTER", "NODES", timeout=TIMEOUT_SECONDS)
    primaries: dict[str, str] = {}
    replicas: dict[str, str] = {}
    for member in members:
        result = replies[member.uid]
        lines = cluster_lines(result.reply) if result.ok else {}
        own = lines.get(member.engine_id)
        if own is not None and own.is_primary:
            primaries[member.engine_id] = slots.render(own.slots)
        replicas |= {line.engine_id: line.primary for line in lines.values() if line.primary}
    return MemberRoles(primaries, replicas)


async def _link_roles(agents: Agents, members: Sequence[ShardRef], stored: Sequence[ShardRef]) -> MemberRoles:
    everyone = [*members, *stored]
    ids = {(each.node.addr, each.port): each.engine_id for each in everyone}
    links = await replication.links(agents, members), await replication.links(agents, stored)
    # Uids of members can be those of stored shards, so the results are not merged by uid.
    found = [(each, links[0].get(each.uid)) for each in members] + [(each, links[1].get(each.uid)) for each in stored]
    own = {each.engine_id for each in members}
    return MemberRoles(
        {
            each.engine_id: slots.render(each.slots)
            for each, link in found
            if each.engine_id in own and link is not None and link.is_primary
        },
        {
            each.engine_id: ids[link.primary]
            for each, link in found
            if link is not None and link.primary is not None and link.primary in ids
        },
    )


def as_role(roles: MemberRoles, engine_id: str) -> ShardRole | None:
    """Return the role of a member; None if it did not respond."""
    if engine_id in roles.primaries:
        return ShardRole.PRIMARY
    return ShardRole.REPLICA if engine_id in roles.replicas else None
