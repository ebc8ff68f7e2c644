"""Tests of removing secrets from texts and JSON without changing other data."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.redaction import PLACEHOLDER, Scrubber, secrets_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
KEY = "-----BEGIN EC PRIVATE KEY-----\nMIIE+/=\n-----END EC PRIVATE KEY-----"


def shape(value: object) -> object:
    """Return the value with all strings replaced by empty ones."""
    match value:
        case str():
            return ""
        case dict():
            return {key: shape(each) for key, each in value.items()}
        case list():
            return [shape(each) for each in value]
    return value


@given(
    value=VALUES, secrets=st.sets(st.text(min_size=4) | st.sampled_from(["true", "null", "1000", '": "']), max_size=5)
)
def test_scrubbed_json_keeps_its_shape_and_contains_no_secret(value: object, secrets: set[str]) -> None:
    scrubbed = json.loads(Scrubber(secrets).json(value))
    assert shape(scrubbed) == shape(value)
    for text in strings(scrubbed):
        assert not any(
            secret in text.replace(PLACEHOLDER, "\0") for secret in secrets if "*" not in secret and "\0" not in secret
        )


def strings(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for each in value.values() for text in strings(each)]
        case list():
            return [text for each in value for text in strings(each)]
    return []


def test_secrets_are_removed_from_logs_in_all_forms() -> None:
    scrub = Scrubber(['a"word', "a", "longer-than-word", "longer"])
    assert scrub.text('AUTH a"word {"pass": "a\\"word"} longer-than-word longer') == 'AUTH *** {"pass": "***"} *** ***'


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        (f"key {KEY} end", "key *** end"),
        (json.dumps(f"key {KEY} end"), '"key *** end"'),
        ('Sign-in as "-----BEGIN PRIVATE KEY-----" failed.\nnext', 'Sign-in as "***" failed.\nnext'),
        ("postgresql://me:word@store/db http://host/a@b", "postgresql://***@store/db http://host/a@b"),
        (f"user default on #{'0a' * 32} ~*", "user default on #*** ~*"),
        ("run id " + "0a" * 20, "run id " + "0a" * 20),
    ],
)
def test_keys_urls_and_hashes_are_removed(text: str, scrubbed: str) -> None:
    assert Scrubber([]).text(text) == scrubbed


def test_secrets_are_recognized_by_field_name() -> None:
    config = {
        "authentication_redis_pass": "one",
        "other_passwords": ["two"],
        "backup_location": {"secret_access_key": "three", "bucket": "no", "account_key": "four"},
        "key": "no",
        "empty_secret": "",
        "pass_count": 5,
    }
    assert secrets_of(config) == {"one", "two", "three", "four"}
