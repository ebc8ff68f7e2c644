"""Change of the password of the engine user `shardboard`, in three idempotent steps. Shards receive only its hash."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence

from shardboard.domain.access.acl_rules import CONSOLE
from shardboard.driver.interfaces import Agents, ChangePassword, NodeRef, canary
from shardboard.driver.valkey_cluster import ShardRef, command
from shardboard.errors import AgentError, AgentOutdated

TIMEOUT_SECONDS = 15.0


async def add_password(agents: Agents, shards: Sequence[ShardRef], password: str) -> dict[int, str]:
    """Add a password to the valid ones. Return error messages by uid of the shards that refused."""
    return await _set_password(agents, shards, password)


async def remove_other_passwords(agents: Agents, shards: Sequence[ShardRef], password: str) -> dict[int, str]:
    """Make this the only valid password; connections stay open. Return error messages by uid of the shards that refused."""
    return await _set_password(agents, shards, password, "resetpass")


async def _set_password(agents: Agents, shards: Sequence[ShardRef], password: str, *before: str) -> dict[int, str]:
    passwords = {CONSOLE: password, canary.USER: canary.derive_password(password)}
    commands = [
        ("ACL", "SETUSER", user, *before, "#" + hashlib.sha256(each.encode()).hexdigest())
        for user, each in passwords.items()
    ]
    for argv in (*commands, ("CONFIG", "REWRITE")):
        replies = await command(agents, shards, *argv, timeout=TIMEOUT_SECONDS)
        if failures := {uid: result.reply for uid, result in replies.items() if not result.ok}:
            return failures
    return {}


async def use_password(agents: Agents, shards: Sequence[ShardRef], bdb_uid: int, password: str) -> dict[int, str]:
    """Make agents use the password with their shards, and replicas with their primaries. Return error messages by uid of the shards
    where this failed. Raises AgentBehind if the release of an agent does not support it."""
    nodes = {shard.node: {each.uid: each.engine_id for each in shards if each.node == shard.node} for shard in shards}
    work = (_use_password(agents, node, ids, bdb_uid, password) for node, ids in nodes.items())
    replies = await asyncio.gather(*work, return_exceptions=True)
    reasons: dict[int, str] = {}
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
        reasons |= reply
    return reasons


async def _use_password(
    agents: Agents, node: NodeRef, uids: Mapping[int, str], bdb_uid: int, password: str
) -> dict[int, str]:
    request = ChangePassword(bdb_uid=bdb_uid, engine_ids=list(uids.values()), password=password)
    try:
        results = await agents.change_password(node, request)
    except AgentOutdated:
        raise
    except AgentError as error:
        return dict.fromkeys(uids, error.reason)
    replies = {result.uid: "" if result.ok else result.reply for result in results}
    return {uid: replies.get(uid, "its agent does not have this shard") for uid in uids if replies.get(uid, "?")}
