"""An engine's own words, read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.engine_tells import SlowCommand, sections, slow_commands


def test_a_slow_log() -> None:
    first = "[7, 1760400087, 15000, ['KEYS', '*'], '127.0.0.2:51000', 'app']"
    reply = f"[{first}, [6, 1760400000, 11000, [b'GET', b'\\xff'], b'a:1', b'']]"
    assert slow_commands(reply) == [
        SlowCommand(7, 1760400087, 15000, ["KEYS", "*"], "127.0.0.2:51000", "app"),
        SlowCommand(6, 1760400000, 11000, ["GET", "\ufffd"], "a:1", ""),
    ]
    assert slow_commands("[]") == []


@pytest.mark.parametrize(
    "reply", ["", "OK", "5", "[5]", "[[1, 2]]", "[[1, 2, 3, 4, 5, 6]]", "[" * 10_000, "__import__('os')"]
)
def test_a_slow_log_that_is_none(reply: str) -> None:
    with pytest.raises(ValueError, match=r"slow log|invalid|malformed"):
        slow_commands(reply)


@given(st.text())
def test_nothing_that_an_engine_says_breaks_it(text: str) -> None:
    for values in sections(text).values():
        assert values


def test_info_by_section() -> None:
    text = "# Server\r\nvalkey_version:9.1.2\r\n\r\n# Keyspace\r\ndb0:keys=1,expires=0\r\n# Empty\r\n"
    assert sections(text) == {"Server": {"valkey_version": "9.1.2"}, "Keyspace": {"db0": "keys=1,expires=0"}}
