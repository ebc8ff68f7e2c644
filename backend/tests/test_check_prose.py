"""`scripts/check-prose` finds a rejected phrase in every kind of file, and only in text."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check-prose"
PHRASE, PRONOUN = "mean" + "while", "Wh" + "o"


def check(*arguments: str) -> list[str]:
    """Return the problems that the script prints."""
    result = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)
    assert result.returncode == (1 if result.stdout else 0), result.stderr
    return result.stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("page.md", f"# Title\n\nIt waits {PHRASE}.\n", 3),
        ("module.py", f'def wait() -> None:\n    """Wait {PHRASE} for it."""\n', 2),
        ("module.py", f"x = 1  # {PHRASE}\n", 1),
        ("module.py", f'raise ValueError(f"It waits {PHRASE}.")\n', 1),
        ("Page.tsx", f"const a = 1;\nreturn <p>Please wait {PHRASE}.</p>;\n", 2),
        ("words.ts", f"const label = 'It waits {PHRASE}';\n", 1),
        ("words.ts", f"/** It waits\n * {PHRASE}. */\n", 2),
        ("lib.rs", f"fn a() {{}}\n/// It waits {PHRASE}.\n", 2),
        ("script.sh", f"wait # {PHRASE}\n", 1),
        ("openapi.json", f'{{"paths": {{"/x": {{"get": {{"description": "Wait {PHRASE}."}}}}}}}}', 1),
        ("page.md", f"One sentence. {PRONOUN} reads this is lost.\n", 1),
    ],
)
def test_a_phrase_is_found(tmp_path: Path, name: str, content: str, line: int) -> None:
    path = tmp_path / name
    path.write_text(content)
    [problem] = check(str(path))
    assert problem.startswith(f"{path}:{line}: ")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("page.md", f"Run `{PHRASE}` now.\n```\n{PHRASE}\n```\nWhat is it? [Text](https://example.org/{PHRASE})\n"),
        ("module.py", f"{PHRASE} = 1\n"),
        ("module.py", f"# The variable `{PHRASE}` is not text.\n"),
        ("words.ts", f"const {PHRASE} = 1;\n"),
    ],
)
def test_code_is_not_searched(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert check(str(path)) == []


@pytest.mark.parametrize(
    ("message", "problems"),
    [
        ("api: add a page of logs\n\nThe reason.\n", 0),
        ("Add a page of logs\n", 1),
        ("api: add a page of logs.\n", 1),
        (f"api: {'add ' * 20}pages\n", 1),
        (f"api: add a page of logs\n\nIt waits {PHRASE}.\n# Comments of git: {PHRASE}\n", 1),
    ],
)
def test_commit_messages(tmp_path: Path, message: str, problems: int) -> None:
    path = tmp_path / "COMMIT_EDITMSG"
    path.write_text(message)
    assert len(check("--message", str(path))) == problems


@pytest.mark.parametrize(
    ("name", "content", "count"),
    [
        ("page.md", "The rate is 20 %.\n", 1),
        ("page.md", "It waits 5 seconds.\n", 1),
        ("page.md", "Run this:\n\n```bash\ncurl https://console:9443/v1/bdbs\n```\n", 1),
        ("page.md", "See [decision](../adr/0001-a.md).\n", 1),
        ("module.py", '"""The rate is 20 % after 5 seconds."""\n', 0),
    ],
)
def test_rules_for_markdown(tmp_path: Path, name: str, content: str, count: int) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert len(check(str(path))) == count
