"""Ownership of hash slots as reported by the engines of a database, including slots that are being moved."""

import asyncio
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.placement.slots import SLOTS, Ranges, joined
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef, command
from shardboard.errors import AgentRefused
from shardboard.valkey.replies import ClusterLine, ClusterReader

TIMEOUT_SECONDS = 5.0
"""Seconds that a node may take to respond."""

_STATE = re.compile(r"'state', '([^']*)'")
_FINAL_STATES = frozenset({"success", "failed", "cancelled", "canceled"})


@dataclass(frozen=True)
class OpenSlot:
    """A slot that is being moved between two pairs; its keys may be on either of them."""

    slot: int
    source: int
    target: int


@dataclass(frozen=True)
class SlotMap:
    """State of all slots."""

    slots_by_pair: Mapping[int, Ranges]
    """Slots by pair."""
    open: Sequence[OpenSlot]
    lost: Sequence[int]
    """Slots without an owner, or whose owner does not belong to this database."""
    disagreeing: Sequence[int]
    """Uids of shards that report other owners or did not respond."""


async def read_slot_map(agents: Agents, shards: Sequence[ShardRef], queried: Sequence[ShardRef]) -> SlotMap:
    """Query some or all shards of a database. Raises AgentRefused if none of them responds."""
    replies = await command(agents, queried, "CLUSTER", "NODES", timeout=TIMEOUT_SECONDS)
    view_texts = {uid: result.reply for uid, result in replies.items() if result.ok}
    # In a thread, because parsing hundreds of replies with hundreds of lines each would block the event loop.
    return await asyncio.to_thread(_summarize, view_texts, shards, queried)


def _summarize(texts: Mapping[int, str], shards: Sequence[ShardRef], queried: Sequence[ShardRef]) -> SlotMap:
    reader = ClusterReader()
    views = {uid: reader.read(text) for uid, text in texts.items()}
    if not any(views.values()):
        raise AgentRefused("no shard returned its view of the cluster")
    pairs = {shard.engine_id: shard.pair for shard in shards}
    own_ids = {shard.uid: shard.engine_id for shard in queried}
    own_lines = {own_ids[uid]: lines[own_ids[uid]] for uid, lines in views.items() if own_ids[uid] in lines}
    owners = _slot_owners(own_lines, views)
    ranges: dict[int, list[tuple[int, int]]] = {pair: [] for pair in pairs.values()}
    unassigned: list[int] = []
    slot = 0
    for engine_id, run in itertools.groupby(owners):
        first, slot = slot, slot + sum(1 for _ in run)
        if engine_id in pairs:
            ranges[pairs[engine_id]].append((first, slot - 1))
        else:
            unassigned += range(first, slot)
    joined_ranges = {pair: joined(tuple(runs)) for pair, runs in ranges.items()}
    return SlotMap(
        slots_by_pair=joined_ranges,
        open=_open(own_lines, owners, pairs),
        lost=unassigned,
        disagreeing=_disagreeing(views, queried, pairs, joined_ranges),
    )


async def moving(agents: Agents, primaries: Sequence[ShardRef]) -> list[int]:
    """Return the uids of primaries with a native slot migration in progress, which CLUSTER NODES does not show."""
    replies = await command(agents, primaries, "CLUSTER", "GETSLOTMIGRATIONS", timeout=TIMEOUT_SECONDS)
    states = {uid: _STATE.findall(result.reply) for uid, result in replies.items() if result.ok}
    return [uid for uid, slot_states in states.items() if set(slot_states) - _FINAL_STATES]


async def unaware_hosts(agents: Agents, hosts: Sequence[ShardRef], new_shards: Sequence[ShardRef]) -> list[ShardRef]:
    """Return the hosts that do not know all newcomers, or did not respond."""
    replies = await command(agents, hosts, "CLUSTER", "NODES", timeout=TIMEOUT_SECONDS)
    engine_ids = {new_shard.engine_id for new_shard in new_shards}
    view_texts = {uid: result.reply for uid, result in replies.items() if result.ok}
    aware_hosts = await asyncio.to_thread(_aware_uids, view_texts, engine_ids)
    return [host for host in hosts if host.uid not in aware_hosts]


def _aware_uids(texts: Mapping[int, str], engine_ids: set[str]) -> set[int]:
    """Return the shards that know all of these engine ids."""
    reader = ClusterReader()
    views = {uid: reader.read(text) for uid, text in texts.items()}
    return {uid for uid, lines in views.items() if all(id_ in lines and lines[id_].is_known for id_ in engine_ids)}


def _slot_owners(own: Mapping[str, ClusterLine], views: Mapping[int, Mapping[str, ClusterLine]]) -> list[str]:
    """Return the engine id of each slot's owner, empty for none. The report of a shard about its own slots takes precedence over
    reports of others, and a newer epoch over an older one."""
    indirect = [
        line for lines in views.values() for line in lines.values() if line.engine_id not in own and line.is_primary
    ]
    owners = [""] * SLOTS
    for claims in (indirect, [line for line in own.values() if line.is_primary]):
        for line in sorted(claims, key=lambda line: line.epoch):
            for first, last in line.slots:
                owners[first : last + 1] = [line.engine_id] * (last - first + 1)
    return owners


def _open(own: Mapping[str, ClusterLine], owners: Sequence[str], pairs: Mapping[str, int]) -> list[OpenSlot]:
    """Return slots that a primary has marked as moving. The source is the owner or, if the target is the owner, the sender."""
    open_slots = set()
    for line in own.values():
        if not line.is_primary or line.engine_id not in pairs:
            continue
        for slot, other in line.migrating.items():
            if other in pairs:
                open_slots.add(OpenSlot(slot, pairs[line.engine_id], pairs[other]))
        for slot, other in line.importing.items():
            source = owners[slot] or other
            if source in pairs and pairs[source] != pairs[line.engine_id]:
                open_slots.add(OpenSlot(slot, pairs[source], pairs[line.engine_id]))
    return sorted(open_slots, key=lambda each: (each.source, each.target, each.slot))


def _disagreeing(
    views: Mapping[int, Mapping[str, ClusterLine]],
    queried: Sequence[ShardRef],
    pairs: Mapping[str, int],
    slots_by_pair: Mapping[int, Ranges],
) -> list[int]:
    """Return shards that report other owners or did not respond. Identical views are checked once."""
    true, verdicts, disagreeing = _filled(slots_by_pair), dict[frozenset[int], bool](), []
    for shard in queried:
        lines = views.get(shard.uid, {})
        primary_lines = frozenset(id(line) for line in lines.values() if line.is_primary and line.slots)
        if primary_lines not in verdicts:
            verdicts[primary_lines] = _ranges_by_pair(lines, pairs) == true
        if not verdicts[primary_lines]:
            disagreeing.append(shard.uid)
    return disagreeing


def _ranges_by_pair(lines: Mapping[str, ClusterLine], pairs: Mapping[str, int]) -> dict[int, Ranges]:
    """Return the slots by pair in the view of one shard."""
    ranges_by_pair: dict[int, Ranges] = {}
    for line in lines.values():
        if line.slots and line.is_primary and line.engine_id in pairs:
            ranges_by_pair[pairs[line.engine_id]] = tuple(
                sorted((*ranges_by_pair.get(pairs[line.engine_id], ()), *line.slots))
            )
    return ranges_by_pair


def _filled(slots_by_pair: Mapping[int, Ranges]) -> dict[int, Ranges]:
    return {pair: ranges for pair, ranges in slots_by_pair.items() if ranges}
