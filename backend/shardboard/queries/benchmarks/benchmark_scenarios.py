"""The library of benchmark scenarios: one YAML file each, part of the package."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from shardboard.errors import NotFound

LIBRARY = Path(__file__).resolve().parents[2] / "scenarios"
REQUIRED = ("name", "title", "source", "database", "phases")


@cache
def list_all() -> Mapping[str, Mapping[str, Any]]:
    """Return all scenarios by name."""
    scenarios = (parse(path.read_text()) for path in sorted(LIBRARY.glob("*.yaml")))
    return {each["name"]: each for each in scenarios}


def parse(text: str) -> dict[str, Any]:
    """Parse a scenario. Raises ValueError with a message if it is invalid."""
    try:
        scenario = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"The scenario is not valid YAML: {error}") from None
    if not isinstance(scenario, dict):
        raise ValueError("The scenario must be a mapping.")
    missing = [name for name in REQUIRED if name not in scenario]
    if missing:
        raise ValueError(f"The scenario does not contain the field {missing[0]}.")
    return scenario


def get_scenario(name: str) -> Mapping[str, Any]:
    scenario = list_all().get(name)
    if scenario is None:
        raise NotFound(
            "scenario_not_found", f"The scenario {name[:60]} does not exist; available: {', '.join(list_all())}."
        )
    return scenario
