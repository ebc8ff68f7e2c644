"""Where a database's copies should be, by its placement policy, and the fewest moves that bring them there.

Sparse: copies and leads spread evenly over the nodes. Dense: leads on as few nodes as have room, replicas on as few others.
Handing a lead over costs next to nothing and a copy costs a full sync, so copies move only where handovers cannot help.
"""

from collections import defaultdict, deque
from collections.abc import Mapping
from itertools import groupby

from shardboard.domain.layout import Copy, Layout, relocation, title
from shardboard.domain.moves import Move


def plan(layout: Layout, bdb: int, *, only_failovers: bool = False, max_operations: int | None = None) -> list[Move]:
    """The moves of one database; afterwards `layout` is as they leave it, unless `max_operations` cuts them short."""
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
    # Handovers first: what is cheap helps at once, also when the rest is cut off.
    return sorted(moves, key=lambda move: move.to is not None)[:max_operations]


def _allowed(layout: Layout, bdb: int, node: int) -> bool:
    allowed = layout.databases[bdb].nodes
    return allowed is None or node in allowed


def _pairs(layout: Layout, bdb: int) -> dict[int, list[Copy]]:
    numbers = sorted({copy.pair for copy in layout.copies.values() if copy.bdb == bdb})
    return {pair: layout.pair(bdb, pair) for pair in numbers}


def _surplus(layout: Layout, bdb: int) -> list[Move]:
    """Replicas beyond what the database wants, left by a movement that ended in doubt: one that is not in sync goes first."""
    found = []
    for members in _pairs(layout, bdb).values():
        spare = [copy for copy in members if not copy.leads]
        for copy in sorted(spare, key=lambda copy: (copy.ready, -layout.count(copy.node, bdb), copy.uid)):
            if len(layout.pair(bdb, copy.pair)) > layout.databases[bdb].copies:
                found.append(Move(bdb, copy.pair, title(layout, copy), leaves=copy.uid))
                layout.drop(copy.uid)
    return found


def _spread_copies(layout: Layout, bdb: int, nodes: list[int]) -> None:
    """Each move takes from a node with at least two more copies than where it goes, so that it ends."""
    while (found := _best_spread(layout, bdb, nodes)) is not None:
        layout.move(*found)


def _best_spread(layout: Layout, bdb: int, nodes: list[int]) -> tuple[int, int] | None:
    counts = {node: layout.count(node, bdb) for node in nodes}
    leads = {node: layout.count(node, bdb, leads=True) for node in nodes}
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
                    # A primary moves only where leads are out of balance, too.
                    if copy.leads == (leads[source] - leads[target] >= 2):
                        return copy.uid, target
                    second_best = second_best or (copy.uid, target)
        if second_best is not None:
            return second_best
    return None


def _spread_leads(layout: Layout, bdb: int, nodes: list[int]) -> None:
    """Handovers in chains: each chain takes one lead from the fullest node, and gives one to a node with two less."""
    while (chain := _chain(layout, bdb, nodes)) is not None:
        for promoted in chain:
            layout.lead(promoted)


def _chain(layout: Layout, bdb: int, nodes: list[int]) -> list[int] | None:
    """The shortest one, as uids of promoted replicas; None when leads are as even as handovers can make them."""
    leads = {node: layout.count(node, bdb, leads=True) for node in nodes}
    candidates: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for members in _pairs(layout, bdb).values():
        for head in (copy for copy in members if copy.leads):
            candidates[head.node] += [
                (other.node, other.uid)
                for other in members
                if other is not head and other.ready and other.node in leads
            ]
    # Leads on nodes that take no shards (in maintenance, say) go first, whatever the balance.
    strange = sorted(node for node in candidates if node not in leads and candidates[node])
    if strange:
        return [min(candidates[strange[0]], key=lambda each: (leads[each[0]], each))[1]]
    for start in sorted(leads, key=lambda node: (-leads[node], node)):
        found = _search(start, candidates, leads)
        if found:
            return found
    return None


def _search(start: int, candidates: Mapping[int, list[tuple[int, int]]], leads: Mapping[int, int]) -> list[int]:
    """Breadth first from `start` to the nearest node that leads at least two pairs less."""
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
    """Leads to the node that leads most, what has no room there to the next; then the replicas in the same way."""
    for leads in (True, False):
        left = [
            next((copy for copy in members if copy.leads == leads), None) for members in _pairs(layout, bdb).values()
        ]
        waiting = {copy.pair for copy in left if copy is not None}
        order = sorted(nodes, key=lambda node: (-layout.count(node, bdb, leads=leads), -layout.count(node, bdb), node))
        while order and waiting:
            node = order.pop(0)
            if not leads and _leads_all(layout, bdb, node, waiting):
                continue
            for pair in sorted(waiting):
                if _bring(layout, bdb, pair, node, leads=leads, copies=copies):
                    waiting.discard(pair)


def _leads_all(layout: Layout, bdb: int, node: int, pairs: set[int]) -> bool:
    """Whether none of these pairs may have its replica on the node, because their primaries are there."""
    return all(any(copy.leads and copy.node == node for copy in layout.pair(bdb, pair)) for pair in pairs)


def _bring(layout: Layout, bdb: int, pair: int, node: int, *, leads: bool, copies: bool) -> bool:
    """Have the pair's copy of this role on the node; False when that cannot be."""
    members = layout.pair(bdb, pair)
    mine = next(copy for copy in members if copy.leads == leads)
    if mine.node == node:
        return True
    other = next((copy for copy in members if copy is not mine and copy.node == node), None)
    if other is not None:
        if leads and other.ready:
            layout.lead(other.uid)
            return True
        return False
    if copies and mine.ready and layout.fits(bdb, pair, node):
        layout.move(mine.uid, node)
        return True
    return False


def _difference(layout: Layout, before: list[Copy], after: list[Copy]) -> list[Move]:
    """The moves that make a pair's new places of its old ones."""
    there = {copy.node for copy in before}
    gone = [copy for copy in before if copy.node not in {each.node for each in after}]
    come = sorted((copy for copy in after if copy.node not in there), key=lambda copy: not copy.leads)
    head = next((copy for copy in before if copy.leads), None)
    new_head = next((copy for copy in after if copy.leads), None)
    if head is None or new_head is None:
        return []
    stays = next((copy for copy in before if copy.node == new_head.node), None)
    if not gone:
        return [relocation(layout, head, None, stays)] if stays is not None and stays is not head else []
    if len(gone) > 1:  # primary to where the new primary is, replica to the other place
        gone.sort(key=lambda copy: not copy.leads)
        return [relocation(layout, old, new.node) for old, new in zip(gone, come, strict=False)]
    [old], [new] = gone, come
    if stays is not None:
        return [relocation(layout, old, new.node, stays if stays is not head else None)]
    takes = not old.leads
    told = title(layout, old, to=new.node) + (" and hand it the lead" if takes else "")
    return [Move(old.bdb, old.pair, told, leaves=old.uid, to=new.node, takes_lead=takes)]
