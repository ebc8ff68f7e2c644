"""Lost primaries that can get their role back."""

from collections.abc import Collection

from shardboard.domain.layout import Layout, relocation
from shardboard.domain.moves import Move


def returning(layout: Layout, bdb: int, former: Collection[int]) -> list[Move]:
    """Return switchovers to `former` primaries of a database, if these do not worsen the placement."""
    found = []
    for uid in sorted(former):
        copy = layout.copies.get(uid)
        head = next((each for each in layout.pair(bdb, copy.pair) if each.leads), None) if copy is not None else None
        if copy is None or head is None or copy.leads or not copy.ready or copy.node not in layout.nodes:
            continue
        if layout.databases[bdb].dense or _primaries(layout, bdb, copy.node) < _primaries(layout, bdb, head.node):
            found.append(relocation(layout, head, None, copy))
            layout.lead(uid)
    return found


def _primaries(layout: Layout, bdb: int, node: int) -> int:
    return layout.count(node, bdb, leads=True)
