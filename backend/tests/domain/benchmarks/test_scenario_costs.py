"""Tests of the costs in results of scenarios."""

from typing import Any

import pytest

from shardboard.domain.benchmarks.cost_model import CostModel, NodeSize
from shardboard.domain.benchmarks.scenarios import benchmark_scenarios, scenario_costs, scenario_fit
from shardboard.queries.benchmarks import benchmark_scenarios as library

GB = 10**9
NODE = NodeSize(ram=256 * GB, flash=2000 * GB)
PRICES = CostModel("EUR per month", ram_gb=4.0, flash_gb=0.1, node=100.0)
EMPTY: dict[str, Any] = {"tables": [], "figures": [], "deviations": [], "series": []}


def costs(name: str, scale: float, hit_percent: float | None, prices: CostModel | None = PRICES) -> dict[str, Any]:
    scenario = library.get_scenario(name)
    parts = benchmark_scenarios.parts(scenario, scale)
    return scenario_costs.add_to(EMPTY, scenario, parts, hit_percent, prices, NODE)


@pytest.mark.parametrize("name", ["dram-vs-extended", "memory-drive"])
def test_ram_only_is_compared_with_flash_at_the_measured_hit_ratio(name: str) -> None:
    result = costs(name, 0.01, 85.0)
    [table] = result["tables"]
    assert [column["unit"] for column in table["columns"]] == ["bytes", "bytes", "", "EUR per month", "%"]
    rows = {row["label"]: row["measured"] for row in table["rows"]}
    assert list(rows) == [
        "RAM only, this run",
        "With flash, this run",
        "RAM only, published size",
        "With flash, published size",
    ]
    scenario = library.get_scenario(name)
    full = {part["name"]: part for part in benchmark_scenarios.parts(scenario, 1.0)}
    extended = full[scenario["cost"]["with_flash"]]
    ram, flash, nodes, amount, hits = rows["With flash, published size"]
    assert (ram, flash) == (scenario_fit.memory(extended), scenario_fit.flash_space(extended))
    assert amount == pytest.approx(ram / GB * 4 + flash / GB * 0.1 + nodes * 100, abs=0.01)
    assert [row[4] for row in rows.values()] == [100, hits, 100, hits]
    assert hits == 85
    ram_only = rows["RAM only, published size"]
    assert ram_only[2] == -(-ram_only[0] // NODE.ram)
    factor, saving = result["figures"]
    assert factor["measured"] == pytest.approx(ram_only[2] / nodes, abs=1e-4)
    assert saving["measured"] == pytest.approx(100 * (1 - amount / ram_only[3]), abs=0.01)
    assert saving["published"] == (40 if name == "memory-drive" else None)


def test_unknown_prices_and_hit_ratios_are_no_numbers() -> None:
    result = costs("memory-drive", 0.01, None, None)
    assert [row["measured"][3:] for row in result["tables"][0]["rows"]] == [["no prices", 100], ["no prices", None]] * 2
    assert result["figures"][0]["measured"] is not None
    assert result["figures"][1]["measured"] is None


def test_a_node_without_flash_has_no_costs() -> None:
    scenario = library.get_scenario("memory-drive")
    parts = benchmark_scenarios.parts(scenario, 0.01)
    result = scenario_costs.add_to(EMPTY, scenario, parts, None, PRICES, NodeSize(256 * GB))
    assert result["tables"][0]["rows"][1]["measured"][2:] == [None, None, None]


def test_other_documents_have_no_costs() -> None:
    with_cost = [name for name in library.list_all() if library.get_scenario(name).get("cost")]
    assert with_cost == ["dram-vs-extended", "memory-drive"]
    assert costs("load-test", 0.01, None) == EMPTY
    assert scenario_costs.part_with_flash(library.get_scenario("load-test")) is None
