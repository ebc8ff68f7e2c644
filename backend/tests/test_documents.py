"""Test that links in the documentation lead to files and headings."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = subprocess.check_output(["git", "ls-files", "*.md"], cwd=ROOT, text=True).split()
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(\s*([^)\s]+)\s*\)")


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, in the form of GitHub."""
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)}


def anchor(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page: str) -> None:
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", (ROOT / page).read_text()))
    broken = []
    for link in LINK.findall(text):
        path, _, fragment = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if link.startswith(("http:", "https:")):
            continue
        if not target.exists() or (fragment and fragment not in anchors(target.resolve())):
            broken.append(link)
    assert broken == []


def test_anchors_are_those_of_headings() -> None:
    assert anchor("TLS for `clients`: [how](a.md#b), and why") == "tls-for-clients-how-and-why"
    assert "quick-start" in anchors(ROOT / "README.md")
