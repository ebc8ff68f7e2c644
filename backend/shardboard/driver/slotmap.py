"""Who owns which hash slots, as the engines of a database say themselves, and which slots are between two owners."""

import asyncio
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.slots import SLOTS, Ranges, joined
from shardboard.driver.cluster import ShardRef, command
from shardboard.driver.ports import Agents
from shardboard.engine_text import ClusterLine, ClusterReader
from shardboard.errors import AgentRefused

PATIENCE = 5.0
"""Seconds that a node may take to answer."""

_STATE = re.compile(r"'state', '([^']*)'")
_ENDED = frozenset({"success", "failed", "cancelled", "canceled"})


@dataclass(frozen=True)
class OpenSlot:
    """A slot between two pairs: its keys may be at either."""

    slot: int
    source: int
    target: int


@dataclass(frozen=True)
class SlotMap:
    """What is known of all slots."""

    held: Mapping[int, Ranges]
    """By pair."""
    open: Sequence[OpenSlot]
    lost: Sequence[int]
    """Slots that nobody claims, or somebody who is not of this database."""
    astray: Sequence[int]
    """Uids of shards that see the slots with other owners, or did not answer."""


async def look(agents: Agents, shards: Sequence[ShardRef], asked: Sequence[ShardRef]) -> SlotMap:
    """Ask some or all of a database's shards. Raises AgentRefused when none of them answers."""
    replies = await command(agents, asked, "CLUSTER", "NODES", patience=PATIENCE)
    texts = {uid: result.reply for uid, result in replies.items() if result.ok}
    # In a thread: hundreds of views of hundreds of lines each would keep the event loop from hearing agents meanwhile.
    return await asyncio.to_thread(_summed_up, texts, shards, asked)


def _summed_up(texts: Mapping[int, str], shards: Sequence[ShardRef], asked: Sequence[ShardRef]) -> SlotMap:
    reader = ClusterReader()
    views = {uid: reader.read(text) for uid, text in texts.items()}
    if not any(views.values()):
        raise AgentRefused("no shard tells its view of the cluster")
    pairs = {shard.engine_id: shard.pair for shard in shards}
    own_ids = {shard.uid: shard.engine_id for shard in asked}
    own = {own_ids[uid]: lines[own_ids[uid]] for uid, lines in views.items() if own_ids[uid] in lines}
    owners = _owners(own, views)
    held: dict[int, list[tuple[int, int]]] = {pair: [] for pair in pairs.values()}
    lost: list[int] = []
    slot = 0
    for engine_id, run in itertools.groupby(owners):
        first, slot = slot, slot + sum(1 for _ in run)
        if engine_id in pairs:
            held[pairs[engine_id]].append((first, slot - 1))
        else:
            lost += range(first, slot)
    found = {pair: joined(tuple(runs)) for pair, runs in held.items()}
    return SlotMap(held=found, open=_open(own, owners, pairs), lost=lost, astray=_astray(views, asked, pairs, found))


async def moving(agents: Agents, primaries: Sequence[ShardRef]) -> list[int]:
    """Uids of those whose engines are moving slots in their own way, which CLUSTER NODES does not show."""
    replies = await command(agents, primaries, "CLUSTER", "GETSLOTMIGRATIONS", patience=PATIENCE)
    states = {uid: _STATE.findall(result.reply) for uid, result in replies.items() if result.ok}
    return [uid for uid, found in states.items() if set(found) - _ENDED]


async def unaware_hosts(agents: Agents, hosts: Sequence[ShardRef], newcomers: Sequence[ShardRef]) -> list[ShardRef]:
    """The hosts that do not know all newcomers, or did not answer."""
    replies = await command(agents, hosts, "CLUSTER", "NODES", patience=PATIENCE)
    wanted = {newcomer.engine_id for newcomer in newcomers}
    texts = {uid: result.reply for uid, result in replies.items() if result.ok}
    aware = await asyncio.to_thread(_aware, texts, wanted)
    return [host for host in hosts if host.uid not in aware]


def _aware(texts: Mapping[int, str], wanted: set[str]) -> set[int]:
    """Who knows all of them."""
    reader = ClusterReader()
    views = {uid: reader.read(text) for uid, text in texts.items()}
    return {uid for uid, lines in views.items() if all(id_ in lines and lines[id_].met for id_ in wanted)}


def _owners(own: Mapping[str, ClusterLine], views: Mapping[int, Mapping[str, ClusterLine]]) -> list[str]:
    """Engine id of each slot's owner, empty for none. What a shard says of its own slots counts before what others say of it, and
    then the newest epoch."""
    hearsay = [line for lines in views.values() for line in lines.values() if line.engine_id not in own and line.leads]
    owners = [""] * SLOTS
    for claims in (hearsay, [line for line in own.values() if line.leads]):
        for line in sorted(claims, key=lambda line: line.epoch):
            for first, last in line.slots:
                owners[first : last + 1] = [line.engine_id] * (last - first + 1)
    return owners


def _open(own: Mapping[str, ClusterLine], owners: Sequence[str], pairs: Mapping[str, int]) -> list[OpenSlot]:
    """Slots that some primary still has marked. The source is who owns a slot or, when the target does already, who gives."""
    found = set()
    for line in own.values():
        if not line.leads or line.engine_id not in pairs:
            continue
        for slot, other in line.leaving.items():
            if other in pairs:
                found.add(OpenSlot(slot, pairs[line.engine_id], pairs[other]))
        for slot, other in line.coming.items():
            source = owners[slot] or other
            if source in pairs and pairs[source] != pairs[line.engine_id]:
                found.add(OpenSlot(slot, pairs[source], pairs[line.engine_id]))
    return sorted(found, key=lambda each: (each.source, each.target, each.slot))


def _astray(
    views: Mapping[int, Mapping[str, ClusterLine]],
    asked: Sequence[ShardRef],
    pairs: Mapping[str, int],
    held: Mapping[int, Ranges],
) -> list[int]:
    """Those that see the slots with other owners, or did not answer. Views of the same lines are judged once."""
    true, judged, found = _filled(held), dict[frozenset[int], bool](), []
    for shard in asked:
        lines = views.get(shard.uid, {})
        leading = frozenset(id(line) for line in lines.values() if line.leads and line.slots)
        if leading not in judged:
            judged[leading] = _seen(lines, pairs) == true
        if not judged[leading]:
            found.append(shard.uid)
    return found


def _seen(lines: Mapping[str, ClusterLine], pairs: Mapping[str, int]) -> dict[int, Ranges]:
    """The slots by pair, as one shard sees them."""
    found: dict[int, Ranges] = {}
    for line in lines.values():
        if line.slots and line.leads and line.engine_id in pairs:
            found[pairs[line.engine_id]] = tuple(sorted((*found.get(pairs[line.engine_id], ()), *line.slots)))
    return found


def _filled(held: Mapping[int, Ranges]) -> dict[int, Ranges]:
    return {pair: ranges for pair, ranges in held.items() if ranges}
