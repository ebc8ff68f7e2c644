"""Desired nodes of a database's copies by its placement policy, and the smallest number of moves to get there.

Sparse: copies and primaries are spread evenly over the nodes. Dense: primaries are on as few nodes as possible, and replicas on as
few other nodes. A switchover is cheap but a copy needs a full resync. Copies therefore move only if switchovers are not sufficient.
"""

from collections import defaultdict, deque
from collections.abc import Mapping
from itertools import groupby

from shardboard.domain.placement.layout import Copy, Layout, move_title, relocation_move
from shardboard.domain.placement.moves import Move


def plan(layout: Layout, bdb: int, *, only_failovers: bool = False, max_operations: int | None = None) -> list[Move]:
    """Return the moves of one database. Afterwards `layout` shows their result, regardless of `max_operations`."""
    surplus = [] if only_failovers else _surplus(layout, bdb)
    before = _pairs(layout, bdb)
    nodes = [node for node in layout.nodes if _allowed(layout, bdb, node)]
    if nodes:
        if layout.databases[bdb].dense:
            _gather(layout, bdb, nodes, copies=not only_failovers)
        else:
            if not only_failovers:
                _spread_copies(layout, bdb, nodes)
            _spread_leads(layout, bdb, nodes)
    moves = surplus + [
        move for pair, members in before.items() for move in _difference(layout, members, layout.pair(bdb, pair))
    ]
    # Switchovers first: they are cheap and take effect at once, even if the other moves are cut off.
    return sorted(moves, key=lambda move: move.to is not None)[:max_operations]


def _allowed(layout: Layout, bdb: int, node: int) -> bool:
    allowed = layout.databases[bdb].nodes
    return allowed is None or node in allowed


def _pairs(layout: Layout, bdb: int) -> dict[int, list[Copy]]:
    numbers = sorted({copy.pair for copy in layout.copies.values() if copy.bdb == bdb})
    return {pair: layout.pair(bdb, pair) for pair in numbers}


def _surplus(layout: Layout, bdb: int) -> list[Move]:
    """Return removals of replicas beyond the desired number, left by a move with an unknown result. Replicas that are not in sync
    are removed first."""
    found = []
    for members in _pairs(layout, bdb).values():
        spare = [copy for copy in members if not copy.is_primary]
        for copy in sorted(spare, key=lambda copy: (copy.ready, -layout.count(copy.node, bdb), copy.uid)):
            if len(layout.pair(bdb, copy.pair)) > layout.databases[bdb].copies:
                found.append(Move(bdb, copy.pair, move_title(layout, copy), leaves=copy.uid))
                layout.remove(copy.uid)
    return found


def _spread_copies(layout: Layout, bdb: int, nodes: list[int]) -> None:
    """Move copies from nodes with at least two more copies than the target, so that the loop terminates."""
    while (found := _best_spread(layout, bdb, nodes)) is not None:
        layout.move(*found)


def _best_spread(layout: Layout, bdb: int, nodes: list[int]) -> tuple[int, int] | None:
    counts = {node: layout.count(node, bdb) for node in nodes}
    leads = {node: layout.count(node, bdb, is_primary=True) for node in nodes}
    held: dict[int, list[Copy]] = defaultdict(list)
    for copy in layout.copies.values():
        if copy.bdb == bdb and copy.node in counts and copy.ready:
            held[copy.node].append(copy)
    gaps = sorted(
        ((counts[source] - counts[target], source, target) for source in nodes for target in nodes), reverse=True
    )
    for gap, ways in groupby(gaps, key=lambda each: each[0]):
        if gap < 2:
            break
        second_best = None
        for _, source, target in ways:
            for copy in held[source]:
                if layout.fits(bdb, copy.pair, target):
                    # Prefer a primary only if the primaries are unbalanced as well.
                    if copy.is_primary == (leads[source] - leads[target] >= 2):
                        return copy.uid, target
                    second_best = second_best or (copy.uid, target)
        if second_best is not None:
            return second_best
    return None


def _spread_leads(layout: Layout, bdb: int, nodes: list[int]) -> None:
    """Switch over in chains: each chain reduces the primaries of the fullest node by one and gives one to a node with at least two
    fewer."""
    while (chain := _chain(layout, bdb, nodes)) is not None:
        for promoted in chain:
            layout.promote(promoted)


