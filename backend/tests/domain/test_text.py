"""Tests of texts in messages, reports and exports."""

import pytest

from shardboard.domain.text import as_sentence, csv_text, markdown_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orders & carts", "orders &amp; carts"),
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
        ("[a](javascript:alert(1))", "\\[a\\](javascript:alert(1))"),
        ("![](http://example.org/track)", "!\\[\\](http://example.org/track)"),
        ("a|b\\|c", "a\\|b\\\\\\|c"),
        ("a\r\n# b", "a  # b"),
        ("&lt;b>", "&amp;lt;b&gt;"),
        ("`code`", "\\`code\\`"),
        ("redis:5 → redis:6, 5,461 slots", "redis:5 → redis:6, 5,461 slots"),
    ],
)
def test_markdown_shows_texts_as_they_are(text: str, expected: str) -> None:
    assert markdown_text(text) == expected


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_csv_texts_are_not_formulas(text: str) -> None:
    assert csv_text(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "read", "a=b", "1+1", " =1"])
def test_other_csv_texts_do_not_change(text: str) -> None:
    assert csv_text(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no capacity", "No capacity."),
        ("No capacity.", "No capacity."),
        ("node 2 is unreachable", "Node 2 is unreachable."),
        ("re-read the file?", "Re-read the file?"),
        ("daily-5/0-16383.rdb.gz cannot be read.", "daily-5/0-16383.rdb.gz cannot be read."),
        ("redis:3 does not run", "redis:3 does not run."),
        ("/etc/x is missing", "/etc/x is missing."),
        ("", "."),
    ],
)
def test_reasons_become_sentences_without_changes_of_names(text: str, expected: str) -> None:
    assert as_sentence(text) == expected
