"""Size of the nodes that costs assume."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.benchmarks import cost_model
from shardboard.domain.benchmarks.cost_model import NodeSize
from shardboard.state.cluster import nodes


async def node_size(session: AsyncSession) -> NodeSize:
    """Return the size of the nodes that costs assume: the smallest of this cluster."""
    return cost_model.smallest_node(
        NodeSize(int(node.facts.get("total_memory", 0)), node.flash_size) for node in await nodes.list_all(session)
    )
