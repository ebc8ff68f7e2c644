"""SECURITY.md contains only instructions and sentences that tests prove (`security_claims.toml`)."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from backend.tests.support.sources import parse

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "SECURITY.md").read_text()
CLAIMS: Mapping[str, Mapping[str, list[str]]] = tomllib.loads((ROOT / "backend/tests/security_claims.toml").read_text())
PARENTS = {"Protections"}
"""Headings whose sentences are in their subsections."""
INSTRUCTIONS = {"Report a vulnerability", "Rules for operators"}
VERBS = frozenset(
    (
        "Do", "Enable", "Forward", "Generate", "Give", "Include", "Keep", "Leave", "Protect", "Remove", "Replace", "Report",
        "Require", "Set", "Trust", "Use",
    )
)  # fmt: skip
"""First words of instructions."""
MAX_WORDS = 25


def sections(document: str) -> dict[str, list[str]]:
    """Return the sentences of each section. Markup is removed, except code."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^#{2,3} ", document, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        if heading in PARENTS:
            continue
        paragraphs = re.split(r"\n\s*\n|^(?:\*|\d+\.) ", body, flags=re.MULTILINE)
        found[heading] = [sentence for each in paragraphs for sentence in sentences(each)]
    return found


def sentences(paragraph: str) -> Iterator[str]:
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", paragraph).replace("**", "")
    yield from filter(None, re.split(r"(?<=[.!?])\s+", " ".join(text.split())))


def test_each_sentence_is_an_instruction_or_has_tests() -> None:
    found = sections(DOCUMENT)
    for heading in INSTRUCTIONS:
        for sentence in found.pop(heading):
            assert sentence.split()[0] in VERBS, f"{sentence} is not an instruction, so it needs a test"
    assert found == {heading: list(claims) for heading, claims in CLAIMS.items()}
    assert all(tests for claims in CLAIMS.values() for tests in claims.values())


def test_sentences_are_short() -> None:
    found = [each for listed in sections(DOCUMENT).values() for each in listed if len(each.split()) > MAX_WORDS]
    assert found == []


def test_sentence_without_a_test_is_detected() -> None:
    nodes = "### Nodes\n\n* One `a.b`. Two\n  ([link](x)).\n* Three."
    document = f"# Security\n\n## Protections\n\nText.\n\n{nodes}\n\n## Limits\n\n* Four.\n"
    assert sections(document) == {"Nodes": ["One `a.b`.", "Two (link).", "Three."], "Limits": ["Four."]}


@pytest.mark.parametrize(("heading", "claim"), [(heading, claim) for heading in CLAIMS for claim in CLAIMS[heading]])
def test_tests_of_a_claim_exist_and_run(heading: str, claim: str) -> None:
    for test in CLAIMS[heading][claim]:
        path, _, name = test.partition("::")
        assert name in names_of_tests(path), f"{claim} {test} does not exist"


@cache
def names_of_tests(path: str) -> frozenset[str]:
    """Return the names of the tests in a file, without those that never run."""
    file = ROOT / path
    match file.suffix:
        case ".py":
            functions = (node for node in parse(file).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
            return frozenset(
                node.name
                for node in functions
                if node.name.startswith("test_")
                and not any("mark.skip" in ast.unparse(each) for each in node.decorator_list)
            )
        case ".rs":
            return frozenset(re.findall(r"#\[test\]\nfn (\w+)\(", file.read_text()))
        case ".ts":
            return frozenset(found[1] for found in re.findall(r"\btest\((['`])(.*?)\1", file.read_text()))
    raise AssertionError(f"{path} is not a file with tests")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("backend/tests/test_security_claims.py", "test_sentences_are_short"),
        ("e2e/tests/access/security.spec.ts", "scripts that a page inserts do not run and count as errors"),
        ("engine/tier/src/log/tests.rs", "a_directory_has_one_owner"),
    ],
)
def test_tests_of_each_language_are_found(path: str, expected: str) -> None:
    assert expected in names_of_tests(path)
    assert "sections" not in names_of_tests(path)


def test_dependencies_are_locked_by_hash() -> None:
    for name in ("requirements.lock", "requirements-container.lock", "requirements-dev.lock"):
        text = re.sub(r"^\s*#.*\n", "", (ROOT / name).read_text(), flags=re.MULTILINE)
        packages = re.split(r"\n(?=\S)", text.strip())
        assert len(packages) > 10
        assert [each for each in packages if "--hash=sha256:" not in each and not each.startswith("-")] == []
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert [
        name
        for name, each in packages.items()
        if each.get("resolved", "").startswith("http") and not each.get("integrity")
    ] == []
    for name in ("Makefile", "Dockerfile", "scripts/setup-project.sh"):
        lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith((" #", "#", "  #"))]
        for line in lines:
            assert not re.search(r"\bnpm (ci|install)\b", line) or "--ignore-scripts" in line, line
            assert not line.startswith("FROM ") or "@sha256:" in line, line
