"""Lost primaries that can get their role back."""

from collections.abc import Collection

from shardboard.domain.placement.layout import Layout, relocation_move
from shardboard.domain.placement.moves import Move


def switch_back_moves(layout: Layout, bdb: int, former: Collection[int]) -> list[Move]:
    """Return switchovers to `former` primaries of a database, if these do not worsen the placement."""
    moves = []
    for uid in sorted(former):
        copy = layout.copies.get(uid)
        primary = (
            next((each for each in layout.pair(bdb, copy.pair) if each.is_primary), None) if copy is not None else None
        )
        if copy is None or primary is None or copy.is_primary or not copy.ready or copy.node not in layout.nodes:
            continue
        if layout.databases[bdb].dense or _primaries(layout, bdb, copy.node) < _primaries(layout, bdb, primary.node):
            moves.append(relocation_move(layout, primary, None, copy))
            layout.promote(uid)
    return moves


def _primaries(layout: Layout, bdb: int, node: int) -> int:
    return layout.count(node, bdb, is_primary=True)
