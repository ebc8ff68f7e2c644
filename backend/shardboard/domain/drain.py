"""Emptying a node, and filling it again as it was: which moves that takes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from shardboard.domain.layout import Copy, Layout, relocation, title
from shardboard.domain.moves import Move


@dataclass
class Drain:
    """What empties a node, and what cannot leave it."""

    moves: list[Move] = field(default_factory=list)
    stay: dict[int, str] = field(default_factory=dict)
    """Shards that cannot leave, and why, by uid."""


def drain(layout: Layout, node: int, *, evict: Callable[[Copy], bool]) -> Drain:
    """Hand over what leads, move away what `evict` says. A primary that nobody can take over from moves in any case.

    Something that is dead (not `ready`) is copied from who leads its pair now.
    """
    found = Drain()
    for copy in layout.on(node):
        promoted = _to_promote(layout, copy) if copy.leads else None
        partners = [each for each in layout.pair(copy.bdb, copy.pair) if each.uid != copy.uid]
        if not copy.ready and not any(each.leads and each.ready for each in partners):
            found.stay[copy.uid] = "it is down, and no other copy leads"
            continue
        if promoted is not None:
            layout.lead(promoted.uid)
        leads_still = layout.copies[copy.uid].leads
        to = layout.choose(layout.copies[copy.uid]) if leads_still or evict(copy) else None
        if to is None and (leads_still or evict(copy)):
            found.stay[copy.uid] = "no other node has room for it"
        if to is not None or promoted is not None:
            found.moves.append(relocation(layout, copy, to, promoted))
        if to is not None:
            layout.move(copy.uid, to)
    return found


def abandon(layout: Layout, node: int) -> Drain:
    """Give up a node that is dead: its copies are made anew elsewhere, and where there is no room, the pair has one less."""
    found = Drain()
    for copy in layout.on(node):
        if not _outlived(layout, copy):
            found.stay[copy.uid] = "no other copy of its data leads"
            continue
        to = layout.choose(copy)
        found.moves.append(_anew(layout, copy, to))
        if to is not None:
            layout.move(copy.uid, to)
        else:
            layout.drop(copy.uid)
    return found


def rebuild(layout: Layout, node: int, bdb: int) -> Drain:
    """Make anew elsewhere what one database lost with a node; what fits nowhere stays, and may come back with the node."""
    found = Drain()
    for copy in layout.on(node):
        if copy.bdb == bdb and not copy.ready and _outlived(layout, copy):
            to = layout.choose(copy)
            if to is None:
                found.stay[copy.uid] = "no other node has room for it"
            else:
                found.moves.append(_anew(layout, copy, to))
                layout.move(copy.uid, to)
    return found


def hand_over(layout: Layout, node: int) -> Drain:
    """Only the leads leave."""
    found = Drain()
    for copy in layout.on(node):
        if copy.leads:
            promoted = _to_promote(layout, copy)
            if promoted is None:
                found.stay[copy.uid] = "it has no replica that is in sync"
            else:
                found.moves.append(relocation(layout, copy, None, promoted))
                layout.lead(promoted.uid)
    return found


@dataclass(frozen=True)
class RememberedCopy:
    """A copy as a snapshot remembers it."""

    bdb: int
    pair: int
    node: int
    leads: bool


def restore(layout: Layout, node: int, remembered_copies: Iterable[RememberedCopy]) -> Drain:
    """Bring back to `node` the copies that it had, and the lead to who had it. Databases and pairs that are no more are left
    out; so is what does not fit any more."""
    by_pair: dict[tuple[int, int], list[RememberedCopy]] = {}
    for each in remembered_copies:
        by_pair.setdefault((each.bdb, each.pair), []).append(each)
    found = Drain()
    for (bdb, pair), remembered in sorted(by_pair.items()):
        mine = next((each for each in remembered if each.node == node), None)
        present = layout.pair(bdb, pair) if bdb in layout.databases else []
        if mine is not None and any(copy.leads for copy in present):
            _restore_pair(layout, present, mine, {each.node for each in remembered}, found)
    return found


def _restore_pair(layout: Layout, present: list[Copy], mine: RememberedCopy, places: set[int], found: Drain) -> None:
    leader = next(copy for copy in present if copy.leads)
    here = next((copy for copy in present if copy.node == mine.node), None)
    if here is not None:
        if mine.leads and not here.leads and here.ready:
            found.moves.append(relocation(layout, leader, None, here))
            layout.lead(here.uid)
        return
    misplaced = next((copy for copy in present if copy.node not in places), None)
    missing = len(present) < layout.databases[mine.bdb].copies
    if misplaced is None and not missing:
        return  # all of it is where it was, as far as the database still has copies
    if not layout.fits(mine.bdb, mine.pair, mine.node):
        found.stay[(misplaced or leader).uid] = f"node {mine.node} has no room for it"
        return
    if misplaced is None:
        name = layout.databases[mine.bdb].name
        told = f"Add a copy of redis:{leader.uid} of {name} on node {mine.node}"
        found.moves.append(
            Move(
                mine.bdb,
                mine.pair,
                told + (" and hand it the lead" if mine.leads else ""),
                to=mine.node,
                takes_lead=mine.leads,
            )
        )
        layout.add(mine.bdb, mine.pair, mine.node)
        return
    promoted = next((copy for copy in present if copy.node in places and copy.ready), None)
    if misplaced.leads and not mine.leads and promoted is not None:
        found.moves.append(relocation(layout, misplaced, mine.node, promoted))
        layout.lead(promoted.uid)
        layout.move(misplaced.uid, mine.node)
        return
    takes = mine.leads and not misplaced.leads
    told = title(layout, misplaced, to=mine.node) + (" and hand it the lead" if takes else "")
    found.moves.append(Move(mine.bdb, mine.pair, told, leaves=misplaced.uid, to=mine.node, takes_lead=takes))
    moved = layout.move(misplaced.uid, mine.node)
    if takes:
        layout.lead(moved.uid)


def _outlived(layout: Layout, copy: Copy) -> bool:
    """Whether another copy of the pair leads, and lives."""
    return not copy.leads and any(each.leads and each.ready for each in layout.pair(copy.bdb, copy.pair))


def _anew(layout: Layout, copy: Copy, to: int | None) -> Move:
    name = layout.databases[copy.bdb].name
    told = (
        f"Rebuild redis:{copy.uid} of {name}, lost with node {copy.node}, on node {to}"
        if to is not None
        else f"Give up redis:{copy.uid} of {name} on node {copy.node}"
    )
    return Move(copy.bdb, copy.pair, told, leaves=copy.uid, to=to)


def _to_promote(layout: Layout, copy: Copy) -> Copy | None:
    """Who takes the lead: of those ready, one on a node that leads little of this database."""
    ready = [each for each in layout.pair(copy.bdb, copy.pair) if each.uid != copy.uid and each.ready]
    return min(ready, key=lambda each: (layout.count(each.node, copy.bdb, leads=True), each.uid), default=None)
