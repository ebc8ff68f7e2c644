"""Engine users of applications: their definition, and its distribution to shards."""

import ast
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from shardboard.contract import canary, flush_rules, known_rules, numbered_database_rules
from shardboard.domain.access.acl_rules import RESERVED, restricted
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef, by_engine_version, command

TIMEOUT_SECONDS = 5.0
"""Seconds for each command; limits how long a hanging node delays the others."""


@dataclass(frozen=True)
class DataUser:
    """A user that every shard of a database should have."""

    name: str
    passwords_sha256: tuple[str, ...] = field(repr=False)
    rules: tuple[str, ...]

    def command(self, engine_version: str) -> tuple[str, ...]:
        """Return the command that atomically replaces the user on a shard with this engine. Existing connections stay
        authenticated."""
        return (
            "ACL",
            "SETUSER",
            self.name,
            "reset",
            "on",
            *(f"#{each}" for each in self.passwords_sha256),
            *restricted(known_rules(self.rules, engine_version), numbered_database_rules(engine_version)),
            *flush_rules(self.rules, engine_version),
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
    failures = {uid: result.reply for uid, result in replies.items() if not result.ok}
    users_by_shard: dict[int, set[DataUser]] = {}
    leaving: dict[tuple[str, ...], list[ShardRef]] = defaultdict(list)
    for shard in shards:
        if shard.uid in failures:
            continue
        names = _names(replies[shard.uid].reply) - RESERVED
        users_by_shard[shard.uid] = {
            user for user in desired if user.name in names and user in known.get(shard.uid, ())
        }
        if surplus_names := sorted(names - {user.name for user in desired}):
            leaving[*surplus_names,].append(shard)
    changed: set[int] = set()

    async def run(members: Sequence[ShardRef], *argv: str) -> set[int]:
        """Return the uids of shards that succeeded. Shards with an unknown result get all users again next time."""
        replies = await command(
            agents, [shard for shard in members if shard.uid in users_by_shard], *argv, timeout=TIMEOUT_SECONDS
        )
        failed = {uid: result.reply for uid, result in replies.items() if not result.ok}
        failures.update(failed)
        for uid, reason in failed.items():
            # A user that a shard rejects, because its rules contain an unknown command, does not prevent other users.
            if argv[1] != "SETUSER" or not reason.startswith("ERR"):
                del users_by_shard[uid]
        return replies.keys() - failed.keys()

    for names_, members in leaving.items():
        changed |= await run(members, "ACL", "DELUSER", *names_)
    for user, (version, members) in product(
        sorted(desired, key=lambda user: user.name), by_engine_version(shards).items()
    ):
        applied = await run(
            [shard for shard in members if user not in users_by_shard.get(shard.uid, ())], *user.command(version)
        )
        for uid in applied:
            users_by_shard[uid].add(user)
        changed |= applied
    # Users lose CLUSTER NODES. On shards that an earlier release has started, proxies used it as these users.
    await run([shard for shard in shards if shard.uid in changed], *canary.USER_COMMAND)
    # Store the users, so that a restarted shard has them immediately.
    await run([shard for shard in shards if shard.uid in changed], "CONFIG", "REWRITE")
    return AppliedUsers({uid: frozenset(users) for uid, users in users_by_shard.items()}, failures)


def _names(reply: str) -> set[str]:
    """Parse a list of texts in the agent's Python notation."""
    return {str(name) for name in ast.literal_eval(reply)}
