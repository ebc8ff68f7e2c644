"""Differences between the stored shards of a database and those that agents and engines report, and the plan of their repair.

The store can be older than the database, because it was restored from a backup, and a node can have lost its files.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from shardboard.domain.placement import slots
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.placement.slots import SLOTS, Ranges
from shardboard.domain.text import plural

ALL_SLOTS: Ranges = ((0, SLOTS - 1),)
"""Slots of the only pair of a database outside cluster mode."""


class StoredShard(Protocol):
    """Row of a shard."""

    @property
    def uid(self) -> int: ...
    @property
    def node_uid(self) -> int: ...
    @property
    def pair(self) -> int: ...
    @property
    def engine_id(self) -> str: ...
    @property
    def slots(self) -> str: ...


@dataclass(frozen=True)
class Member:
    """A shard that the store does not contain and that has proved to belong to the database."""

    uid: int
    node_uid: int
    engine_id: str
    port: int
    bus_port: int
    role: str
    primary: str
    """Engine id of the primary of a replica; otherwise empty."""
    slots: str


@dataclass(frozen=True)
class StoreMismatch:
    """Differences of one database. Without any, the store is up to date."""

    missing: tuple[int, ...] = ()
    """Uids of stored shards that their reachable agents do not have."""
    members: tuple[Member, ...] = ()
    """Shards of the database without a row."""
    unresolved: tuple[tuple[int, int], ...] = ()
    """Node and uid of shards without a row that have the uid of the database and have not proved to belong to it."""
    slots_by_pair: Mapping[int, str] = field(default_factory=dict)
    """Slots by stored pair as the engines report them, if they differ from the store."""
    unowned: str = ""
    """Slots that no shard owns."""
    followed: Mapping[int, str] = field(default_factory=dict)
    """By uid of stored replicas, the engine id of a member that is their primary."""

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> "StoreMismatch":
        if not stored:
            return cls()
        return cls(
            tuple(stored["missing"]),
            tuple(Member(**each) for each in stored["members"]),
            tuple((node, uid) for node, uid in stored["unresolved"]),
            {int(pair): text for pair, text in stored["slots"].items()},
            stored["unowned"],
            {int(uid): engine_id for uid, engine_id in stored["followed"].items()},
        )

    def stored(self) -> dict[str, Any]:
        """Return the JSON form; empty if there are no differences."""
        if not self:
            return {}
        return {
            "missing": [*self.missing],
            "members": [*map(asdict, self.members)],
            "unresolved": [[*each] for each in self.unresolved],
            "slots": {str(pair): text for pair, text in sorted(self.slots_by_pair.items())},
            "unowned": self.unowned,
            "followed": {str(uid): engine_id for uid, engine_id in sorted(self.followed.items())},
        }

    def __bool__(self) -> bool:
        return bool(self.missing or self.members or self.unresolved or self.slots_by_pair)


@dataclass(frozen=True)
class Repair:
    """Changes that make the store match the shards, and shards that must be started."""

    adopted: tuple[tuple[Member, int], ...]
    """Shards to add to the store, with their pairs."""
    removed: tuple[int, ...]
    """Uids of missing shards that the database no longer needs."""
    empty: tuple[int, ...]
    """Uids of missing shards without a remaining copy. They are started without data."""
    recovered: tuple[int, ...]
    """Uids of missing shards that are recovered automatically as replicas."""
    slots_by_pair: Mapping[int, str]
    """Slots of all pairs."""
    changes_slots: bool
    """Whether these slots differ from the store."""

    @property
    def is_needed(self) -> bool:
        """Whether an administrator must request the repair. Missing replicas are recovered without one."""
        return bool(self.adopted or self.removed or self.empty or self.changes_slots)


def plan_repair(rows: Sequence[StoredShard], mismatch: StoreMismatch, copies: int) -> Repair:
    """Return the repair of a database with `copies` copies of each slot.

    The engines decide which shard owns a slot. A pair without any copy keeps the slots that no other shard owns and starts empty.
    """
    missing = set(mismatch.missing)
    before = {row.pair: slots.parse(row.slots) for row in rows}
    present = {row.pair for row in rows if row.uid not in missing}
    taken = slots.joined(*(slots.parse(each.slots) for each in mismatch.members))
    held = {
        pair: _slots_of(pair, stored, mismatch, taken, is_present=pair in present) for pair, stored in before.items()
    }
    kept = {pair: found for pair, found in held.items() if pair in present or found}
    adopted = _adopted(rows, mismatch, kept)
    for each, pair in adopted:
        kept[pair] = slots.joined(kept.get(pair, ()), slots.parse(each.slots))
    copies_of = {pair: sum(row.pair == pair and row.uid not in missing for row in rows) for pair in kept}
    for _, pair in adopted:
        copies_of[pair] += 1
    alive = {pair for pair, count in copies_of.items() if count}
    removed, empty, recovered = [], [], []
    for row in rows:
        if row.uid not in missing:
            continue
        if row.pair not in kept or (row.pair in alive and copies_of[row.pair] >= copies):
            removed.append(row.uid)
        elif row.pair in alive:
            copies_of[row.pair] += 1
            recovered.append(row.uid)
        else:
            empty.append(row.uid)
    return Repair(
        adopted=tuple(adopted),
        removed=tuple(removed),
        empty=tuple(empty),
        recovered=tuple(recovered),
        slots_by_pair={pair: slots.render(found) for pair, found in sorted(kept.items())},
        changes_slots=_owned(kept) != _owned(before),
    )


def _owned(slots_by_pair: Mapping[int, Ranges]) -> dict[int, Ranges]:
    return {pair: found for pair, found in slots_by_pair.items() if found}


def _slots_of(pair: int, stored: Ranges, mismatch: StoreMismatch, taken: Ranges, *, is_present: bool) -> Ranges:
    owned = (
        slots.parse(mismatch.slots_by_pair[pair]) if pair in mismatch.slots_by_pair else slots.subtract(stored, taken)
    )
    if is_present:
        return owned
    unowned = slots.parse(mismatch.unowned)
    return slots.joined(owned, slots.subtract(stored, slots.subtract(stored, unowned)))


def _adopted(
    rows: Sequence[StoredShard], mismatch: StoreMismatch, kept: Mapping[int, Ranges]
) -> list[tuple[Member, int]]:
    """Return the members with their pairs. A primary belongs to the pair of its stored replicas or is a new pair."""
    pairs = {row.engine_id: row.pair for row in rows if row.pair in kept}
    by_head = {mismatch.followed[row.uid]: row.pair for row in rows if row.uid in mismatch.followed}
    free = (number for number in range(len(kept) + len(mismatch.members)) if number not in kept)
    heads = [each for each in mismatch.members if each.role == ShardRole.PRIMARY]
    pairs |= {each.engine_id: by_head[each.engine_id] if each.engine_id in by_head else next(free) for each in heads}
    replicas = [each for each in mismatch.members if each not in heads and each.primary in pairs]
    return [*((each, pairs[each.engine_id]) for each in heads), *((each, pairs[each.primary]) for each in replicas)]


def differing_slots(stored: Mapping[int, str], slots_by_pair: Mapping[int, Ranges]) -> dict[int, str]:
    """Return the slots of all pairs if at least one from the store; empty if none differs."""
    found = {pair: slots.render(slots_by_pair.get(pair, ())) for pair in stored}
    return found if found != dict(stored) else {}


def describe(rows: Sequence[StoredShard], mismatch: StoreMismatch) -> str:
    """Return the differences as sentences in the past tense; empty without any."""
    nodes = {row.uid: row.node_uid for row in rows}
    found = []
    if mismatch.missing:
        found.append(f"Agents did not have {_shards((nodes.get(uid, 0), uid) for uid in mismatch.missing)}.")
    unknown = [*((each.node_uid, each.uid) for each in mismatch.members), *mismatch.unresolved]
    if unknown:
        found.append(f"The store did not contain {_shards(unknown)}.")
    if mismatch.slots_by_pair:
        found.append("Its shards served different slots than the store contains.")
    return " ".join(found)


def describe_repair(rows: Sequence[StoredShard], repair: Repair) -> list[str]:
    """Return one sentence per change."""
    nodes = {row.uid: row.node_uid for row in rows}

    def listed(uids: Collection[int]) -> str:
        return _shards((nodes.get(uid, 0), uid) for uid in uids)

    found = []
    if repair.adopted:
        found.append(f"The console takes over {_shards((each.node_uid, each.uid) for each, _ in repair.adopted)}.")
    if repair.removed:
        found.append(f"The store no longer contains {listed(repair.removed)}: other shards replaced them.")
    if repair.changes_slots:
        found.append("The store and the endpoints use the slots that the shards serve.")
    if repair.recovered:
        found.append(
            f"The console starts {listed(repair.recovered)} as replicas, which copy the data of their primaries."
        )
    if repair.empty:
        lost = slots.joined(*(slots.parse(repair.slots_by_pair[row.pair]) for row in rows if row.uid in repair.empty))
        which = "all slots" if lost == ALL_SLOTS else f"slots {slots.slot_text(slots.render(lost))}"
        found.append(
            f"The console starts {listed(repair.empty)} without data, because no copy exists: all keys of {which} are lost."
        )
    return found


def _shards(places: Iterable[tuple[int, int]]) -> str:
    """Return a list of shards from their nodes and uids."""
    by_node: dict[int, list[int]] = {}
    for node, uid in places:
        by_node.setdefault(node, []).append(uid)
    parts = [
        f"{', '.join(f'redis:{uid}' for uid in sorted(uids))} on node {node}" for node, uids in sorted(by_node.items())
    ]
    count = sum(map(len, by_node.values()))
    return f"{plural(count, 'shard')} ({'; '.join(parts)})"
