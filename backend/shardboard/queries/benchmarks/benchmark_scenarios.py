"""The library of benchmark scenarios: one YAML file each, part of the package."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from shardboard.errors import NotFound

LIBRARY = Path(__file__).resolve().parents[2] / "scenarios"
REQUIRED = ("name", "title", "source", "parts")
REQUIRED_OF_PART = ("name", "database", "phases")
TEXTS = ("name", "title", "document", "source", "about", "needs")


@cache
def list_all() -> Mapping[str, Mapping[str, Any]]:
    """Return all scenarios by name, in the order of the documents."""
    scenarios = [parse(path.read_text()) for path in sorted(LIBRARY.glob("*.yaml"))]
    return {each["name"]: each for each in sorted(scenarios, key=lambda each: each["document"])}


def parse(text: str) -> dict[str, Any]:
    """Parse a scenario. Raises ValueError with a message if it is invalid."""
    try:
        scenario = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"The scenario is not valid YAML: {error}") from None
    if not isinstance(scenario, dict):
        raise ValueError("The scenario must be a mapping.")
    scenario = _with_parts(scenario)
    missing = [name for name in REQUIRED if name not in scenario]
    if missing:
        raise ValueError(f"The scenario does not contain the field {missing[0]}.")
    if not isinstance(scenario["parts"], list) or not scenario["parts"]:
        raise ValueError("The field parts of the scenario must be a list with at least one part.")
    for part in scenario["parts"]:
        missing = [name for name in REQUIRED_OF_PART if not isinstance(part, dict) or name not in part]
        if missing:
            raise ValueError(f"A part of the scenario does not contain the field {missing[0]}.")
    return {
        **scenario,
        **{name: " ".join(str(scenario.get(name, "")).split()) for name in TEXTS},
        "unpublished": [" ".join(each.split()) for each in scenario.get("unpublished", [])],
        "parts": [{"nodes": 1, **part} for part in scenario["parts"]],
    }


def _with_parts(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario with parts. Files of users with one part contain its fields themselves."""
    if "parts" in scenario or "phases" not in scenario:
        return scenario
    names = ("database", "workload", "phases", "repetitions", "sla", "drill", "find_max")
    part = {name: scenario[name] for name in names if name in scenario}
    return {**scenario, "parts": [{"name": scenario.get("name"), **part}]}


def get_scenario(name: str) -> Mapping[str, Any]:
    scenario = list_all().get(name)
    if scenario is None:
        raise NotFound(
            "scenario_not_found", f"The scenario {name[:60]} does not exist; available: {', '.join(list_all())}."
        )
    return scenario
