"""The library of scenarios: one YAML file each, in the package."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from shardboard.errors import NotFound

LIBRARY = Path(__file__).resolve().parents[1] / "scenarios"
REQUIRED = ("name", "title", "source", "database", "phases")


@cache
def every() -> Mapping[str, Mapping[str, Any]]:
    """By name."""
    found = (load(path.read_text()) for path in sorted(LIBRARY.glob("*.yaml")))
    return {each["name"]: each for each in found}


def load(text: str) -> dict[str, Any]:
    """Raises ValueError with a sentence when it is no scenario."""
    try:
        said = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"It is no YAML: {error}") from None
    if not isinstance(said, dict):
        raise ValueError("A scenario is a mapping.")
    missing = [name for name in REQUIRED if name not in said]
    if missing:
        raise ValueError(f"A scenario has the field {missing[0]}.")
    return said


def find(name: str) -> Mapping[str, Any]:
    scenario = every().get(name)
    if scenario is None:
        raise NotFound("scenario_not_found", f"There is no scenario {name[:60]}; there are {', '.join(every())}.")
    return scenario
