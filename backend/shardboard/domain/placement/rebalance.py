"""Desired nodes of a database's copies by its placement policy, and the smallest number of moves to get there.

Sparse: copies and primaries are spread evenly over the nodes. Dense: primaries are on as few nodes as possible, and replicas on as
few other nodes. In a rack-aware database, copies of a pair that are in one zone are separated first. A switchover is cheap but a
copy needs a full resync. Copies therefore move only if switchovers are not sufficient.
"""

from collections import defaultdict, deque
from collections.abc import Mapping
from itertools import groupby

from shardboard.domain.placement.layout import Copy, Layout, move_title, relocation_move
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.zones import are_separate

MAX_ROUNDS = 10
"""Limit for databases in which the order of moves matters; a few rounds are sufficient."""


def plan(layout: Layout, bdb: int, *, only_failovers: bool = False, max_operations: int | None = None) -> list[Move]:
    """Return the moves of one database. Afterwards `layout` shows their result, regardless of `max_operations`."""
    surplus = [] if only_failovers else _surplus(layout, bdb)
    previous = _pairs(layout, bdb)
    nodes = [node for node in layout.nodes if _allowed(layout, bdb, node)]
    if nodes:
        if not only_failovers:
            _separate_copies(layout, bdb, nodes)
        if layout.databases[bdb].dense:
            _concentrate_all(layout, bdb, nodes, copies=not only_failovers)
        else:
            if not only_failovers:
                _spread_copies(layout, bdb, nodes)
            _spread_primaries(layout, bdb, nodes)
    moves = surplus + _moves(layout, bdb, previous)
    # Switchovers first: they are cheap and take effect at once, even if the other moves are cut off.
    return sorted(moves, key=lambda move: move.to is not None)[:max_operations]


def separate(layout: Layout, bdb: int) -> list[Move]:
    """Return the moves that bring the copies of each pair of a rack-aware database into different zones, where possible."""
    previous = _pairs(layout, bdb)
    _separate_copies(layout, bdb, [node for node in layout.nodes if _allowed(layout, bdb, node)])
    return _moves(layout, bdb, previous)


def _moves(layout: Layout, bdb: int, previous: Mapping[int, list[Copy]]) -> list[Move]:
    return [move for pair, members in previous.items() for move in _difference(layout, members, layout.pair(bdb, pair))]


def _separate_copies(layout: Layout, bdb: int, nodes: list[int]) -> None:
    """Move the replica of each pair whose copies are in one zone, otherwise its primary, otherwise both."""
    for pair, members in _pairs(layout, bdb).items():
        if not layout.is_zone_violation(bdb, pair) or not all(copy.ready for copy in members):
            continue
        copies = sorted(members, key=lambda copy: copy.is_primary)
        single = next(((copy, node) for copy in copies if (node := layout.choose(copy)) is not None), None)
        if single is not None:
            layout.move(single[0].uid, single[1])
        elif len(copies) == 2:
            _move_both(layout, copies, nodes)


def _move_both(layout: Layout, copies: list[Copy], nodes: list[int]) -> None:
    replica, primary = copies
    leaving = (replica.uid, primary.uid)
    targets = [node for node in nodes if layout.fits(replica.bdb, replica.pair, node, leaving=leaving)]
    for first in sorted(targets, key=lambda node: layout.rank(replica, node)):
        second = next(
            (
                node
                for node in sorted(targets, key=lambda node: layout.rank(primary, node))
                if are_separate(layout.zones(first), layout.zones(node))
            ),
            None,
        )
        if second is not None:
            layout.move(replica.uid, first)
            layout.move(primary.uid, second)
            return


def _allowed(layout: Layout, bdb: int, node: int) -> bool:
    allowed_nodes = layout.databases[bdb].nodes
    return allowed_nodes is None or node in allowed_nodes


def _pairs(layout: Layout, bdb: int) -> dict[int, list[Copy]]:
    numbers = sorted({copy.pair for copy in layout.copies.values() if copy.bdb == bdb})
    return {pair: layout.pair(bdb, pair) for pair in numbers}


def _surplus(layout: Layout, bdb: int) -> list[Move]:
    """Return removals of replicas beyond the desired number, left by a move with an unknown result. Replicas that are not in sync
    are removed first."""
    surplus = []
    for members in _pairs(layout, bdb).values():
        spare_copies = [copy for copy in members if not copy.is_primary]
        for copy in sorted(spare_copies, key=lambda copy: (copy.ready, -layout.count(copy.node, bdb), copy.uid)):
            if len(layout.pair(bdb, copy.pair)) > layout.databases[bdb].copies:
                surplus.append(Move(bdb, copy.pair, move_title(layout, copy), removed=copy.uid))
                layout.remove(copy.uid)
    return surplus


