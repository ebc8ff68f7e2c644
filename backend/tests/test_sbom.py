"""Tests of the bill of materials of a release, which is created from the lock files."""

import json
import re
import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "sbom"
TOP = SCRIPT.parents[1]


@pytest.mark.slow
def test_console_and_web_ui_are_listed_with_their_dependencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = runpy.run_path(str(SCRIPT))
    monkeypatch.setitem(script["python"].__globals__, "OUT", tmp_path)
    script["python"]()
    script["npm"]()
    locked = re.findall(r"^([\w.-]+)==([^ ;]+)", (TOP / "requirements.lock").read_text(), re.MULTILINE)
    assert listed(tmp_path / "console.cdx.json") == set(locked)
    page = json.loads((TOP / "frontend" / "package.json").read_text())
    assert set(page["dependencies"].items()) <= listed(tmp_path / "page.cdx.json")
    # No development dependencies, except one that is a peer dependency of the web UI's packages.
    assert {name for name, _ in listed(tmp_path / "page.cdx.json")} & set(page["devDependencies"]) == {"@types/react"}


def listed(path: Path) -> set[tuple[str, str]]:
    content = json.loads(path.read_text())
    assert content["bomFormat"] == "CycloneDX"
    return {
        ("/".join(filter(None, (each.get("group"), each["name"]))), each["version"]) for each in content["components"]
    }
