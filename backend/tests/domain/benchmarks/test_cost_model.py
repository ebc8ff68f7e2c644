"""Tests of the cost of a data set in RAM and on flash."""

import pytest

from shardboard.domain.benchmarks.cost_model import CostModel, NodeSize, compare, cost, smallest_node

GB, TIB, GIB = 10**9, 2**40, 2**30
PRICES = CostModel("EUR", ram_gb=3.0, flash_gb=0.5, node=100.0)
NODE = NodeSize(ram=512 * GIB, flash=2 * TIB)


def test_ram_only_needs_three_times_the_nodes() -> None:
    """1.5 TiB in RAM, or 256 GiB of it in RAM and the rest on flash, as in the memory drive document."""
    comparison = compare(PRICES, NODE, data=1536 * GIB, ram=256 * GIB)
    assert (comparison.ram_only.nodes, comparison.with_flash.nodes) == (3, 1)
    assert comparison.node_factor == 3
    assert comparison.ram_only.amount == pytest.approx(1536 * GIB / GB * 3 + 300, abs=0.01)
    assert comparison.with_flash.amount == pytest.approx(256 * GIB / GB * 3 + 1280 * GIB / GB * 0.5 + 100, abs=0.01)
    assert comparison.saving == pytest.approx(1 - 1611.87 / 5247.8, abs=0.001)


@pytest.mark.parametrize(
    ("ram", "flash", "min_nodes", "nodes"),
    [
        pytest.param(512 * GIB, 0, 1, 1, id="exactly one node"),
        pytest.param(512 * GIB + 1, 0, 1, 2, id="one byte more"),
        pytest.param(GIB, 5 * TIB, 1, 3, id="flash decides"),
        pytest.param(GIB, GIB, 2, 2, id="layout decides"),
        pytest.param(0, 0, 1, 1, id="no data"),
    ],
)
def test_nodes_have_capacity_for_ram_and_flash(ram: int, flash: int, min_nodes: int, nodes: int) -> None:
    assert cost(None, NODE, ram=ram, flash=flash, min_nodes=min_nodes).nodes == nodes


def test_costs_are_unknown_without_prices_or_capacity() -> None:
    assert cost(None, NODE, ram=GIB).amount is None
    without_flash = compare(PRICES, NodeSize(ram=GIB), data=4 * GIB, ram=GIB)
    assert (without_flash.ram_only.nodes, without_flash.with_flash.nodes) == (4, None)
    assert (without_flash.with_flash.amount, without_flash.node_factor, without_flash.saving) == (None, None, None)
    assert cost(PRICES, NodeSize(0), ram=GIB).nodes is None


def test_flash_can_cost_more() -> None:
    expensive = CostModel("EUR", ram_gb=1.0, flash_gb=2.0, node=0.0)
    assert compare(expensive, NODE, data=100 * GIB, ram=50 * GIB).saving == -0.5


def test_free_hardware_has_no_saving() -> None:
    assert compare(CostModel("EUR", 0, 0, 0), NODE, data=GIB, ram=GIB).saving is None


def test_smallest_node_with_flash_is_the_reference() -> None:
    nodes = [NodeSize(GIB), NodeSize(3 * GIB, TIB), NodeSize(2 * GIB, TIB)]
    assert smallest_node(nodes) == NodeSize(2 * GIB, TIB)
    assert smallest_node(nodes[:1]) == NodeSize(GIB)
    assert smallest_node([]) == NodeSize(0)
