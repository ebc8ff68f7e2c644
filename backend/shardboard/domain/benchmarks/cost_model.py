"""Nodes and cost of a data set with all values in RAM, and with a part of them on flash."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

GB = 10**9
"""Prices are per GB, as vendors state them."""


@dataclass(frozen=True)
class CostModel:
    """Prices, all for the same period, in one currency."""

    currency: str
    """Text that is displayed with amounts, such as "EUR per month"."""
    ram_gb: float
    flash_gb: float
    node: float
    """Price of a node without RAM and flash for data."""


@dataclass(frozen=True)
class NodeSize:
    """Bytes of a node that databases can use."""

    ram: int
    flash: int = 0


def smallest_node(nodes: Iterable[NodeSize]) -> NodeSize:
    """Return the size of the node with the least RAM; if some nodes have flash, of those."""
    sizes = list(nodes)
    return min([size for size in sizes if size.flash] or sizes, key=lambda size: size.ram, default=NodeSize(0))


@dataclass(frozen=True)
class Cost:
    """Nodes and cost of a data set. `ram` and `flash` are bytes, replicas included."""

    ram: int
    flash: int
    nodes: int | None
    """None: a node has no capacity of this kind, or its size is unknown."""
    amount: float | None
    """Cost in the currency of the model; None without prices, and if the number of nodes is unknown."""


def cost(model: CostModel | None, node: NodeSize, *, ram: int, flash: int = 0, min_nodes: int = 1) -> Cost:
    """Return the nodes and the cost of `ram` and `flash` bytes of data, replicas included.

    `min_nodes` is the number of nodes that the layout needs in any case, for example two with replicas.
    """
    required = [_nodes(ram, node.ram), _nodes(flash, node.flash)]
    if None in required:
        return Cost(ram, flash, None, None)
    nodes = max(min_nodes, *(each for each in required if each is not None))
    if model is None:
        return Cost(ram, flash, nodes, None)
    amount = ram / GB * model.ram_gb + flash / GB * model.flash_gb + nodes * model.node
    return Cost(ram, flash, nodes, round(amount, 2))


@dataclass(frozen=True)
class CostComparison:
    """The same data set in RAM only, and with a part on flash."""

    ram_only: Cost
    with_flash: Cost

    @property
    def node_factor(self) -> float | None:
        """How many times the nodes RAM only needs."""
        return _ratio(self.ram_only.nodes, self.with_flash.nodes)

    @property
    def saving(self) -> float | None:
        """Share of the cost of RAM only that flash saves, 0-1; negative if flash costs more."""
        ratio = _ratio(self.with_flash.amount, self.ram_only.amount)
        return None if ratio is None else round(1 - ratio, 4)


def compare(
    model: CostModel | None,
    node: NodeSize,
    *,
    data: int,
    ram: int,
    min_nodes: int = 1,
) -> CostComparison:
    """Compare `data` bytes in RAM with `ram` bytes of them in RAM and the rest on flash, replicas included."""
    return CostComparison(
        cost(model, node, ram=data, min_nodes=min_nodes),
        cost(model, node, ram=ram, flash=max(0, data - ram), min_nodes=min_nodes),
    )


def _nodes(size: int, of_node: int) -> int | None:
    if not size:
        return 0
    return ceil(size / of_node) if of_node > 0 else None


def _ratio(part: float | None, of: float | None) -> float | None:
    return round(part / of, 4) if part is not None and of else None