def _chain(layout: Layout, bdb: int, nodes: list[int]) -> list[int] | None:
    """Return the shortest chain as uids of promoted replicas; None if switchovers cannot improve the balance."""
    leads = {node: layout.count(node, bdb, is_primary=True) for node in nodes}
    candidates: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for members in _pairs(layout, bdb).values():
        for head in (copy for copy in members if copy.is_primary):
            candidates[head.node] += [
                (other.node, other.uid)
                for other in members
                if other is not head and other.ready and other.node in leads
            ]
    # Primaries on nodes that do not accept shards (for example in maintenance) come first, regardless of the balance.
    foreign = sorted(node for node in candidates if node not in leads and candidates[node])
    if foreign:
        return [min(candidates[foreign[0]], key=lambda each: (leads[each[0]], each))[1]]
    for start in sorted(leads, key=lambda node: (-leads[node], node)):
        found = _search(start, candidates, leads)
        if found:
            return found
    return None


def _search(start: int, candidates: Mapping[int, list[tuple[int, int]]], leads: Mapping[int, int]) -> list[int]:
    """Search breadth-first from `start` for the nearest node that has at least two fewer primaries."""
    came: dict[int, tuple[int, int]] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for target, promoted in sorted(candidates.get(node, ())):
            if target == start or target in came:
                continue
            came[target] = (node, promoted)
            if leads[start] - leads[target] >= 2:
                chain = []
                while target != start:
                    target, promoted = came[target]
                    chain.append(promoted)
                return chain[::-1]
            queue.append(target)
    return []


def _gather(layout: Layout, bdb: int, nodes: list[int], *, copies: bool) -> None:
    """Gather primaries on the node with the most primaries, and those that do not fit on the next one; then the replicas."""
    for leads in (True, False):
        left = [
            next((copy for copy in members if copy.is_primary == leads), None)
            for members in _pairs(layout, bdb).values()
        ]
        waiting = {copy.pair for copy in left if copy is not None}
        order = sorted(
            nodes, key=lambda node: (-layout.count(node, bdb, is_primary=leads), -layout.count(node, bdb), node)
        )
        while order and waiting:
            node = order.pop(0)
            if not leads and _has_all_primaries(layout, bdb, node, waiting):
                continue
            for pair in sorted(waiting):
                if _place(layout, bdb, pair, node, is_primary=leads, copies=copies):
                    waiting.discard(pair)


def _has_all_primaries(layout: Layout, bdb: int, node: int, pairs: set[int]) -> bool:
    """Return whether none of these pairs can have its replica on the node, because their primaries are there."""
    return all(any(copy.is_primary and copy.node == node for copy in layout.pair(bdb, pair)) for pair in pairs)


def _place(layout: Layout, bdb: int, pair: int, node: int, *, is_primary: bool, copies: bool) -> bool:
    """Place the copy of this role on the node; return False if this is not possible."""
    members = layout.pair(bdb, pair)
    mine = next(copy for copy in members if copy.is_primary == is_primary)
    if mine.node == node:
        return True
    other = next((copy for copy in members if copy is not mine and copy.node == node), None)
    if other is not None:
        if is_primary and other.ready:
            layout.promote(other.uid)
            return True
        return False
    if copies and mine.ready and layout.fits(bdb, pair, node):
        layout.move(mine.uid, node)
        return True
    return False


def _difference(layout: Layout, before: list[Copy], after: list[Copy]) -> list[Move]:
    """Return the moves from the old nodes of a pair to its new ones."""
    there = {copy.node for copy in before}
    gone = [copy for copy in before if copy.node not in {each.node for each in after}]
    come = sorted((copy for copy in after if copy.node not in there), key=lambda copy: not copy.is_primary)
    head = next((copy for copy in before if copy.is_primary), None)
    new_head = next((copy for copy in after if copy.is_primary), None)
    if head is None or new_head is None:
        return []
    stays = next((copy for copy in before if copy.node == new_head.node), None)
    if not gone:
        return [relocation_move(layout, head, None, stays)] if stays is not None and stays is not head else []
    if len(gone) > 1:  # the primary moves to the node of the new primary, the replica to the other node
        gone.sort(key=lambda copy: not copy.is_primary)
        return [relocation_move(layout, old, new.node) for old, new in zip(gone, come, strict=False)]
    [old], [new] = gone, come
    if stays is not None:
        return [relocation_move(layout, old, new.node, stays if stays is not head else None)]
    takes = not old.is_primary
    text = move_title(layout, old, to=new.node) + (" and promote it" if takes else "")
    return [Move(old.bdb, old.pair, text, leaves=old.uid, to=new.node, takes_lead=takes)]
