"""People's users in the engines: who they are, what they may do, and bringing that to shards."""

import ast
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from shardboard.domain.acl_rules import RESERVED
from shardboard.driver.cluster import ShardRef, command
from shardboard.driver.ports import Agents

PATIENCE = 5.0
"""Seconds for each order: a node that hangs keeps the others waiting no longer."""


@dataclass(frozen=True)
class DataUser:
    """A user as every shard of a database should know it."""

    name: str
    passwords_sha256: tuple[str, ...] = field(repr=False)
    rules: tuple[str, ...]

    @property
    def order(self) -> tuple[str, ...]:
        """Replaces what the shard knew of the user, in one moment. Connections stay as they are logged in."""
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
class Brought:
    """By uid of each shard that is sure to know them, its users now; and of those that refused something, what they said."""

    taken: Mapping[int, frozenset[DataUser]]
    refused: Mapping[int, str]


async def bring(
    agents: Agents,
    shards: Sequence[ShardRef],
    wanted: Collection[DataUser],
    known: Mapping[int, frozenset[DataUser]],
) -> Brought:
    """Let shards know these users and no others; `known` are those that a shard is known to have already. Shards that do not answer
    are asked no more."""
    told = await command(agents, shards, "ACL", "USERS", patience=PATIENCE)
    refused = {uid: result.reply for uid, result in told.items() if not result.ok}
    taken: dict[int, set[DataUser]] = {}
    leaving: dict[tuple[str, ...], list[ShardRef]] = defaultdict(list)
    for shard in shards:
        if shard.uid in refused:
            continue
        names = _names(told[shard.uid].reply) - RESERVED
        taken[shard.uid] = {user for user in wanted if user.name in names and user in known.get(shard.uid, ())}
        if strays := sorted(names - {user.name for user in wanted}):
            leaving[*strays,].append(shard)
    changed: set[int] = set()

    async def order(of: Sequence[ShardRef], *argv: str) -> set[int]:
        """Uids of those that did it. One that is not told, or not sure to keep it, is told all again."""
        replies = await command(agents, [shard for shard in of if shard.uid in taken], *argv, patience=PATIENCE)
        failed = {uid: result.reply for uid, result in replies.items() if not result.ok}
        refused.update(failed)
        for uid, reason in failed.items():
            # A user whom a shard refuses, as it does not know a command of the rules, keeps no other from it.
            if argv[1] != "SETUSER" or not reason.startswith("ERR"):
                del taken[uid]
        return replies.keys() - failed.keys()

    for names_, of in leaving.items():
        changed |= await order(of, "ACL", "DELUSER", *names_)
    for user in sorted(wanted, key=lambda user: user.name):
        done = await order([shard for shard in shards if user not in taken.get(shard.uid, ())], *user.order)
        for uid in done:
            taken[uid].add(user)
        changed |= done
    # So that they are there at once when it is started again.
    await order([shard for shard in shards if shard.uid in changed], "CONFIG", "REWRITE")
    return Brought({uid: frozenset(users) for uid, users in taken.items()}, refused)


def _names(reply: str) -> set[str]:
    """From the agent's words for a list of texts."""
    return {str(name) for name in ast.literal_eval(reply)}
