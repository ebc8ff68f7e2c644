"""ARCHITECTURE.md lists every package, layer, crate and design page, and the code has the described structure."""

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).parents[2]
BACKEND = ROOT / "backend" / "shardboard"
DOCUMENT = (ROOT / "ARCHITECTURE.md").read_text()
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())


def rows(heading: str) -> dict[str, str]:
    """Return the rows of the table below a heading: the name in the first column, and the last column."""
    section = DOCUMENT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): cells[-1] for cells in lines}


def contracts(kind: str) -> list[dict[str, Any]]:
    """Return the contracts of a type in the configuration of import-linter."""
    return [each for each in SETTINGS["tool"]["importlinter"]["contracts"] if each["type"] == kind]


def test_every_package_is_listed() -> None:
    folders = {path.name for path in BACKEND.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rows("Python packages").keys() == folders


def test_listed_layers_are_those_that_the_linter_checks() -> None:
    [contract] = contracts("layers")
    listed = DOCUMENT.partition("packages of lower lines:\n\n```\n")[2].partition("\n```")[0]
    assert [set(line.split(", ")) for line in listed.splitlines()] == [
        set(layer.split(" | ")) for layer in contract["layers"]
    ]


def test_package_root_contains_only_startup_settings_and_errors() -> None:
    assert {path.stem for path in BACKEND.glob("*.py")} == {
        *("__init__", "__main__", "app", "console", "errors", "settings")
    }


@pytest.mark.parametrize(
    "root", ["backend", "perf", "scripts", "frontend/src", "e2e/tests", "engine/proxy/src", "engine/load/src"]
)
def test_folders_have_at_most_25_files(root: str) -> None:
    """A folder with more files is split into areas."""
    files = (path for path in (ROOT / root).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert {path: number for path, number in Counter(path.parent for path in files).items() if number > 25} == {}


def test_domain_imports_no_other_module() -> None:
    graph = grimp.build_graph("shardboard", cache_dir=None)
    modules = {"shardboard.domain", *graph.find_descendants("shardboard.domain")}
    imported = {name for module in modules for name in graph.find_modules_directly_imported_by(module)}
    assert imported <= modules


def test_every_crate_is_listed() -> None:
    workspace = tomllib.loads((ROOT / "engine" / "Cargo.toml").read_text())["workspace"]
    assert rows("Rust workspace").keys() == set(workspace["members"])


def test_listed_folders_exist() -> None:
    folders = rows("Top-level folders")
    assert folders
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_links_lead_to_files_and_include_every_design_page() -> None:
    linked = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", DOCUMENT)}
    assert [path for path in linked if not (ROOT / path).exists()] == []
    pages = {f"docs/design/{page.name}" for page in (ROOT / "docs" / "design").glob("*.md")}
    assert pages - {"docs/design/README.md"} <= linked
