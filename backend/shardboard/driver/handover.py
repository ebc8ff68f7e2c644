"""The one place that orders a living primary's role to its replica, and sees to it that writes are not held back for long.

Until it is over the primary holds writes back: for 5 s at worst, if the engine is left to itself. So replica and primary are given
a limit for the time of the order. An engine older than 8.1 knows none; there, a replica that gets no votes is told to take over,
while the primary still holds writes back and once the replica has everything.
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
from shardboard.engine_text import info_fields, info_number

PATIENCE = 1.5
"""Seconds that a node may take to answer."""
LOOK_SECONDS = 0.005
"""Between two looks at who leads."""
VOTE_SECONDS = 0.3
"""How long an order is waited for; it takes some hundredths of a second where nothing is wrong."""
SETTING = "cluster-manual-failover-timeout"
ENGINE_MS = int(rules.ENGINE_SECONDS * 1000)
ALONE_MS = 400
"""The limit outside cluster mode."""
ACK_SECONDS, AHEAD_SECONDS = 1.0, 0.2
"""How often a replica acknowledges, and how long before the next time an order goes out."""
HOLD_MS = 3000
"""For how long a primary is told to hold writes back while its replica is told to take over; it is told to go on much earlier."""
CATCH_UP_SECONDS = 0.1
"""How long the last of what was written may take to its replica."""


@dataclass(frozen=True)
class Try:
    """What became of an order."""

    led: bool
    seconds: float
    reason: str = ""
    """Why not."""
    bounded: bool = True
    """Whether the engine took the limits."""


async def look(agents: Agents, replica: ShardRef, old: ShardRef, voters: Sequence[ShardRef]) -> Stand:
    """`voters` are the primaries that hold slots; none outside cluster mode."""
    links, states = await asyncio.gather(
        command(agents, (replica, old), "INFO", "replication", patience=PATIENCE),
        command(agents, (replica, *voters) if voters else (), "CLUSTER", "INFO", patience=PATIENCE),
    )
    told, leading = info_fields(_text(links.get(replica.uid))), info_fields(_text(links.get(old.uid)))
    epochs = {
        uid: info_number(info_fields(result.reply), "cluster_current_epoch")
        for uid, result in states.items()
        if result.ok
    }
    return Stand(
        answers=bool(told and leading),
        leads=told.get("role") == "master",
        linked=told.get("master_link_status") == "up" and leading.get("role") == "master",
        behind=max(0, info_number(leading, "master_repl_offset") - info_number(told, "slave_repl_offset")),
        epoch=epochs.pop(replica.uid, 0),
        epochs=epochs,
        voters=len(voters),
    )


async def attempt(
    agents: Agents, replica: ShardRef, old: ShardRef, *, cluster: bool, shards: int, force: bool = False
) -> Try:
    """Order it once and wait until it is done or given up. `shards`: how many the database has."""
    if cluster:
        return await _elected(agents, replica, old, shards=shards, force=force)
    if not force:
        await _await_turn(agents, replica, old)
    address = (replica.node.addr, str(replica.port))
    argv = ["FAILOVER", "TO", *address, "TIMEOUT", str(ALONE_MS), *(["FORCE"] if force else [])]
    began = _now()
    refused = _refusal(await command(agents, [old], *argv, patience=PATIENCE), old)
    if refused or await _answers(agents, replica, "role:master", VOTE_SECONDS + ALONE_MS / 1000):
        return Try(not refused, _now() - began, refused)
    await command(agents, [old], "FAILOVER", "ABORT", patience=PATIENCE)  # nobody is to wait for it any more
    return Try(False, _now() - began, rules.why(caught_up=False, seconds=_now() - began))


async def _await_turn(agents: Agents, replica: ShardRef, old: ShardRef) -> None:
    """Outside cluster mode writes are held back until the replica has acknowledged the last of them, which it does once a second.
    So the order goes out shortly before: when an acknowledgement was seen to come in, most of a second later."""
    deadline = _now() + ACK_SECONDS + VOTE_SECONDS
    first: int | None = None
    while True:
        told = _text((await command(agents, [old], "INFO", "replication", patience=PATIENCE)).get(old.uid))
        acknowledged = _acknowledged(told, replica)
        if acknowledged is None or acknowledged == info_number(info_fields(told), "master_repl_offset"):
            return  # nothing is written, or nothing is known
        if first is not None and acknowledged != first:
            await asyncio.sleep(ACK_SECONDS - AHEAD_SECONDS)
            return
        if _now() > deadline:
            return
        first = acknowledged
        await asyncio.sleep(LOOK_SECONDS)


async def _elected(agents: Agents, replica: ShardRef, old: ShardRef, *, shards: int, force: bool) -> Try:
    limits = rules.limits(rhythm(shards).hz)
    bounded = await _limit(agents, (replica, limits.replica), (old, limits.primary))
    try:
        began = _now()
        order = ("CLUSTER", "FAILOVER", "FORCE") if force else ("CLUSTER", "FAILOVER")
        refused = _refusal(await command(agents, [replica], *order, patience=PATIENCE), replica)
        if refused:
            return Try(False, _now() - began, refused, bounded)
        patience = VOTE_SECONDS + limits.late / 1000 if bounded else VOTE_SECONDS / 2
        led = await _answers(agents, replica, "role:master", patience)
        if not led and not bounded and not force:
            led = await _take_over(agents, replica, old)
        seconds = _now() - began
        if led:
            return Try(True, seconds, bounded=bounded)
        stand = await look(agents, replica, old, ())
        return Try(
            stand.leads, seconds, rules.why(caught_up=stand.behind <= rules.FAR_BEHIND, seconds=seconds), bounded
        )
    finally:
        # Slots that move are held back by the same setting, and need longer.
        await _limit(agents, (replica, ENGINE_MS), (old, ENGINE_MS))


async def _limit(agents: Agents, *given: tuple[ShardRef, int]) -> bool:
    """False when the engine knows no limit."""
    orders = [
        command(agents, [shard], "CONFIG", "SET", SETTING, str(milliseconds), patience=PATIENCE)
        for shard, milliseconds in given
    ]
    return all(result.ok for results in await asyncio.gather(*orders) for result in results.values())


async def _answers(agents: Agents, shard: ShardRef, role: str, patience: float) -> bool:
    """Wait until it says that it has the role."""
    deadline = _now() + patience
    while True:
        replies = await command(agents, [shard], "INFO", "replication", patience=PATIENCE)
        if role in _text(replies.get(shard.uid)):
            return True
        if _now() > deadline:
            return False
        await asyncio.sleep(LOOK_SECONDS)


async def _take_over(agents: Agents, replica: ShardRef, old: ShardRef) -> bool:
    """Have the replica lead without votes. The primary holds writes back from before the replica is seen to have all of them until
    it has heard that it leads no more: nothing that it acknowledged can be lost."""
    if _refusal(await command(agents, [old], "CLIENT", "PAUSE", str(HOLD_MS), "WRITE", patience=PATIENCE), old):
        return False
    is_told = led = False
    if await _has_all(agents, replica, old):
        is_told = True
        await command(agents, [replica], "CLUSTER", "FAILOVER", "TAKEOVER", patience=PATIENCE)
        led = await _answers(agents, replica, "role:master", VOTE_SECONDS)
    # A replica that was told and is not seen to lead may do so yet: then the pause ends by itself.
    if not is_told or await _answers(agents, old, "role:slave", VOTE_SECONDS):
        await command(agents, [old], "CLIENT", "UNPAUSE", patience=PATIENCE)
    return led


async def _has_all(agents: Agents, replica: ShardRef, old: ShardRef) -> bool:
    deadline = _now() + CATCH_UP_SECONDS
    while True:
        stand = await look(agents, replica, old, ())
        if stand.linked and not stand.behind:
            return True
        if _now() > deadline:
            return False
        await asyncio.sleep(LOOK_SECONDS)


def _refusal(results: dict[int, CommandResult], shard: ShardRef) -> str:
    result = results[shard.uid]
    return "" if result.ok else f"the engine refused: {result.reply}"


def _acknowledged(info: str, replica: ShardRef) -> int | None:
    """Up to where a replica has acknowledged its primary's writes, as the primary tells."""
    found = re.search(
        rf"^slave\d+:ip={re.escape(replica.node.addr)},port={replica.port},.*\boffset=(\d+)", info, re.MULTILINE
    )
    return int(found[1]) if found else None


def _text(result: CommandResult | None) -> str:
    return result.reply if result is not None and result.ok else ""


def _now() -> float:
    return asyncio.get_running_loop().time()
