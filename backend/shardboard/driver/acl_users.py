"""Engine users of applications: their definition, and its distribution to shards."""

import ast
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from shardboard.domain.access.acl_rules import RESERVED
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef, command

TIMEOUT_SECONDS = 5.0
"""Seconds for each command; limits how long a hanging node delays the others."""


@dataclass(frozen=True)
class DataUser:
    """A user that every shard of a database should have."""

    name: str
    passwords_sha256: tuple[str, ...] = field(repr=False)
    rules: tuple[str, ...]

    @property
    def command(self) -> tuple[str, ...]:
        """Command that atomically replaces the user. Existing connections stay authenticated."""
        return (
            "ACL",
            "SETUSER",
            self.name,
            "reset",
            "on",
            *(f"#{each}" for each in self.passwords_sha256),
            *self.rules,
        )


@dataclass(frozen=True)
class AppliedUsers:
    """The current users of each shard with a known state, by uid; and the error messages of shards that refused a command."""

    users_by_shard: Mapping[int, frozenset[DataUser]]
    refused: Mapping[int, str]


async def apply_users(
    agents: Agents,
    shards: Sequence[ShardRef],
    desired: Collection[DataUser],
    known: Mapping[int, frozenset[DataUser]],
) -> AppliedUsers:
    """Make shards have exactly these users; `known` are those that a shard is known to have already. Shards that do not respond get
    no further commands."""
    replies = await command(agents, shards, "ACL", "USERS", timeout=TIMEOUT_SECONDS)
    refused = {uid: result.reply for uid, result in replies.items() if not result.ok}
    taken: dict[int, set[DataUser]] = {}
    leaving: dict[tuple[str, ...], list[ShardRef]] = defaultdict(list)
    for shard in shards:
        if shard.uid in refused:
            continue
        names = _names(replies[shard.uid].reply) - RESERVED
        taken[shard.uid] = {user for user in desired if user.name in names and user in known.get(shard.uid, ())}
        if strays := sorted(names - {user.name for user in desired}):
            leaving[*strays,].append(shard)
    changed: set[int] = set()

    async def run(members: Sequence[ShardRef], *argv: str) -> set[int]:
        """Return the uids of shards that succeeded. Shards with an unknown result get all users again next time."""
        replies = await command(
            agents, [shard for shard in members if shard.uid in taken], *argv, timeout=TIMEOUT_SECONDS
        )
        failed = {uid: result.reply for uid, result in replies.items() if not result.ok}
        refused.update(failed)
        for uid, reason in failed.items():
            # A user that a shard rejects, because its rules contain an unknown command, does not prevent other users.
            if argv[1] != "SETUSER" or not reason.startswith("ERR"):
                del taken[uid]
        return replies.keys() - failed.keys()

    for names_, members in leaving.items():
        changed |= await run(members, "ACL", "DELUSER", *names_)
    for user in sorted(desired, key=lambda user: user.name):
        done = await run([shard for shard in shards if user not in taken.get(shard.uid, ())], *user.command)
        for uid in done:
            taken[uid].add(user)
        changed |= done
    # Store the users, so that a restarted shard has them immediately.
    await run([shard for shard in shards if shard.uid in changed], "CONFIG", "REWRITE")
    return AppliedUsers({uid: frozenset(users) for uid, users in taken.items()}, refused)


def _names(reply: str) -> set[str]:
    """Parse a list of texts in the agent's Python notation."""
    return {str(name) for name in ast.literal_eval(reply)}
