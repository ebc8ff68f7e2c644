"""What a release is made of, from the lock files."""

import json
import re
import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "sbom"
TOP = SCRIPT.parents[1]


@pytest.mark.slow
def test_console_and_page_are_listed_with_all_that_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = runpy.run_path(str(SCRIPT))
    monkeypatch.setitem(script["python"].__globals__, "OUT", tmp_path)
    script["python"]()
    script["npm"]()
    locked = re.findall(r"^([\w.-]+)==([^ ;]+)", (TOP / "requirements.lock").read_text(), re.MULTILINE)
    assert listed(tmp_path / "console.cdx.json") == set(locked)
    page = json.loads((TOP / "frontend" / "package.json").read_text())
    assert set(page["dependencies"].items()) <= listed(tmp_path / "page.cdx.json")
    # Of what only building and testing need nothing, but for one that packages of the page name as a peer.
    assert {name for name, _ in listed(tmp_path / "page.cdx.json")} & set(page["devDependencies"]) == {"@types/react"}


def listed(path: Path) -> set[tuple[str, str]]:
    found = json.loads(path.read_text())
    assert found["bomFormat"] == "CycloneDX"
    return {
        ("/".join(filter(None, (each.get("group"), each["name"]))), each["version"]) for each in found["components"]
    }
