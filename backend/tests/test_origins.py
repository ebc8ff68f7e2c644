"""Whose attempts and connections count together."""

import pytest

from shardboard.origins import place


@pytest.mark.parametrize(
    ("source", "one"),
    [
        ("192.0.2.9", "192.0.2.9"),
        ("::ffff:192.0.2.9", "192.0.2.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("an unknown address", "unknown"),
    ],
)
def test_what_counts_as_one_place(source: str, one: str) -> None:
    assert place(source) == one
