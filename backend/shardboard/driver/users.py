"""People's users in the engines: who they are, what they may do, and bringing that to shards."""

import ast
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from shardboard.domain.acl_rules import RESERVED
from shardboard.driver.cluster import ShardRef, command
from shardboard.driver.ports import Agents


@dataclass(frozen=True)
class DataUser:
    """A user as every shard of a database should know it."""

    name: str
    password_sha256: str = field(repr=False)
    rules: tuple[str, ...]

    @property
    def order(self) -> tuple[str, ...]:
        """Replaces what the shard knew of the user, in one moment. Connections stay as they are logged in."""
        return ("ACL", "SETUSER", self.name, "reset", "on", f"#{self.password_sha256}", *self.rules)


@dataclass(frozen=True)
class Brought:
    """By uid of each shard that answered, the users that it knows now; and of those that refused something, what they said."""

    taken: Mapping[int, frozenset[DataUser]]
    refused: Mapping[int, str]


async def bring(
    agents: Agents,
    shards: Sequence[ShardRef],
    wanted: Collection[DataUser],
    known: Mapping[int, frozenset[DataUser]],
) -> Brought:
    """Let shards know these users and no others; `known` are those that a shard is known to have already."""
    told = await command(agents, shards, "ACL", "USERS")
    refused = {uid: result.reply for uid, result in told.items() if not result.ok}
    answering = [shard for shard in shards if shard.uid not in refused]
    taken: dict[int, set[DataUser]] = {}
    leaving: dict[tuple[str, ...], list[ShardRef]] = defaultdict(list)
    for shard in answering:
        names = _names(told[shard.uid].reply) - RESERVED
        taken[shard.uid] = {user for user in wanted if user.name in names and user in known.get(shard.uid, ())}
        if strays := sorted(names - {user.name for user in wanted}):
            leaving[*strays,].append(shard)
    changed: set[int] = set()
    for strays_, of in leaving.items():
        replies = await command(agents, of, "ACL", "DELUSER", *strays_)
        refused |= {uid: result.reply for uid, result in replies.items() if not result.ok}
        changed |= replies.keys()
    # One that a shard refuses, as it does not know a command of the rules, keeps no other from it.
    for user in sorted(wanted, key=lambda user: user.name):
        replies = await command(agents, [shard for shard in answering if user not in taken[shard.uid]], *user.order)
        refused |= {uid: result.reply for uid, result in replies.items() if not result.ok}
        for uid in (uid for uid, result in replies.items() if result.ok):
            taken[uid].add(user)
            changed.add(uid)
    if keeping := [shard for shard in answering if shard.uid in changed]:
        # So that they are there at once when it is started again.
        replies = await command(agents, keeping, "CONFIG", "REWRITE")
        refused |= {uid: result.reply for uid, result in replies.items() if not result.ok}
    return Brought({uid: frozenset(users) for uid, users in taken.items()}, refused)


def _names(reply: str) -> set[str]:
    """From the agent's words for a list of texts."""
    return {str(name) for name in ast.literal_eval(reply)}
