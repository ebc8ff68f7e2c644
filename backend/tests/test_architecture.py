"""ARCHITECTURE.md lists every package with its imports, and every crate and design page."""

import re
import tomllib
from functools import cache
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


IMPORTS = {package: set(re.findall(r"`([\w.]+)`", cell)) for package, cell in rows("Python packages").items()}
"""Names of packages and modules in the last column, by package."""
PYTHON_PACKAGES = sorted(package for package in IMPORTS if (BACKEND / package / "__init__.py").is_file())


@cache
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("shardboard", cache_dir=None)


def imports_of(package: str) -> set[str]:
    """Return the modules outside the package that it imports directly, without the name of the root package."""
    modules = {f"shardboard.{package}", *imports().find_descendants(f"shardboard.{package}")}
    imported = {name for module in modules for name in imports().find_modules_directly_imported_by(module)}
    return {below(name) for name in imported - modules}


def below(module: str) -> str:
    """Return the name without the root package."""
    return module.removeprefix("shardboard.")


def packages(modules: set[str]) -> set[str]:
    """Return the listed packages that contain the modules."""
    return {module.partition(".")[0] for module in modules} & IMPORTS.keys()


def contracts_of(package: str) -> list[dict[str, Any]]:
    return [
        contract
        for contract in SETTINGS["tool"]["importlinter"]["contracts"]
        if f"shardboard.{package}" in contract.get("source_modules", ())
    ]


def test_every_package_is_listed() -> None:
    assert IMPORTS.keys() == {path.name for path in BACKEND.iterdir() if path.is_dir() and path.name != "__pycache__"}


@pytest.mark.parametrize("package", PYTHON_PACKAGES)
def test_listed_imports_are_those_of_the_code(package: str) -> None:
    assert packages(imports_of(package)) == packages(IMPORTS[package])


@pytest.mark.parametrize("package", PYTHON_PACKAGES)
def test_listed_imports_are_permitted_by_the_contracts(package: str) -> None:
    contracts = contracts_of(package)
    assert contracts, f"[tool.importlinter] has no contract for {package}"
    forbidden = {below(name) for contract in contracts for name in contract["forbidden_modules"]}
    exceptions = {
        below(rule.partition(" -> ")[2]) for contract in contracts for rule in contract.get("ignore_imports", ())
    }
    in_part = {name for name in IMPORTS[package] if name.partition(".")[0] in forbidden}
    assert in_part <= exceptions
    assert packages(in_part) == packages(exceptions)


def test_domain_imports_no_other_module() -> None:
    assert imports_of("domain") == set()


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