def _spread_copies(layout: Layout, bdb: int, nodes: list[int]) -> None:
    """Move copies from nodes with at least two more copies than the target, so that the loop terminates."""
    while (best := _best_spread(layout, bdb, nodes)) is not None:
        layout.move(*best)


def _best_spread(layout: Layout, bdb: int, nodes: list[int]) -> tuple[int, int] | None:
    counts = {node: layout.count(node, bdb) for node in nodes}
    primary_counts = {node: layout.count(node, bdb, is_primary=True) for node in nodes}
    copies_by_node: dict[int, list[Copy]] = defaultdict(list)
    for copy in layout.copies.values():
        if copy.bdb == bdb and copy.node in counts and copy.ready:
            copies_by_node[copy.node].append(copy)
    gaps = sorted(
        ((counts[source] - counts[target], source, target) for source in nodes for target in nodes), reverse=True
    )
    for gap, equal_gaps in groupby(gaps, key=lambda each: each[0]):
        if gap < 2:
            break
        second_best = None
        for _, source, target in equal_gaps:
            for copy in copies_by_node[source]:
                if layout.fits(bdb, copy.pair, target, leaving=(copy.uid,)):
                    # Prefer a primary only if the primaries are unbalanced as well.
                    if copy.is_primary == (primary_counts[source] - primary_counts[target] >= 2):
                        return copy.uid, target
                    second_best = second_best or (copy.uid, target)
        if second_best is not None:
            return second_best
    return None


def _spread_primaries(layout: Layout, bdb: int, nodes: list[int]) -> None:
    """Switch over in chains: each chain reduces the primaries of the fullest node by one and gives one to a node with at least two
    fewer."""
    while (chain := _chain(layout, bdb, nodes)) is not None:
        for promoted in chain:
            layout.promote(promoted)


def _chain(layout: Layout, bdb: int, nodes: list[int]) -> list[int] | None:
    """Return the shortest chain as uids of promoted replicas; None if switchovers cannot improve the balance."""
    primary_counts = {node: layout.count(node, bdb, is_primary=True) for node in nodes}
    candidates: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for members in _pairs(layout, bdb).values():
        for primary in (copy for copy in members if copy.is_primary):
            candidates[primary.node] += [
                (alternative.node, alternative.uid)
                for alternative in members
                if alternative is not primary and alternative.ready and alternative.node in primary_counts
            ]
    # Primaries on nodes that do not accept shards (for example in maintenance) come first, regardless of the balance.
    foreign = sorted(node for node in candidates if node not in primary_counts and candidates[node])
    if foreign:
        return [min(candidates[foreign[0]], key=lambda each: (primary_counts[each[0]], each))[1]]
    for start in sorted(primary_counts, key=lambda node: (-primary_counts[node], node)):
        chain = _find_chain(start, candidates, primary_counts)
        if chain:
            return chain
    return None


def _find_chain(start: int, candidates: Mapping[int, list[tuple[int, int]]], leads: Mapping[int, int]) -> list[int]:
    """Search breadth-first from `start` for the nearest node that has at least two fewer primaries."""
    predecessors: dict[int, tuple[int, int]] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for target, target_copy in sorted(candidates.get(node, ())):
            if target == start or target in predecessors:
                continue
            predecessors[target] = (node, target_copy)
            if leads[start] - leads[target] >= 2:
                chain = []
                while target != start:
                    target, target_copy = predecessors[target]
                    chain.append(target_copy)
                return chain[::-1]
            queue.append(target)
    return []


def _concentrate_all(layout: Layout, bdb: int, nodes: list[int], *, copies: bool) -> None:
    """Concentrate until nothing changes. A copy of a rack-aware database can often move only after the other copy of its pair."""
    for _ in range(MAX_ROUNDS if layout.databases[bdb].rack_aware else 1):
        before = _positions(layout, bdb)
        _concentrate(layout, bdb, nodes, copies=copies)
        if _positions(layout, bdb) == before:
            return


def _positions(layout: Layout, bdb: int) -> set[tuple[int, int, bool]]:
    return {(copy.pair, copy.node, copy.is_primary) for copy in layout.copies.values() if copy.bdb == bdb}


