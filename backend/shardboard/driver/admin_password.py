"""Another password for the engine's user `shardboard`, in three orders that may each be repeated. Shards hear of its hash only."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence

from shardboard.domain.acl_rules import CONSOLE
from shardboard.driver.cluster import ShardRef, command
from shardboard.driver.ports import Agents, ChangePassword, NodeRef, canary
from shardboard.errors import AgentBehind, AgentError

PATIENCE = 15.0


async def accept(agents: Agents, shards: Sequence[ShardRef], password: str) -> dict[int, str]:
    """Beside those that are known. Reasons by uid of the shards that refused."""
    return await _tell(agents, shards, password)


async def forget_others(agents: Agents, shards: Sequence[ShardRef], password: str) -> dict[int, str]:
    """From now on this is the only one; connections stay. Reasons by uid of the shards that refused."""
    return await _tell(agents, shards, password, "resetpass")


async def _tell(agents: Agents, shards: Sequence[ShardRef], password: str, *before: str) -> dict[int, str]:
    of_users = {CONSOLE: password, canary.USER: canary.password(password)}
    orders = [
        ("ACL", "SETUSER", user, *before, "#" + hashlib.sha256(each.encode()).hexdigest())
        for user, each in of_users.items()
    ]
    for argv in (*orders, ("CONFIG", "REWRITE")):
        replies = await command(agents, shards, *argv, patience=PATIENCE)
        if refused := {uid: result.reply for uid, result in replies.items() if not result.ok}:
            return refused
    return {}


async def use(agents: Agents, shards: Sequence[ShardRef], bdb_uid: int, password: str) -> dict[int, str]:
    """Agents with their shards, and replicas with their primaries, from now on. Reasons by uid of the shards where not. Raises
    AgentBehind when an agent is of a release that cannot do it."""
    nodes = {shard.node: {each.uid: each.engine_id for each in shards if each.node == shard.node} for shard in shards}
    work = (_use(agents, node, ids, bdb_uid, password) for node, ids in nodes.items())
    replies = await asyncio.gather(*work, return_exceptions=True)
    reasons: dict[int, str] = {}
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
        reasons |= reply
    return reasons


async def _use(agents: Agents, node: NodeRef, uids: Mapping[int, str], bdb_uid: int, password: str) -> dict[int, str]:
    order = ChangePassword(bdb_uid=bdb_uid, engine_ids=list(uids.values()), password=password)
    try:
        results = await agents.change_password(node, order)
    except AgentBehind:
        raise
    except AgentError as error:
        return dict.fromkeys(uids, error.reason)
    told = {result.uid: "" if result.ok else result.reply for result in results}
    return {uid: told.get(uid, "its agent does not know it") for uid in uids if told.get(uid, "?")}
