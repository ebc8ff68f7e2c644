"""Tests of the networks by which sign-in attempts and connections are counted."""

import pytest

from shardboard.net.client_address import source_of


@pytest.mark.parametrize(
    ("source", "network"),
    [
        ("192.0.2.9", "192.0.2.9"),
        ("::ffff:192.0.2.9", "192.0.2.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("an unknown address", "unknown"),
    ],
)
def test_source_addresses_are_grouped_by_network(source: str, network: str) -> None:
    assert source_of(source) == network
