"""Moves that empty a node, and moves that restore its shards afterwards."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from shardboard.domain.placement.layout import Copy, Layout, move_title, relocation_move
from shardboard.domain.placement.moves import Move


@dataclass
class Drain:
    """Moves that empty a node, and shards that cannot leave it."""

    moves: list[Move] = field(default_factory=list)
    staying: dict[int, str] = field(default_factory=dict)
    """Why a shard cannot leave, by uid."""


def drain(layout: Layout, node: int, *, evict: Callable[[Copy], bool]) -> Drain:
    """Switch over the primaries of a node, and move the copies for which `evict` returns true. A primary without a replica that
    could be promoted moves in any case.

    A copy that is down (not `ready`) is rebuilt from the current primary of its pair.
    """
    found = Drain()
    for copy in layout.on(node):
        promoted = _to_promote(layout, copy) if copy.is_primary else None
        partners = [each for each in layout.pair(copy.bdb, copy.pair) if each.uid != copy.uid]
        if not copy.ready and not any(each.is_primary and each.ready for each in partners):
            found.staying[copy.uid] = "it is down, and no other copy is primary"
            continue
        if promoted is not None:
            layout.promote(promoted.uid)
        leads_still = layout.copies[copy.uid].is_primary
        to = layout.choose(layout.copies[copy.uid]) if leads_still or evict(copy) else None
        if to is None and (leads_still or evict(copy)):
            found.staying[copy.uid] = "no other node has enough capacity for it"
        if to is not None or promoted is not None:
            found.moves.append(relocation_move(layout, copy, to, promoted))
        if to is not None:
            layout.move(copy.uid, to)
    return found


def abandon_node(layout: Layout, node: int) -> Drain:
    """Give up a dead node: rebuild its copies elsewhere. A pair whose copy fits on no other node has one copy less."""
    found = Drain()
    for copy in layout.on(node):
        if not _has_other_primary(layout, copy):
            found.staying[copy.uid] = "no other copy of its data is primary"
            continue
        to = layout.choose(copy)
        found.moves.append(_rebuilt(layout, copy, to))
        if to is not None:
            layout.move(copy.uid, to)
        else:
            layout.remove(copy.uid)
    return found


def rebuild(layout: Layout, node: int, bdb: int) -> Drain:
    """Rebuild elsewhere the copies that one database lost with a node. A copy that fits nowhere stays and can return with the
    node."""
    found = Drain()
    for copy in layout.on(node):
        if copy.bdb == bdb and not copy.ready and _has_other_primary(layout, copy):
            to = layout.choose(copy)
            if to is None:
                found.staying[copy.uid] = "no other node has enough capacity for it"
            else:
                found.moves.append(_rebuilt(layout, copy, to))
                layout.move(copy.uid, to)
    return found


def switch_over_primaries(layout: Layout, node: int) -> Drain:
    """Switch over the primaries of a node, without moving copies."""
    found = Drain()
    for copy in layout.on(node):
        if copy.is_primary:
            promoted = _to_promote(layout, copy)
            if promoted is None:
                found.staying[copy.uid] = "it has no replica that is in sync"
            else:
                found.moves.append(relocation_move(layout, copy, None, promoted))
                layout.promote(promoted.uid)
    return found


@dataclass(frozen=True)
class RememberedCopy:
    """A copy as recorded in a snapshot."""

    bdb: int
    pair: int
    node: int
    is_primary: bool


def restore(layout: Layout, node: int, remembered_copies: Iterable[RememberedCopy]) -> Drain:
    """Return to `node` the copies that it had, and the primary role to the copies that had it. Databases and pairs that no longer
    exist are left out, as well as copies that no longer fit."""
    by_pair: dict[tuple[int, int], list[RememberedCopy]] = {}
    for each in remembered_copies:
        by_pair.setdefault((each.bdb, each.pair), []).append(each)
    found = Drain()
    for (bdb, pair), remembered in sorted(by_pair.items()):
        mine = next((each for each in remembered if each.node == node), None)
        present = layout.pair(bdb, pair) if bdb in layout.databases else []
        if mine is not None and any(copy.is_primary for copy in present):
            _restore_pair(layout, present, mine, {each.node for each in remembered}, found)
    return found


def _restore_pair(layout: Layout, present: list[Copy], mine: RememberedCopy, places: set[int], found: Drain) -> None:
    leader = next(copy for copy in present if copy.is_primary)
    here = next((copy for copy in present if copy.node == mine.node), None)
    if here is not None:
        if mine.is_primary and not here.is_primary and here.ready:
            found.moves.append(relocation_move(layout, leader, None, here))
            layout.promote(here.uid)
        return
    misplaced = next((copy for copy in present if copy.node not in places), None)
    missing = len(present) < layout.databases[mine.bdb].copies
    if misplaced is None and not missing:
        return  # the pair is where it was, apart from copies that the database no longer has
    if not layout.fits(mine.bdb, mine.pair, mine.node):
        found.staying[(misplaced or leader).uid] = f"node {mine.node} does not have enough capacity for it"
        return
    if misplaced is None:
        name = layout.databases[mine.bdb].name
        text = f"Add a copy of redis:{leader.uid} of {name} on node {mine.node}"
        found.moves.append(
            Move(
                mine.bdb,
                mine.pair,
                text + (" and promote it" if mine.is_primary else ""),
                to=mine.node,
                takes_lead=mine.is_primary,
            )
        )
        layout.add(mine.bdb, mine.pair, mine.node)
        return
    promoted = next((copy for copy in present if copy.node in places and copy.ready), None)
    if misplaced.is_primary and not mine.is_primary and promoted is not None:
        found.moves.append(relocation_move(layout, misplaced, mine.node, promoted))
        layout.promote(promoted.uid)
        layout.move(misplaced.uid, mine.node)
        return
    takes = mine.is_primary and not misplaced.is_primary
    text = move_title(layout, misplaced, to=mine.node) + (" and promote it" if takes else "")
    found.moves.append(Move(mine.bdb, mine.pair, text, leaves=misplaced.uid, to=mine.node, takes_lead=takes))
    moved = layout.move(misplaced.uid, mine.node)
    if takes:
        layout.promote(moved.uid)


def _has_other_primary(layout: Layout, copy: Copy) -> bool:
    """Return whether another copy of the pair is a primary that is up."""
    return not copy.is_primary and any(each.is_primary and each.ready for each in layout.pair(copy.bdb, copy.pair))


def _rebuilt(layout: Layout, copy: Copy, to: int | None) -> Move:
    name = layout.databases[copy.bdb].name
    text = (
        f"Rebuild redis:{copy.uid} of {name}, lost with node {copy.node}, on node {to}"
        if to is not None
        else f"Give up redis:{copy.uid} of {name} on node {copy.node}"
    )
    return Move(copy.bdb, copy.pair, text, leaves=copy.uid, to=to)


def _to_promote(layout: Layout, copy: Copy) -> Copy | None:
    """Return the copy to promote: a ready one on the node with the fewest primaries of this database."""
    ready = [each for each in layout.pair(copy.bdb, copy.pair) if each.uid != copy.uid and each.ready]
    return min(ready, key=lambda each: (layout.count(each.node, copy.bdb, is_primary=True), each.uid), default=None)
