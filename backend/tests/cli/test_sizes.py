"""Tests of sizes on the command line."""

import pytest

from shardboard.cli.sizes import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("8GiB", 8 * 2**30), ("8 gib", 8 * 2**30), ("500MB", 500_000_000), ("2T", 2 * 10**12), ("3ki", 3072)],
)
def test_sizes_are_parsed(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "8Gi B", "1.5GiB", "i", "8iB", "GiB", "1e9", "٨GiB"])
def test_invalid_sizes_are_rejected(text: str) -> None:
    assert parse_size(text) is None


@pytest.mark.parametrize("text", ["1", "8g", "8B", "orders-2"])
def test_fields_are_sizes_only_with_a_unit(text: str) -> None:
    assert parse_size(text, needs_unit=True) is None
