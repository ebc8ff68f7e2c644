"""Tests of which key regexes are equivalent to standard hash tags."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.databases import hashing

MISPRINTED_RULES = (r".*\{(?!<tag>.*\}\}\}.*", "(?!<tag>.*)")


def test_standard_rules_are_accepted() -> None:
    assert hashing.judge(hashing.STANDARD) == hashing.HashingVerdict()


@pytest.mark.parametrize(
    "rules",
    [
        (r".*\{(?P<tag>.*)\}.*", "(?P<tag>.*)"),
        (r"^.*\{(?<tag>.*)\}.*$", "^(?<tag>.*)$"),
        (r"[^{]*\{(?<tag>[^}]+)\}.*", "(?<tag>.+)"),
        (r".*?[{](?<tag>.+?)[}].*", "(?<tag>.*)"),
        (r".*{(?<tag>.*)}.*", "(?<tag>.*)"),
        (*hashing.STANDARD, "rules after the rule for the whole key are never reached"),
    ],
)
def test_other_spellings_are_accepted(rules: tuple[str, ...]) -> None:
    assert hashing.judge(rules) == hashing.HashingVerdict()


def test_published_misprint_is_accepted() -> None:
    assert hashing.judge(MISPRINTED_RULES) == hashing.HashingVerdict(misprint=True)
    assert hashing.judge((r".*\{(?!<tag>.*)\}.*", "(?<tag>.*)")) == hashing.HashingVerdict(misprint=True)


def test_unbalanced_braces_are_accepted_only_in_the_misprint() -> None:
    assert hashing.judge((r".*\{(?<tag>.*\}\}\}.*", "(?<tag>.*)")).refusal


@pytest.mark.parametrize(
    "rules",
    [
        ("(?<tag>.*)",),
        ("(?<tag>.*)", r".*\{(?<tag>.*)\}.*"),
        (r".*\{(?<tag>.*)\}.*",),
        (r".*:(?<tag>\d+):.*", "(?<tag>.*)"),
        (r".*\[(?<tag>.*)\].*", "(?<tag>.*)"),
        ("",),
        ("(", "(?<tag>.*)"),
        (r".* \{(?<tag>.*)\}.*", "(?<tag>.*)"),
    ],
)
def test_unsupported_rules_are_refused_with_a_reason(rules: tuple[str, ...]) -> None:
    refusal = hashing.judge(rules).refusal
    assert refusal.endswith(".")
    assert len(refusal) > 40


def test_last_rule_is_optional_when_unmatched_keys_are_hashed_whole() -> None:
    assert hashing.judge(hashing.STANDARD[:1], implicit_shard_key=True) == hashing.HashingVerdict()
    assert hashing.judge(("other",), implicit_shard_key=True).refusal


@given(
    st.lists(st.text(max_size=200) | st.sampled_from(hashing.STANDARD + MISPRINTED_RULES), max_size=6), st.booleans()
)
def test_any_list_gets_a_verdict(rules: list[str], implicit: bool) -> None:
    verdict = hashing.judge(rules, implicit_shard_key=implicit)
    if not verdict.refusal:
        assert len(rules) > 0
        assert any("tag" in rule for rule in rules)


@given(st.text(min_size=1, max_size=50))
def test_changed_rule_is_not_accepted_as_the_standard_rule(insertion: str) -> None:
    head, tail = hashing.TAG_RULE[:4], hashing.TAG_RULE[4:]
    verdict = hashing.judge((head + insertion + tail, hashing.WHOLE_KEY_RULE))
    assert verdict.refusal


def test_hostile_patterns_are_judged_quickly() -> None:
    start = time.process_time()
    assert hashing.judge(["(a+)+" * 200 + "$", "(?<tag>.*)"]).refusal
    assert time.process_time() - start < 5, "the pattern was matched with exponential backtracking"
