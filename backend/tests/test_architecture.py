"""ARCHITECTURE.md lists every package, layer, crate and design page, and the code has the described structure."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest
from backend.tests.support.sources import parse

from shardboard.domain.access.roles import ManagementRole
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.placement.shard_role import ShardRole

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
    layers_text = DOCUMENT.partition("packages on lower lines:\n\n```text\n")[2].partition("\n```")[0]
    assert [set(line.split(", ")) for line in layers_text.splitlines()] == [
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


STATUS_NAMES = {
    *("status", "statuses", "detailed_status", "observed_status", "agent_status", "health", "duty", "duty_before"),
    *("link", "observed_link", "desired", "bootstrap_state"),
    *("role", "observed_role", "current_role", "desired_role", "management"),
}
"""Variables, attributes, parameters and keys that contain a status or a role."""
UNAMBIGUOUS = {*ShardRole, *ActionName, *(each for each in (*BdbStatus, *ManagementRole) if "-" in each or "_" in each)}
"""Values that are literals of nothing else, so that they are found everywhere."""
LITERALS_ALLOWED = {
    "agent": "may not import domain; states of processes, and words of Valkey's replies and files",
    "contract": "may not import domain; mypy checks its Literal types against the senders",
    "valkey": "may not import domain; words of Valkey's replies",
    "driver/fake_agents.py": "master_link_status of Valkey",
    "api/cluster/cluster.py": "the only status that the REST reference defines for a license",
    "api/http/openapi/request_examples.py": "examples of bodies of requests, as JSON",
    "api/failures/availability.py": "the only body of a reply of the REST reference",
    "local/simulation/database.py": "words of Valkey's replies",
    "schemas/databases/bdb_fields.py": "background_op, which Shardboard does not use",
    "schemas/failures/availability.py": "statuses and roles of the health report, which its Literal types list",
}
"""Packages and files of `backend/shardboard` with literals, and the reason."""


def name_of(node: ast.AST) -> str:
    """Return the name of a variable, attribute, key or getter; "" if the expression has none."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="in_" | "startswith" | "count", value=value)):
            return name_of(value)
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case _:
            return ""


def texts(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield the strings that an expression can have as value, or that it contains as elements."""
    match node:
        case ast.Constant(value=str(value)) if value:
            yield node
        case ast.IfExp(body=body, orelse=orelse):
            yield from [*texts(body), *texts(orelse)]
        case ast.Tuple(elts=elements) | ast.Set(elts=elements) | ast.List(elts=elements) | ast.BoolOp(values=elements):
            yield from (each for element in elements for each in texts(element))
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "list" | "tuple"), args=arguments):
            yield from (each for argument in arguments for each in texts(argument))


def status_texts(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield strings that are compared with, assigned to or passed as a status or role."""
    pairs: list[tuple[str, ast.AST]] = []
    match node:
        case ast.Compare(left=left, comparators=others):
            if any(name_of(side) in STATUS_NAMES for side in (left, *others)):
                yield from (each for side in (left, *others) for each in texts(side))
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs += zip(map(name_of, target.elts), value.elts, strict=False)
                else:
                    pairs.append((name_of(target), value))
        case ast.AnnAssign(target=target, value=ast.AST() as value):
            pairs.append((name_of(target), value))
        case ast.keyword(arg=str(name), value=value):
            pairs.append((name, value))
        case ast.Dict(keys=keys, values=values):
            pairs += [
                (str(key.value), value)
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant)
            ]
        case ast.Call(func=ast.Attribute(), args=arguments) if name_of(node) in STATUS_NAMES:
            yield from (each for argument in arguments for each in texts(argument) if name_of(node) != each.value)
    yield from (each for name, value in pairs if name in STATUS_NAMES for each in texts(value))


def test_statuses_roles_and_action_names_are_written_as_members_of_their_enumerations() -> None:
    violations = set()
    for path in BACKEND.rglob("*.py"):
        name = path.relative_to(BACKEND).as_posix()
        nodes = list(ast.walk(parse(path)))
        enumerated = {
            each
            for node in nodes
            if isinstance(node, ast.ClassDef) and "StrEnum" in map(name_of, node.bases)
            for each in ast.walk(node)
        }
        literals = [each for node in nodes for each in status_texts(node)]
        literals += [node for node in nodes if isinstance(node, ast.Constant) and node.value in UNAMBIGUOUS]
        allowed = next((each for each in (name, name.partition("/")[0]) if each in LITERALS_ALLOWED), None)
        violations |= {allowed or f"{name}:{each.lineno} {each.value!r}" for each in literals if each not in enumerated}
    assert violations == LITERALS_ALLOWED.keys()


def test_stored_parameters_of_actions_are_read_by_their_models() -> None:
    readers = {
        path.relative_to(BACKEND).as_posix()
        for path in BACKEND.rglob("*.py")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute) and node.attr == "params"
    }
    assert readers == {"actions/parameters.py", "state/cluster/actions.py"}


def test_integrations_import_nothing_of_the_console() -> None:
    paths = (path for path in (ROOT / "integrations").rglob("*.py") if not path.name.startswith("test_"))
    sources = (path.read_text() for path in paths)
    assert not any(re.search(r"^\s*(from|import) shardboard\b", source, re.MULTILINE) for source in sources)
