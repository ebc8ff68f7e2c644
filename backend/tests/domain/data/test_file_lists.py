"""Checks of lists of files."""

from typing import Any

import pytest

from shardboard.domain.data.file_lists import MAX_PAGES, InvalidFileList, parse_page


def page(*paths: str, truncated: bool = False) -> dict[str, Any]:
    return {"files": [{"path": path} for path in paths], "truncated": truncated}


def test_valid_pages_are_returned() -> None:
    assert parse_page(page("a/b", "a/c", truncated=True), "a", "", 1) == (["a/b", "a/c"], True)
    assert parse_page(page("a/d"), "a", "a/c", 2) == (["a/d"], False)
    assert parse_page(page(), "a", "a/d", 3) == ([], False)
    assert parse_page(page("a/b", "c"), "", "", 1) == (["a/b", "c"], False)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({}, "invalid list"),
        ({"files": ["a/b"]}, "invalid list"),
        (page("ab/c"), "'ab/c' is not in a"),
        (page("a/../b"), "is not in a"),
        (page("a/b", truncated=True), "does not continue"),
        (page(truncated=True), "does not continue"),
    ],
)
def test_invalid_pages_are_rejected(result: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidFileList, match=message):
        parse_page(result, "a", "a/b", 2)


def test_lists_without_end_are_rejected() -> None:
    assert parse_page(page("a/b", truncated=True), "a", "a/a", MAX_PAGES - 1) == (["a/b"], True)
    assert parse_page(page("a/b"), "a", "a/a", MAX_PAGES) == (["a/b"], False)
    with pytest.raises(InvalidFileList, match="list of files in a does not end after 200 parts"):
        parse_page(page("a/b", truncated=True), "a", "a/a", MAX_PAGES)
