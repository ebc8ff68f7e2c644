"""Nodes and cost of the databases of a scenario in RAM only and with values on flash, for documents about cost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shardboard.domain.benchmarks import cost_model
from shardboard.domain.benchmarks.cost_model import Cost, CostComparison, CostModel, NodeSize
from shardboard.domain.benchmarks.scenarios import benchmark_scenarios, scenario_fit

TITLE = "Nodes and cost, with nodes like the smallest of this cluster"
RUN, PUBLISHED = "this run", "published size"


def add_to(
    result: Mapping[str, Any],
    scenario: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    hit_percent: float | None,
    prices: CostModel | None,
    node: NodeSize,
) -> dict[str, Any]:
    """Return the result with the costs of the executed parts and at the published size; unchanged if the document states no cost.

    `hit_percent` is the measured RAM hit ratio with values on flash.
    """
    terms = scenario.get("cost")
    if not terms:
        return dict(result)
    full = benchmark_scenarios.parts(scenario, 1.0)
    sizes = ((RUN, _compare(terms, parts, prices, node)), (PUBLISHED, _compare(terms, full, prices, node)))
    compared = [(size, comparison) for size, comparison in sizes if comparison is not None]
    currency = prices.currency if prices is not None else ""
    table = {
        "title": TITLE,
        "columns": [
            {"name": "RAM", "unit": "bytes"},
            {"name": "Flash", "unit": "bytes"},
            {"name": "Nodes", "unit": ""},
            {"name": "Cost", "unit": currency},
            {"name": "RAM hit ratio", "unit": "%"},
        ],
        "rows": [row for size, comparison in compared for row in _rows(size, comparison, hit_percent)],
    }
    return {
        **result,
        "tables": [*result["tables"], table],
        "figures": [*result["figures"], *_figures(terms, dict(compared)[PUBLISHED])],
    }


def part_with_flash(scenario: Mapping[str, Any]) -> str | None:
    """Return the part whose RAM hit ratio belongs to the costs; None if the document states no cost."""
    name: str | None = scenario.get("cost", {}).get("with_flash")
    return name


def _compare(
    terms: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], prices: CostModel | None, node: NodeSize
) -> CostComparison | None:
    by_name = {part["name"]: part for part in parts}
    names = (terms["ram_only"], terms["with_flash"])
    if not by_name.keys() >= set(names):
        return None
    ram_only, with_flash = (
        cost_model.cost(
            prices,
            node,
            ram=scenario_fit.memory(by_name[name]),
            flash=scenario_fit.flash_space(by_name[name]),
            min_nodes=by_name[name]["nodes"],
        )
        for name in names
    )
    return CostComparison(ram_only, with_flash)


def _rows(size: str, comparison: CostComparison, hit_percent: float | None) -> Iterator[dict[str, Any]]:
    for name, cost, hits in (
        ("RAM only", comparison.ram_only, 100.0),
        ("With flash", comparison.with_flash, hit_percent),
    ):
        values = [cost.ram, cost.flash, cost.nodes, _amount(cost), hits]
        yield {"label": f"{name}, {size}", "published": None, "measured": values}


def _amount(cost: Cost) -> float | str | None:
    return "no prices" if cost.nodes is not None and cost.amount is None else cost.amount


def _figures(terms: Mapping[str, Any], comparison: CostComparison) -> Iterator[dict[str, Any]]:
    saving = comparison.saving
    yield {
        "name": "Nodes for RAM only relative to flash, published size",
        "unit": "",
        "published": None,
        "measured": comparison.node_factor,
    }
    yield {
        "name": "Cost with flash below RAM only, published size",
        "unit": "%",
        "published": terms.get("saving_percent"),
        "measured": None if saving is None else round(100 * saving, 2),
    }
