"""Planned failover: promotion of a replica while its primary is up, with a bound on the time for which writes are paused.

The primary pauses writes until the failover is over, by default for up to 5 s. Therefore both replica and primary get a shorter
time limit for the failover. Engines older than 8.1 do not support this limit. With these, a replica that gets no votes is promoted
with TAKEOVER while the primary still pauses writes and after the replica has received all of them.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shardboard.contract import CommandResult
from shardboard.domain.placement import planned_failover as rules
from shardboard.domain.placement.planned_failover import ReplicationState
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef, command, engine_timings
from shardboard.valkey.replies import info_fields, info_number

TIMEOUT_SECONDS = 1.5
"""Seconds that a node may take to respond."""
POLL_SECONDS = 0.005
"""Interval between two polls of the role."""
VOTE_SECONDS = 0.3
"""How long to wait for a failover; it takes some hundredths of a second if nothing is wrong."""
SETTING = "cluster-manual-failover-timeout"
ENGINE_MS = int(rules.ENGINE_SECONDS * 1000)
ALONE_MS = 400
"""The time limit outside of cluster mode."""
ACK_SECONDS, AHEAD_SECONDS = 1.0, 0.2
"""Interval at which a replica acknowledges, and how long before the next acknowledgement a failover is requested."""
HOLD_MS = 3000
"""Maximum time for which a primary pauses writes during a TAKEOVER; it is resumed much earlier."""
CATCH_UP_SECONDS = 0.1
"""Maximum time for the last writes to reach the replica."""


@dataclass(frozen=True)
class AttemptResult:
    """Result of one attempt."""

    succeeded: bool
    seconds: float
    reason: str = ""
    """Why it failed."""
    bounded: bool = True
    """Whether the engine accepted the time limits."""


async def read_state(agents: Agents, replica: ShardRef, old: ShardRef, voters: Sequence[ShardRef]) -> ReplicationState:
    """Return the state of both shards. `voters` are the primaries with slots; none outside of cluster mode."""
    links, states = await asyncio.gather(
        command(agents, (replica, old), "INFO", "replication", timeout=TIMEOUT_SECONDS),
        command(agents, (replica, *voters) if voters else (), "CLUSTER", "INFO", timeout=TIMEOUT_SECONDS),
    )
    info, primary_info = info_fields(_text(links.get(replica.uid))), info_fields(_text(links.get(old.uid)))
    epochs = {
        uid: info_number(info_fields(result.reply), "cluster_current_epoch")
        for uid, result in states.items()
        if result.ok
    }
    return ReplicationState(
        answers=bool(info and primary_info),
        is_primary=info.get("role") == ShardRole.PRIMARY,
        linked=info.get("master_link_status") == "up" and primary_info.get("role") == ShardRole.PRIMARY,
        lag_bytes=max(0, info_number(primary_info, "master_repl_offset") - info_number(info, "slave_repl_offset")),
        epoch=epochs.pop(replica.uid, 0),
        epochs=epochs,
        voters=len(voters),
    )


async def attempt(
    agents: Agents, replica: ShardRef, old: ShardRef, *, cluster: bool, shards: int, force: bool = False
) -> AttemptResult:
    """Request a failover once and wait until it succeeds or fails. `shards` is the number of shards of the database."""
    if cluster:
        return await _elected(agents, replica, old, shards=shards, force=force)
    if not force:
        await _wait_until_caught_up(agents, replica, old)
    address = (replica.node.addr, str(replica.port))
    argv = ["FAILOVER", "TO", *address, "TIMEOUT", str(ALONE_MS), *(["FORCE"] if force else [])]
    start = _now()
    reason = _refusal(await command(agents, [old], *argv, timeout=TIMEOUT_SECONDS), old)
    if reason or await _wait_for_role(agents, replica, "role:master", VOTE_SECONDS + ALONE_MS / 1000):
        return AttemptResult(not reason, _now() - start, reason)
    await command(
        agents, [old], "FAILOVER", "ABORT", timeout=TIMEOUT_SECONDS
    )  # so that the primary stops waiting for it
    return AttemptResult(False, _now() - start, rules.failure_reason(caught_up=False, seconds=_now() - start))


async def _wait_until_caught_up(agents: Agents, replica: ShardRef, old: ShardRef) -> None:
    """Wait for the best time to request a failover. Outside of cluster mode writes are paused until the replica has acknowledged
    the last of them, which it does once per second. The best time is shortly before, most of a second after an acknowledgement."""
    deadline = _now() + ACK_SECONDS + VOTE_SECONDS
    first: int | None = None
    while True:
        info = _text((await command(agents, [old], "INFO", "replication", timeout=TIMEOUT_SECONDS)).get(old.uid))
        acknowledged = _acknowledged(info, replica)
        if acknowledged is None or acknowledged == info_number(info_fields(info), "master_repl_offset"):
            return  # there are no writes, or the offset is unknown
        if first is not None and acknowledged != first:
            await asyncio.sleep(ACK_SECONDS - AHEAD_SECONDS)
            return
        if _now() > deadline:
            return
        first = acknowledged
        await asyncio.sleep(POLL_SECONDS)


async def _elected(agents: Agents, replica: ShardRef, old: ShardRef, *, shards: int, force: bool) -> AttemptResult:
    limits = rules.limits(engine_timings(shards).hz)
    bounded = await _set_limits(agents, (replica, limits.replica), (old, limits.primary))
    try:
        start = _now()
        argv = ("CLUSTER", "FAILOVER", "FORCE") if force else ("CLUSTER", "FAILOVER")
        reason = _refusal(await command(agents, [replica], *argv, timeout=TIMEOUT_SECONDS), replica)
        if reason:
            return AttemptResult(False, _now() - start, reason, bounded)
        vote_timeout = VOTE_SECONDS + limits.late / 1000 if bounded else VOTE_SECONDS / 2
        promoted = await _wait_for_role(agents, replica, "role:master", vote_timeout)
        if not promoted and not bounded and not force:
            promoted = await _take_over(agents, replica, old)
        seconds = _now() - start
        if promoted:
            return AttemptResult(True, seconds, bounded=bounded)
        state = await read_state(agents, replica, old, ())
        return AttemptResult(
            state.is_primary,
            seconds,
            rules.failure_reason(caught_up=state.lag_bytes <= rules.FAR_BEHIND, seconds=seconds),
            bounded,
        )
    finally:
        # The setting also limits how long slot moves may pause writes, and these need longer.
        await _set_limits(agents, (replica, ENGINE_MS), (old, ENGINE_MS))


async def _set_limits(agents: Agents, *limits: tuple[ShardRef, int]) -> bool:
    """Set the time limits; return False if the engine does not support them."""
    requests = [
        command(agents, [shard], "CONFIG", "SET", SETTING, str(milliseconds), timeout=TIMEOUT_SECONDS)
        for shard, milliseconds in limits
    ]
    return all(result.ok for results in await asyncio.gather(*requests) for result in results.values())


async def _wait_for_role(agents: Agents, shard: ShardRef, role: str, timeout: float) -> bool:
    """Wait until the shard reports the role; return False if it does not within `patience` seconds."""
    deadline = _now() + timeout
    while True:
        replies = await command(agents, [shard], "INFO", "replication", timeout=TIMEOUT_SECONDS)
        if role in _text(replies.get(shard.uid)):
            return True
        if _now() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)


async def _take_over(agents: Agents, replica: ShardRef, old: ShardRef) -> bool:
    """Promote the replica without votes. The primary pauses writes before the replica has received all of them, and until it knows
    that it is no longer the primary. Therefore no acknowledged write can be lost."""
    if _refusal(await command(agents, [old], "CLIENT", "PAUSE", str(HOLD_MS), "WRITE", timeout=TIMEOUT_SECONDS), old):
        return False
    is_requested = promoted = False
    if await _has_all_data(agents, replica, old):
        is_requested = True
        await command(agents, [replica], "CLUSTER", "FAILOVER", "TAKEOVER", timeout=TIMEOUT_SECONDS)
        promoted = await _wait_for_role(agents, replica, "role:master", VOTE_SECONDS)
    # If the promotion was requested but is not visible, it may still take effect. The pause then ends when it expires.
    if not is_requested or await _wait_for_role(agents, old, "role:slave", VOTE_SECONDS):
        await command(agents, [old], "CLIENT", "UNPAUSE", timeout=TIMEOUT_SECONDS)
    return promoted


async def _has_all_data(agents: Agents, replica: ShardRef, old: ShardRef) -> bool:
    deadline = _now() + CATCH_UP_SECONDS
    while True:
        state = await read_state(agents, replica, old, ())
        if state.linked and not state.lag_bytes:
            return True
        if _now() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)


def _refusal(results: dict[int, CommandResult], shard: ShardRef) -> str:
    result = results[shard.uid]
    return "" if result.ok else f"the engine rejected the request: {result.reply}"


def _acknowledged(info: str, replica: ShardRef) -> int | None:
    """Return the offset of the primary's writes that a replica has acknowledged, as reported by the primary."""
    acknowledged = re.search(
        rf"^slave\d+:ip={re.escape(replica.node.addr)},port={replica.port},.*\boffset=(\d+)", info, re.MULTILINE
    )
    return int(acknowledged[1]) if acknowledged else None


def _text(result: CommandResult | None) -> str:
    return result.reply if result is not None and result.ok else ""


def _now() -> float:
    return asyncio.get_running_loop().time()