def _concentrate(layout: Layout, bdb: int, nodes: list[int], *, copies: bool) -> None:
    """Gather primaries on the node with the most primaries, and those that do not fit on the next one; then the replicas."""
    for primaries_only in (True, False):
        copies_to_place = [
            next((copy for copy in members if copy.is_primary == primaries_only), None)
            for members in _pairs(layout, bdb).values()
        ]
        remaining_pairs = {copy.pair for copy in copies_to_place if copy is not None}
        node_order = sorted(
            nodes,
            key=lambda node: (-layout.count(node, bdb, is_primary=primaries_only), -layout.count(node, bdb), node),
        )
        while node_order and remaining_pairs:
            node = node_order.pop(0)
            if not primaries_only and _has_all_primaries(layout, bdb, node, remaining_pairs):
                continue
            for pair in sorted(remaining_pairs):
                if _place(layout, bdb, pair, node, is_primary=primaries_only, copies=copies):
                    remaining_pairs.discard(pair)


def _has_all_primaries(layout: Layout, bdb: int, node: int, pairs: set[int]) -> bool:
    """Return whether none of these pairs can have its replica on the node, because their primaries are there."""
    return all(any(copy.is_primary and copy.node == node for copy in layout.pair(bdb, pair)) for pair in pairs)


def _place(layout: Layout, bdb: int, pair: int, node: int, *, is_primary: bool, copies: bool) -> bool:
    """Place the copy of this role on the node; return False if this is not possible."""
    members = layout.pair(bdb, pair)
    moving_copy = next(copy for copy in members if copy.is_primary == is_primary)
    if moving_copy.node == node:
        return True
    other = next((copy for copy in members if copy is not moving_copy and copy.node == node), None)
    if other is not None:
        if is_primary and other.ready:
            layout.promote(other.uid)
            return True
        return False
    if copies and moving_copy.ready and layout.fits(bdb, pair, node, leaving=(moving_copy.uid,)):
        layout.move(moving_copy.uid, node)
        return True
    return False


def _difference(layout: Layout, before: list[Copy], after: list[Copy]) -> list[Move]:
    """Return the moves from the old nodes of a pair to its new ones."""
    occupied_nodes = {copy.node for copy in before}
    removed = [copy for copy in before if copy.node not in {each.node for each in after}]
    added = sorted((copy for copy in after if copy.node not in occupied_nodes), key=lambda copy: not copy.is_primary)
    primary = next((copy for copy in before if copy.is_primary), None)
    new_head = next((copy for copy in after if copy.is_primary), None)
    if primary is None or new_head is None:
        return []
    copy_on_target = next((copy for copy in before if copy.node == new_head.node), None)
    if not removed:
        return (
            [relocation_move(layout, primary, None, copy_on_target)]
            if copy_on_target is not None and copy_on_target is not primary
            else []
        )
    if len(removed) > 1:
        return _replacements(layout, sorted(removed, key=lambda copy: not copy.is_primary), added)
    [old], [new] = removed, added
    if copy_on_target is not None:
        return [relocation_move(layout, old, new.node, copy_on_target if copy_on_target is not primary else None)]
    takes_primary_role = not old.is_primary
    text = move_title(layout, old, to=new.node) + (" and promote it" if takes_primary_role else "")
    return [Move(old.bdb, old.pair, text, removed=old.uid, to=new.node, promote_new_shard=takes_primary_role)]


def _replacements(layout: Layout, removed: list[Copy], added: list[Copy]) -> list[Move]:
    """Return the moves of both copies of a pair: the primary to the node of the new primary, the replica to the other node.

    Each move can be the only one that succeeds. If a new copy of a rack-aware database is in the zone of the other old copy, the
    copies therefore change roles instead of zones. If this does not help either, only one of them moves, and another plan moves the
    other one.
    """
    moves = [relocation_move(layout, old, new.node) for old, new in zip(removed, added, strict=False)]
    if not layout.databases[removed[0].bdb].rack_aware or len(added) != len(removed):
        return moves
    [primary, replica], [new_primary, new_replica] = removed, added

    def are_apart(first: Copy, second: Copy) -> bool:
        return are_separate(layout.zones(first.node), layout.zones(second.node))

    are_safe = [are_apart(new_primary, replica), are_apart(new_replica, primary)]
    if all(are_safe):
        return moves
    can_cross = are_apart(new_replica, replica) and are_apart(new_primary, primary)
    if can_cross or not are_apart(primary, replica):
        text = move_title(layout, replica, to=new_primary.node) + " and promote it"
        return [
            relocation_move(layout, primary, new_replica.node),
            Move(replica.bdb, replica.pair, text, removed=replica.uid, to=new_primary.node, promote_new_shard=True),
        ]
    for old, new, is_safe in zip(removed, added, are_safe, strict=True):
        if not is_safe:
            layout.move(new.uid, old.node)
    return [move for move, is_safe in zip(moves, are_safe, strict=True) if is_safe]
