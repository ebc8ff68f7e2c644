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
    """Users by uid of the shard that has taken exactly these, and reasons by uid of those that have not."""

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
    orders: dict[tuple[str, ...], list[ShardRef]] = defaultdict(list)
    for shard in shards:
        if shard.uid in refused:
            continue
        names = _names(told[shard.uid].reply) - RESERVED
        if strays := sorted(names - {user.name for user in wanted}):
            orders["ACL", "DELUSER", *strays].append(shard)
        for user in wanted:
            if user.name not in names or user not in known.get(shard.uid, ()):
                orders[user.order].append(shard)
    changed: set[int] = set()
    for order, to in orders.items():
        replies = await command(agents, [shard for shard in to if shard.uid not in refused], *order)
        refused |= {uid: result.reply for uid, result in replies.items() if not result.ok}
        changed |= replies.keys()
    if keeping := [shard for shard in shards if shard.uid in changed and shard.uid not in refused]:
        # So that they are there at once when it is started again.
        replies = await command(agents, keeping, "CONFIG", "REWRITE")
        refused |= {uid: result.reply for uid, result in replies.items() if not result.ok}
    return Brought({shard.uid: frozenset(wanted) for shard in shards if shard.uid not in refused}, refused)


def _names(reply: str) -> set[str]:
    """From the agent's words for a list of texts."""
    return {str(name) for name in ast.literal_eval(reply)}
