"""Which key regexes mean standard hash-tag hashing."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain import hashing

PAPER = (r".*\{(?!<tag>.*\}\}\}.*", "(?!<tag>.*)")


def test_standard_policy_is_accepted_without_remark() -> None:
    assert hashing.judge(hashing.STANDARD) == hashing.Verdict()


@pytest.mark.parametrize(
    "rules",
    [
        (r".*\{(?P<tag>.*)\}.*", "(?P<tag>.*)"),
        (r"^.*\{(?<tag>.*)\}.*$", "^(?<tag>.*)$"),
        (r"[^{]*\{(?<tag>[^}]+)\}.*", "(?<tag>.+)"),
        (r".*?[{](?<tag>.+?)[}].*", "(?<tag>.*)"),
        (r".*{(?<tag>.*)}.*", "(?<tag>.*)"),
        (*hashing.STANDARD, "what comes after the whole key never decides"),
    ],
)
def test_other_spellings_are_accepted(rules: tuple[str, ...]) -> None:
    assert hashing.judge(rules) == hashing.Verdict()


def test_published_misprint_is_read_as_it_was_meant() -> None:
    assert hashing.judge(PAPER) == hashing.Verdict(misprint=True)
    assert hashing.judge((r".*\{(?!<tag>.*)\}.*", "(?<tag>.*)")) == hashing.Verdict(misprint=True)


def test_braces_may_stay_unbalanced_only_in_the_misprint() -> None:
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
def test_what_the_engine_cannot_do_is_refused_in_a_sentence(rules: tuple[str, ...]) -> None:
    refusal = hashing.judge(rules).refusal
    assert refusal.endswith(".")
    assert len(refusal) > 40


def test_last_rule_is_optional_when_unmatched_keys_are_hashed_whole() -> None:
    assert hashing.judge(hashing.STANDARD[:1], implicit_shard_key=True) == hashing.Verdict()
    assert hashing.judge(("other",), implicit_shard_key=True).refusal


@given(st.lists(st.text(max_size=200) | st.sampled_from(hashing.STANDARD + PAPER), max_size=6), st.booleans())
def test_any_list_gets_a_verdict(rules: list[str], implicit: bool) -> None:
    verdict = hashing.judge(rules, implicit_shard_key=implicit)
    if not verdict.refusal:
        assert len(rules) > 0
        assert any("tag" in rule for rule in rules)


@given(st.text(min_size=1, max_size=50))
def test_a_changed_rule_is_never_taken_for_the_standard_one(insertion: str) -> None:
    head, tail = hashing.TAG_RULE[:4], hashing.TAG_RULE[4:]
    verdict = hashing.judge((head + insertion + tail, hashing.WHOLE_KEY_RULE))
    assert verdict.refusal


def test_hostile_patterns_cost_nothing() -> None:
    began = time.process_time()
    assert hashing.judge(["(a+)+" * 200 + "$", "(?<tag>.*)"]).refusal
    assert time.process_time() - began < 5, "who tries all ways to read it needs longer than the universe"
