"""The one place that orders a living primary's role to its replica, and sees to it that writes are not held back for long.

Until it is over the primary holds writes back: for 5 s at worst, if the engine is left to itself. So heir and primary are given a
limit for the time of the order. An engine older than 8.1 knows none; there, an heir that has everything and gets no votes is told
to take over, while the primary still holds writes back.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shardboard.agent.contract import CommandResult
from shardboard.domain import handover as rules
from shardboard.domain.handover import Stand
from shardboard.driver.cluster import ShardRef, command, rhythm
from shardboard.driver.ports import Agents

PATIENCE = 1.5
"""Seconds that a node may take to answer."""
LOOK_SECONDS = 0.005
"""Between two looks at who leads."""
VOTE_SECONDS = 0.3
"""How long an order is waited for; it takes some hundredths of a second where nothing is wrong."""
SETTING = "cluster-manual-failover-timeout"
ENGINE_MS = int(rules.ENGINE_SECONDS * 1000)
ALONE_MS = 350
"""The limit outside cluster mode."""
TIME_TO_TELL_MS = 1000
"""How much longer a primary has to hold writes back for its heir to be told to take over."""


@dataclass(frozen=True)
class Try:
    """What became of an order."""

    led: bool
    seconds: float
    reason: str = ""
    """Why not."""
    bounded: bool = True
    """Whether the engine took the limits."""


async def look(agents: Agents, heir: ShardRef, old: ShardRef, voters: Sequence[ShardRef]) -> Stand:
    """`voters` are the primaries that hold slots; none outside cluster mode."""
    links, states = await asyncio.gather(
        command(agents, (heir, old), "INFO", "replication", patience=PATIENCE),
        command(agents, (heir, *voters) if voters else (), "CLUSTER", "INFO", patience=PATIENCE),
    )
    told, leading = _text(links.get(heir.uid)), _text(links.get(old.uid))
    epochs = {uid: _number("cluster_current_epoch", result.reply) for uid, result in states.items() if result.ok}
    return Stand(
        answers=bool(told and leading),
        leads="role:master" in told,
        linked="master_link_status:up" in told and "role:master" in leading,
        behind=max(0, _number("master_repl_offset", leading) - _number("slave_repl_offset", told)),
        epoch=epochs.pop(heir.uid, 0),
        epochs=epochs,
        voters=len(voters),
    )


async def attempt(
    agents: Agents, heir: ShardRef, old: ShardRef, *, cluster: bool, shards: int, force: bool = False
) -> Try:
    """Order it once and wait until it is done or given up. `shards`: how many the database has."""
    if cluster:
        return await _elected(agents, heir, old, shards=shards, force=force)
    argv = ["FAILOVER", "TO", heir.node.addr, str(heir.port), "TIMEOUT", str(ALONE_MS), *(["FORCE"] if force else [])]
    began = _now()
    refused = _refusal(await command(agents, [old], *argv, patience=PATIENCE), old)
    if refused or await _leads(agents, heir, VOTE_SECONDS + ALONE_MS / 1000):
        return Try(not refused, _now() - began, refused)
    await command(agents, [old], "FAILOVER", "ABORT", patience=PATIENCE)  # nobody is to wait for it any more
    return Try(False, _now() - began, rules.why(caught_up=False, seconds=_now() - began))


async def _elected(agents: Agents, heir: ShardRef, old: ShardRef, *, shards: int, force: bool) -> Try:
    limits = rules.limits(rhythm(shards).hz)
    bounded = await _limit(agents, (heir, limits.heir), (old, limits.primary))
    try:
        began = _now()
        order = ("CLUSTER", "FAILOVER", "FORCE") if force else ("CLUSTER", "FAILOVER")
        refused = _refusal(await command(agents, [heir], *order, patience=PATIENCE), heir)
        if refused:
            return Try(False, _now() - began, refused, bounded)
        led = await _leads(agents, heir, VOTE_SECONDS + limits.late / 1000)
        if not led and not bounded and await _only_votes_are_missing(agents, heir, old):
            await command(agents, [heir], "CLUSTER", "FAILOVER", "TAKEOVER", patience=PATIENCE)
            led = await _leads(agents, heir, VOTE_SECONDS)
        seconds = _now() - began
        if led:
            return Try(True, seconds, bounded=bounded)
        stand = await look(agents, heir, old, ())
        return Try(
            stand.leads, seconds, rules.why(caught_up=stand.behind <= rules.FAR_BEHIND, seconds=seconds), bounded
        )
    finally:
        # Slots that move are held back by the same setting, and need longer.
        await _limit(agents, (heir, ENGINE_MS), (old, ENGINE_MS))


async def _limit(agents: Agents, *given: tuple[ShardRef, int]) -> bool:
    """False when the engine knows no limit."""
    orders = [
        command(agents, [shard], "CONFIG", "SET", SETTING, str(milliseconds), patience=PATIENCE)
        for shard, milliseconds in given
    ]
    return all(result.ok for results in await asyncio.gather(*orders) for result in results.values())


async def _leads(agents: Agents, heir: ShardRef, patience: float) -> bool:
    deadline = _now() + patience
    while True:
        replies = await command(agents, [heir], "INFO", "replication", patience=PATIENCE)
        if "role:master" in _text(replies.get(heir.uid)):
            return True
        if _now() > deadline:
            return False
        await asyncio.sleep(LOOK_SECONDS)


async def _only_votes_are_missing(agents: Agents, heir: ShardRef, old: ShardRef) -> bool:
    """The primary holds writes back, and will for a while, and the heir has all that was written before."""
    held = _text((await command(agents, [old], "INFO", "clients", patience=PATIENCE)).get(old.uid))
    if "paused_reason:failover_in_progress" not in held:
        return False
    if _number("paused_timeout_milliseconds", held) < TIME_TO_TELL_MS:
        return False
    stand = await look(agents, heir, old, ())
    return stand.linked and not stand.behind


def _refusal(results: dict[int, CommandResult], shard: ShardRef) -> str:
    result = results[shard.uid]
    return "" if result.ok else f"the engine refused: {result.reply}"


def _text(result: CommandResult | None) -> str:
    return result.reply if result is not None and result.ok else ""


def _number(name: str, text: str) -> int:
    found = re.search(rf"^{name}:(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def _now() -> float:
    return asyncio.get_running_loop().time()
