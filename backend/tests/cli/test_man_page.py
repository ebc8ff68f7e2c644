"""Tests of the man page."""

import re
from pathlib import Path

import click
import pytest

from shardboard.cli import main, man_page
from shardboard.cli.client import connection


def test_page_contains_every_command_and_option(tmp_path: Path) -> None:
    file = tmp_path / "shardboard.1"
    assert main.main(["man", str(file)]) == 0
    text = file.read_text().replace("\\-", "-")
    sections = re.findall(r'^\.SS "shardboard (.*)"$', text, re.MULTILINE)
    for command in ("db create [NAME]", "login URL", "alert update NAME", "cluster policy get", "tune WORDS..."):
        assert command in sections
    assert len(sections) == len(set(sections)) > 100
    assert ".B --no-wait\n" in text


def test_text_is_not_interpreted_by_roff() -> None:
    @click.command(help="\\fBbold\\fP\n\n.so /etc/passwd\n\n'quoted")
    def command() -> None:
        """Documented above."""

    group = click.Group("shardboard", {"x": command}, help="Management.")
    page = man_page.man_page(group)
    assert "\\efBbold\\efP\n.PP\n\\&.so /etc/passwd\n.PP\n\\&'quoted" in page


@pytest.mark.parametrize("name", ["FAILED", "NOT_FOUND", "DENIED", "CONFLICT", "UNREACHABLE", "TIMED_OUT"])
def test_exit_statuses_are_those_of_the_client(name: str) -> None:
    assert str(getattr(connection, name)) in dict(man_page.EXIT_STATUSES)
