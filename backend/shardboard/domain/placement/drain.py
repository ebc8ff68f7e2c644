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
    plan = Drain()
    for copy in layout.on(node):
        promoted = _promotion_candidate(layout, copy) if copy.is_primary else None
        partners = [each for each in layout.pair(copy.bdb, copy.pair) if each.uid != copy.uid]
        if not copy.ready and not any(each.is_primary and each.ready for each in partners):
            plan.staying[copy.uid] = "it is down, and no other copy is primary"
            continue
        if promoted is not None:
            layout.promote(promoted.uid)
        remains_primary = layout.copies[copy.uid].is_primary
        target = layout.choose(layout.copies[copy.uid]) if remains_primary or evict(copy) else None
        if target is None and (remains_primary or evict(copy)):
            plan.staying[copy.uid] = layout.obstacle(copy)
        if target is not None or promoted is not None:
            plan.moves.append(relocation_move(layout, copy, target, promoted))
        if target is not None:
            layout.move(copy.uid, target)
    return plan


def abandon_node(layout: Layout, node: int) -> Drain:
    """Give up a dead node: rebuild its copies elsewhere. A pair whose copy fits on no other node has one copy less."""
    plan = Drain()
    for copy in layout.on(node):
        if not _has_other_primary(layout, copy):
            plan.staying[copy.uid] = "no other copy of its data is primary"
            continue
        target = layout.choose(copy)
        plan.moves.append(_rebuild_move(layout, copy, target))
        if target is not None:
            layout.move(copy.uid, target)
        else:
            layout.remove(copy.uid)
    return plan


def rebuild(layout: Layout, node: int, bdb: int) -> Drain:
    """Rebuild elsewhere the copies that one database lost with a node. A copy that fits nowhere stays and can return with the
    node."""
    plan = Drain()
    for copy in layout.on(node):
        if copy.bdb == bdb and not copy.ready and _has_other_primary(layout, copy):
            target = layout.choose(copy)
            if target is None:
                plan.staying[copy.uid] = layout.obstacle(copy)
            else:
                plan.moves.append(_rebuild_move(layout, copy, target))
                layout.move(copy.uid, target)
    return plan


def switch_over_primaries(layout: Layout, node: int) -> Drain:
    """Switch over the primaries of a node, without moving copies."""
    plan = Drain()
    for copy in layout.on(node):
        if copy.is_primary:
            promoted = _promotion_candidate(layout, copy)
            if promoted is None:
                plan.staying[copy.uid] = "it has no replica that is in sync"
            else:
                plan.moves.append(relocation_move(layout, copy, None, promoted))
                layout.promote(promoted.uid)
    return plan


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
    plan = Drain()
    for (bdb, pair), copies_of_pair in sorted(by_pair.items()):
        own_copy = next((each for each in copies_of_pair if each.node == node), None)
        current_copies = layout.pair(bdb, pair) if bdb in layout.databases else []
        if own_copy is not None and any(copy.is_primary for copy in current_copies):
            _restore_pair(layout, current_copies, own_copy, {each.node for each in copies_of_pair}, plan)
    return plan


def _restore_pair(layout: Layout, present: list[Copy], mine: RememberedCopy, places: set[int], found: Drain) -> None:
    leader = next(copy for copy in present if copy.is_primary)
    copy_on_own_node = next((copy for copy in present if copy.node == mine.node), None)
    if copy_on_own_node is not None:
        if mine.is_primary and not copy_on_own_node.is_primary and copy_on_own_node.ready:
            found.moves.append(relocation_move(layout, leader, None, copy_on_own_node))
            layout.promote(copy_on_own_node.uid)
        return
    misplaced_copy = next((copy for copy in present if copy.node not in places), None)
    missing = len(present) < layout.databases[mine.bdb].copies
    if misplaced_copy is None and not missing:
        return  # the pair is where it was, apart from copies that the database no longer has
    leaving = () if misplaced_copy is None else (misplaced_copy.uid,)
    if not layout.fits(mine.bdb, mine.pair, mine.node, leaving=leaving):
        reason = (
            f"node {mine.node} does not have enough capacity for it, or is not in a different zone from its other copy"
            if layout.databases[mine.bdb].rack_aware
            else f"node {mine.node} does not have enough capacity for it"
        )
        found.staying[(misplaced_copy or leader).uid] = reason
        return
    if misplaced_copy is None:
        name = layout.databases[mine.bdb].name
        text = f"Add a copy of redis:{leader.uid} of {name} on node {mine.node}"
        found.moves.append(
            Move(
                mine.bdb,
                mine.pair,
                text + (" and promote it" if mine.is_primary else ""),
                to=mine.node,
                promote_new_shard=mine.is_primary,
            )
        )
        layout.add(mine.bdb, mine.pair, mine.node)
        return
    promoted = next((copy for copy in present if copy.node in places and copy.ready), None)
    if misplaced_copy.is_primary and not mine.is_primary and promoted is not None:
        found.moves.append(relocation_move(layout, misplaced_copy, mine.node, promoted))
        layout.promote(promoted.uid)
        layout.move(misplaced_copy.uid, mine.node)
        return
    takes_primary_role = mine.is_primary and not misplaced_copy.is_primary
    text = move_title(layout, misplaced_copy, to=mine.node) + (" and promote it" if takes_primary_role else "")
    found.moves.append(
        Move(mine.bdb, mine.pair, text, removed=misplaced_copy.uid, to=mine.node, promote_new_shard=takes_primary_role)
    )
    copy = layout.move(misplaced_copy.uid, mine.node)
    if takes_primary_role:
        layout.promote(copy.uid)


def _has_other_primary(layout: Layout, copy: Copy) -> bool:
    """Return whether another copy of the pair is a primary that is up."""
    return not copy.is_primary and any(each.is_primary and each.ready for each in layout.pair(copy.bdb, copy.pair))


def _rebuild_move(layout: Layout, copy: Copy, to: int | None) -> Move:
    name = layout.databases[copy.bdb].name
    text = (
        f"Rebuild redis:{copy.uid} of {name}, lost with node {copy.node}, on node {to}"
        if to is not None
        else f"Give up redis:{copy.uid} of {name} on node {copy.node}"
    )
    return Move(copy.bdb, copy.pair, text, removed=copy.uid, to=to)


def _promotion_candidate(layout: Layout, copy: Copy) -> Copy | None:
    """Return the copy to promote: a ready one on the node with the fewest primaries of this database."""
    ready = [each for each in layout.pair(copy.bdb, copy.pair) if each.uid != copy.uid and each.ready]
    return min(ready, key=lambda each: (layout.count(each.node, copy.bdb, is_primary=True), each.uid), default=None)
